from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.func import functional_call

from regnas.augmentations import MixedLabels
from regnas.losses import CrossEntropy, FocalDistillationLM, KnowledgeDistillation
from regnas.training import Curriculum, Step, SupernetObjective, TeachingTerm
from regnas.training.schedules import Ramp
from regnas.training.shrinking import Progressive
from regnas.training.sub_networks import Attentive, Given, Sandwich
from regnas.training.teachers import EnsembleOfSupernets, Largest, Mean, MovingAverage, Smaller
from supernets.elastic_resnet import ElasticResNet

SHAPE, CLASSES = (1, 8, 8), 3
PLUGIN = ElasticResNet(widths=((4, 8), (8, 16)), depths=(1, 2), stem_width=4)
SPACE = PLUGIN.space(SHAPE, CLASSES)
FOCAL = FocalDistillationLM()


def supernet(seed=0):
    torch.manual_seed(seed)
    return PLUGIN.supernet(SHAPE, CLASSES).eval()


def step(progress=0.9, averaged=None):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(8, *SHAPE, generator=generator)
    targets = torch.randint(0, CLASSES, (8,), generator=generator)
    return Step(images, targets, torch.arange(8), index=5, progress=progress, averaged=averaged or {})


ONE_BETWEEN = Sandwich(random=1)


def objective(lessons, before=(), sub_networks=ONE_BETWEEN):
    return SupernetObjective(SPACE, Curriculum(sub_networks, lessons), CrossEntropy(), (0,), before)


def drawn(whole, batch):
    return whole.architectures(batch.index, batch.progress, loss_of=lambda _: 0.0)


@torch.no_grad()
def answers(network, whole, batch):
    return [network(batch.images, architecture) for architecture in drawn(whole, batch)]


def of_labels(logits, batch):
    return sum(nn.functional.cross_entropy(own, batch.targets) for own in logits)


def focal(pairs, batch):
    return sum(FOCAL(own, batch.targets, other).mean() for own, other in pairs)


def test_the_loss_of_a_step_is_that_of_the_formula():
    network, batch = supernet(), step(progress=0.25)  # half of the ramp
    whole = objective(
        {
            "distillation": TeachingTerm(Largest(), KnowledgeDistillation(2.0), 0.7),
            "congruence": TeachingTerm(Mean(), FOCAL, 3.0, Ramp(0.0, 0.5)),
        }
    )
    largest, middle, smallest = logits = answers(network, whole, batch)
    taught = sum(KnowledgeDistillation(2.0)(own, batch.targets, largest).mean() for own in (middle, smallest))
    mean = (largest + middle + smallest) / 3
    expected = of_labels(logits, batch) + 0.7 * taught + 1.5 * focal([(own, mean) for own in logits], batch)
    torch.testing.assert_close(whole(network, batch).detach(), expected / 3)


def soft_labels(batch, share):
    own, other = (nn.functional.one_hot(labels, CLASSES) for labels in (batch.targets, batch.mixed.partners))
    return share * own + (1 - share) * other


def test_mixed_images_have_the_loss_of_soft_labels_and_teachers_that_see_them():
    batch = step()
    batch = replace(batch, mixed=MixedLabels(batch.targets.roll(1), 0.7))
    network, soft = supernet(), soft_labels(batch, 0.7)
    whole = objective({"distillation": TeachingTerm(Largest(), KnowledgeDistillation(2.0), 0.5)})
    assert whole.single_labels == ""
    assert objective({"congruence": TeachingTerm(Mean(), FOCAL)}).single_labels == "FocalDistillationLM"
    largest, *others = logits = answers(network, whole, batch)
    expected = sum(nn.functional.cross_entropy(own, soft) for own in logits)
    expected += 0.5 * sum(KnowledgeDistillation(2.0)(own, batch.targets, largest).mean() for own in others)
    torch.testing.assert_close(whole(network, batch).detach(), expected / 3)


def test_the_smaller_one_teaches_the_next_larger():
    network, batch = supernet(), step()
    whole = objective({"focal": TeachingTerm(Smaller(), FOCAL, 2.0)})
    largest, middle, smallest = logits = answers(network, whole, batch)
    expected = of_labels(logits, batch) + 2.0 * focal([(largest, middle), (middle, smallest)], batch)
    torch.testing.assert_close(whole(network, batch).detach(), expected / 3)


def test_the_moving_average_teaches_each_sub_network_at_its_own_architecture():
    network = supernet()
    averaged = {name: 1.5 * tensor for name, tensor in supernet(1).named_parameters()}
    batch = step(averaged={name: tensor.detach() for name, tensor in averaged.items()})
    whole = objective({"average": TeachingTerm(MovingAverage(), FOCAL)})
    logits = answers(network, whole, batch)
    other = copy.deepcopy(network)
    teacher = [
        functional_call(other, averaged, (batch.images, architecture)).detach() for architecture in drawn(whole, batch)
    ]
    assert not torch.allclose(teacher[0], logits[0])
    expected = of_labels(logits, batch) + focal(zip(logits, teacher, strict=True), batch)
    torch.testing.assert_close(whole(network, batch).detach(), expected / 3)


def test_supernets_that_were_trained_before_teach_by_their_mean_logits():
    network, before, batch = supernet(), [supernet(1), supernet(2)], step()
    whole = objective({"elodi": TeachingTerm(EnsembleOfSupernets(2), FOCAL)}, before)
    logits = answers(network, whole, batch)
    first, second = (answers(other, whole, batch) for other in before)
    teacher = [(one + other) / 2 for one, other in zip(first, second, strict=True)]
    expected = of_labels(logits, batch) + focal(zip(logits, teacher, strict=True), batch)
    torch.testing.assert_close(whole(network, batch).detach(), expected / 3)
    assert all(parameter.grad is None for other in before for parameter in other.parameters())


@pytest.mark.parametrize("teacher", [Largest(), Smaller(), Mean()])
def test_those_who_teach_are_never_pulled(teacher):
    """The gradient is that of references which are given as numbers."""
    network, batch = supernet(), step()
    whole = objective({"lesson": TeachingTerm(teacher, FOCAL, 5.0)})
    whole(network, batch).backward()
    largest, middle, smallest = (own.clone() for own in answers(network, whole, batch))
    mean = (largest + middle + smallest) / 3
    references = {Largest: (None, largest, largest), Smaller: (middle, smallest, None), Mean: (mean, mean, mean)}
    alone = copy.deepcopy(network)
    alone.zero_grad()
    logits = [alone(batch.images, architecture) for architecture in drawn(whole, batch)]
    pairs = [(own, other) for own, other in zip(logits, references[type(teacher)], strict=True) if other is not None]
    ((of_labels(logits, batch) + 5.0 * focal(pairs, batch)) / 3).backward()
    for (name, one), other in zip(network.named_parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, msg=name)


def test_a_lesson_is_not_given_before_its_schedule_begins():
    network, early, late = supernet(), step(progress=0.4), step(progress=0.6)
    late_lesson = {"congruence": TeachingTerm(Mean(), FOCAL, 3.0, Ramp(0.5, 0.5))}
    with torch.no_grad():
        assert objective(late_lesson)(network, early) == objective({})(network, early)
        assert objective(late_lesson)(network, late) > objective({})(network, late)


def test_the_attentive_choice_trains_the_one_of_the_highest_loss_on_the_batch():
    network, batch = supernet(), step()
    losses = {}

    def loss_of(architecture):
        logits = network(batch.images, architecture)
        losses[architecture] = float(nn.functional.cross_entropy(logits, batch.targets).detach())
        return losses[architecture]

    whole = objective({}, sub_networks=Attentive(random=1, pool=4, attend="worst"))
    _, chosen, _ = whole.architectures(batch.index, batch.progress, loss_of)
    assert len(losses) > 1
    assert losses[chosen] == max(losses.values())
    expected = of_labels([network(batch.images, own) for own in (SPACE.largest, chosen, SPACE.smallest)], batch) / 3
    torch.testing.assert_close(whole(network, batch), expected)


def test_the_multiply_adds_of_a_step():
    """Three passes a network, one more for each that a teacher runs, and those that were only tried."""
    members = (SPACE.largest, SPACE.smallest)
    both = sum(SPACE.cost(architecture).macs for architecture in members)
    plain = {"distillation": TeachingTerm(Largest(), KnowledgeDistillation())}
    taught = {"late": TeachingTerm(EnsembleOfSupernets(4), FOCAL, schedule=Ramp(0.5, 0.5))}
    assert objective(plain, sub_networks=Given(members)).macs_of(0, 0.0) == 3 * both
    assert objective(taught, sub_networks=Given(members)).macs_of(0, 0.4) == 3 * both
    assert objective(taught, sub_networks=Given(members)).macs_of(0, 0.6) == 7 * both
    assert objective({}, sub_networks=Attentive(2, 3)).macs_of(0, 0.0) > objective(
        {}, sub_networks=Sandwich(2)
    ).macs_of(0, 0.0)


def test_a_curriculum_refuses_what_it_cannot_do():
    lessons = {"average": TeachingTerm(MovingAverage(), FOCAL)}
    with pytest.raises(ValueError, match=r"lessons\.average: teacher moving_average needs training\.ema_decay above 0"):
        Curriculum(lessons=lessons).check(SPACE, averages=False)
    Curriculum(lessons=lessons).check(SPACE, averages=True)
    with pytest.raises(ValueError, match="weight must be at least 0, got -1"):
        TeachingTerm(Mean(), FOCAL, -1.0)


def test_supernets_that_teach_are_trained_without_those_that_teach_them():
    plain = TeachingTerm(Largest(), KnowledgeDistillation())
    whole = Curriculum(lessons={"distillation": plain, "elodi": TeachingTerm(EnsembleOfSupernets(3), FOCAL)})
    assert whole.supernets_before == 3
    assert whole.without_ensembles().lessons == {"distillation": plain}
    assert whole.without_ensembles().supernets_before == 0


def test_while_only_the_largest_may_be_drawn_it_is_trained_once():
    shrinking = Progressive(("depth", "expansion", "width"), until=0.6)
    whole = SupernetObjective(SPACE, Curriculum(Sandwich(2), {}, shrinking), CrossEntropy(), (0,))
    assert whole.architectures(0, 0.0, lambda _: 0.0) == [SPACE.largest]
    assert len(whole.architectures(0, 0.9, lambda _: 0.0)) == 4
    network, batch = supernet(), step(progress=0.0)
    torch.testing.assert_close(whole(network, batch), of_labels([network(batch.images, SPACE.largest)], batch))
