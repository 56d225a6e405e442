from __future__ import annotations

import pytest
import torch
from torch import nn

from regnas.losses import CrossEntropy, FocalDistillationLM, KnowledgeDistillation
from regnas.training import Congruence, Sandwich, Step, SupernetObjective
from supernets.elastic_resnet import ElasticResNet

SHAPE, CLASSES = (1, 8, 8), 3
PLUGIN = ElasticResNet(widths=((4, 8), (8, 16)), depths=(1, 2), stem_width=4)
SPACE = PLUGIN.space(SHAPE, CLASSES)


def step(progress=0.9):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(8, *SHAPE, generator=generator)
    targets = torch.randint(0, CLASSES, (8,), generator=generator)
    return Step(images, targets, torch.arange(8), index=5, progress=progress)


def test_the_sandwich_is_the_largest_the_smallest_and_random_ones_in_order():
    objective = SupernetObjective(SPACE, Sandwich(random=3), CrossEntropy(), (0,))
    drawn = objective.architectures(7)
    assert drawn[0] == SPACE.largest
    assert drawn[-1] == SPACE.smallest
    costs = [SPACE.cost(architecture).macs for architecture in drawn]
    assert costs == sorted(costs, reverse=True)
    assert len(drawn) == 5
    assert drawn == objective.architectures(7)
    assert any(objective.architectures(index) != drawn for index in range(7))


def test_random_sub_networks_cover_the_whole_range_of_costs():
    objective = SupernetObjective(SPACE, Sandwich(random=2), CrossEntropy(), (0,))
    low, high = SPACE.macs_range
    parts = [
        (SPACE.cost(network).macs - low) / (high - low)
        for index in range(200)
        for network in objective.architectures(index)[1:-1]
    ]
    quarters = [sum(q <= 4 * part < q + 1 for part in parts) / len(parts) for q in range(4)]
    assert all(0.15 < share < 0.35 for share in quarters)


@pytest.mark.parametrize("reference", ["smaller", "mean"])
def test_the_loss_of_a_step_is_that_of_the_formula(reference):
    torch.manual_seed(0)
    supernet = PLUGIN.supernet(SHAPE, CLASSES).eval()
    congruence = Congruence(FocalDistillationLM(), weight=3.0, reference=reference, start=0.0, full=0.5)
    rule = Sandwich(random=1, distillation=0.7, distillation_loss=KnowledgeDistillation(2.0), congruence=congruence)
    objective = SupernetObjective(SPACE, rule, CrossEntropy(), (0,))
    batch = step(progress=0.25)  # half of the ramp
    with torch.no_grad():
        largest, middle, smallest = (supernet(batch.images, a) for a in objective.architectures(batch.index))
        labels = sum(nn.functional.cross_entropy(z, batch.targets) for z in (largest, middle, smallest))
        teach = KnowledgeDistillation(2.0)
        lessons = sum(teach(z, batch.targets, largest).mean() for z in (middle, smallest))
        focal = FocalDistillationLM()
        if reference == "smaller":
            pairs = [(middle, smallest), (largest, middle)]
        else:
            mean = (largest + middle + smallest) / 3
            pairs = [(largest, mean), (middle, mean), (smallest, mean)]
        term = sum(focal(z, batch.targets, other).mean() for z, other in pairs)
        expected = (labels + 0.7 * lessons + 1.5 * term) / 3
        torch.testing.assert_close(objective(supernet, batch), expected)


def test_references_are_never_pulled():
    logits = [torch.randn(4, 3, requires_grad=True) for _ in range(3)]
    congruence = Congruence(FocalDistillationLM(), reference="smaller")
    congruence.term(logits, torch.tensor([0, 1, 2, 0])).backward()
    assert logits[0].grad is None  # the smallest is only ever a reference
    # The largest is pulled to the middle one, which does not feel it.
    alone = logits[1].detach().requires_grad_()
    congruence.term([logits[0].detach(), alone], torch.tensor([0, 1, 2, 0])).backward()
    torch.testing.assert_close(logits[1].grad, alone.grad)


def test_the_weight_of_congruence_rises_between_start_and_full():
    congruence = Congruence(FocalDistillationLM(), weight=2.0, start=0.25, full=0.75)
    assert [congruence.weight_at(p) for p in (0.0, 0.2, 0.25, 0.5, 0.75, 1.0)] == [0, 0, 0, 1.0, 2.0, 2.0]
    sudden = Congruence(FocalDistillationLM(), weight=2.0, start=0.5, full=0.5)
    assert [sudden.weight_at(p) for p in (0.49, 0.51)] == [0, 2.0]


def test_a_ramp_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="0 <= start <= full <= 1"):
        Congruence(FocalDistillationLM(), start=0.5, full=0.4)
