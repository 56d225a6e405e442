"""What a step of a single network minimizes, against the formulas written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regnas.losses import BackwardCompatible
from regnas.training import DecayToward, FeatureTerm, LogitTerm, Mixing, QuadraticPenalty, SingleNetwork, Step


def batch(samples=5):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(samples, 4, generator=generator)
    return Step(images, torch.arange(samples) % 3, torch.arange(samples), index=2, progress=0.0)


def two_layers(width, classes=3):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, classes))


def squared(logits, targets, reference):
    """A loss that is easy to write out: the squared distance on the classes of the reference."""
    return (logits[:, : reference.shape[1]] - reference).square().sum(dim=1)  # [N, K] -> [N]


def test_labels_are_mixed_with_the_mean_of_the_teachers_which_get_no_gradient():
    student, teachers, step = nn.Linear(4, 3), (nn.Linear(4, 3), nn.Linear(4, 3)), batch()
    objective = SingleNetwork(label_weight=0.2, terms=[LogitTerm(squared, 0.8, teachers)])
    logits = student(step.images)
    mean = (teachers[0](step.images) + teachers[1](step.images)) / 2
    by_hand = 0.2 * F.cross_entropy(logits, step.targets) + 0.8 * ((logits - mean) ** 2).sum(1).mean()
    loss = objective(student, step)
    torch.testing.assert_close(loss, by_hand)
    loss.backward()
    assert all(parameter.grad is None for teacher in teachers for parameter in teacher.parameters())


def test_an_offline_teacher_is_looked_up_by_the_sample_and_not_by_its_place_in_the_batch():
    student, known = nn.Linear(4, 3), torch.randn(50, 3)
    step = batch()
    step = Step(step.images, step.targets, torch.tensor([40, 3, 17, 3, 0]), 0, 0.0)
    objective = SingleNetwork(label_weight=0.0, terms=[LogitTerm(squared, 1.0, known=known)])
    by_hand = ((student(step.images) - known[[40, 3, 17, 3, 0]]) ** 2).sum(1).mean()
    torch.testing.assert_close(objective(student, step), by_hand)


def test_a_teacher_with_fewer_classes_speaks_of_those_alone():
    student, teacher, step = nn.Linear(4, 3), nn.Linear(4, 2), batch()
    objective = SingleNetwork(label_weight=0.0, terms=[LogitTerm(squared, 1.0, (teacher,))])
    known = step.targets < 2
    distance = ((student(step.images)[:, :2] - teacher(step.images)) ** 2).sum(1)
    torch.testing.assert_close(objective(student, step), (distance * known).mean())


def test_the_old_classifier_reads_the_new_features():
    student, teacher, step = two_layers(6), two_layers(5), batch()
    objective = SingleNetwork(
        label_weight=0.0, feature_terms=[FeatureTerm(BackwardCompatible(), 0.5, teacher, teacher_classes=3, classes=3)]
    )
    features = student[1](student[0](step.images))
    by_hand = 0.5 * F.cross_entropy(features[:, :5] @ teacher[2].weight.T + teacher[2].bias, step.targets)
    loss = objective(student, step)
    torch.testing.assert_close(loss, by_hand)
    loss.backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())


def test_the_penalty_is_the_weighted_squared_distance_to_the_old_weights_where_there_are_any():
    network = nn.Linear(2, 3, bias=True)  # the old model had two classes
    center = {"weight": torch.tensor([[1.0, 0.0], [0.0, 1.0]]), "bias": torch.zeros(2)}
    importance = {"weight": torch.tensor([[2.0, 1.0], [0.0, 3.0]]), "bias": torch.ones(2)}
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[2.0, 1.0], [5.0, 3.0], [9.0, 9.0]]))
        network.bias.copy_(torch.tensor([1.0, 2.0, 7.0]))
    # weights: 2 * 1 + 1 * 1 + 0 * 25 + 3 * 4 = 15; biases: 1 + 4 = 5; half of 20 times 0.1
    assert QuadraticPenalty(center, 0.1, importance)(network).item() == pytest.approx(1.0)


class Asked(nn.Module):
    """A teacher that answers 0 and notes how often it is asked."""

    def __init__(self):
        super().__init__()
        self.times = 0

    def forward(self, images):
        self.times += 1
        return torch.zeros(len(images), 3)


@pytest.mark.parametrize("progress", [0.0, 0.4999, 0.5, 0.99])
def test_until_a_late_term_starts_the_labels_count_in_full_and_its_teachers_do_not_run(progress):
    student, teacher, step = nn.Linear(4, 3), Asked(), replace(batch(), progress=progress)
    objective = SingleNetwork(label_weight=0.2, terms=[LogitTerm(squared, 0.8, (teacher,), start=0.5)])
    logits = student(step.images)
    labels = F.cross_entropy(logits, step.targets)
    expected = labels if progress < 0.5 else 0.2 * labels + 0.8 * (logits**2).sum(1).mean()
    torch.testing.assert_close(objective(student, step), expected)
    assert teacher.times == (progress >= 0.5)


def test_once_one_of_several_terms_has_started_the_labels_have_their_share():
    student, early, late, step = nn.Linear(4, 3), Asked(), Asked(), replace(batch(), progress=0.3)
    terms = [LogitTerm(squared, 0.4, (early,), start=0.2), LogitTerm(squared, 0.4, (late,), start=0.6)]
    logits = student(step.images)
    expected = 0.2 * F.cross_entropy(logits, step.targets) + 0.4 * (logits**2).sum(1).mean()
    torch.testing.assert_close(SingleNetwork(label_weight=0.2, terms=terms)(student, step), expected)
    assert (early.times, late.times) == (1, 0)


def linear(weight, bias):
    network = nn.Linear(len(weight[0]), len(weight))
    with torch.no_grad():
        network.weight.copy_(torch.tensor(weight))
        network.bias.copy_(torch.tensor(bias))
    return network


def test_decoupled_decay_goes_the_way_of_the_exponential_and_leaves_added_classes_alone():
    network = linear([[2.0, 1.0], [5.0, 3.0], [9.0, 9.0]], [1.0, 2.0, 7.0])
    center = {"weight": torch.tensor([[1.0, 0.0], [0.0, 3.0]]), "bias": torch.tensor([3.0, 2.0])}
    DecayToward(center, strength=math.log(2) / 0.1)(network, learning_rate=0.1)  # half of the way
    torch.testing.assert_close(network.weight.detach(), torch.tensor([[1.5, 0.5], [2.5, 3.0], [9.0, 9.0]]))
    torch.testing.assert_close(network.bias.detach(), torch.tensor([2.0, 2.0, 7.0]))


def test_a_small_decoupled_decay_is_the_step_of_adamw_to_first_order():
    network = linear([[2.0, 1.0]], [4.0])
    before = network.weight.detach().clone()
    DecayToward({"weight": torch.zeros(1, 2)}, strength=0.5)(network, learning_rate=1e-3)
    torch.testing.assert_close(network.weight, before - 1e-3 * 0.5 * before, rtol=1e-6, atol=0)
    assert network.bias.item() == 4.0


@given(strength=st.floats(0, 1e8), learning_rate=st.floats(0, 10), weight=st.floats(-5, 5), center=st.floats(-5, 5))
def test_decoupled_decay_never_overshoots_whatever_its_strength(strength, learning_rate, weight, center):
    network = linear([[weight]], [0.0])
    start, end = network.weight.item(), torch.tensor(center).item()
    DecayToward({"weight": torch.tensor([[center]])}, strength)(network, learning_rate)
    found = network.weight.item()
    rounding = 1e-5
    assert min(start, end) - rounding <= found <= max(start, end) + rounding
    if strength == 0:
        assert found == start
    if learning_rate * strength > 50:
        assert found == end


def test_the_decay_of_an_objective_happens_after_a_step_and_is_no_part_of_the_loss():
    network, step = nn.Linear(4, 3), batch()
    center = {name: torch.zeros_like(value) for name, value in network.named_parameters()}
    objective = SingleNetwork(decay=DecayToward(center, 1e9))
    torch.testing.assert_close(objective(network, step), F.cross_entropy(network(step.images), step.targets))
    assert network.weight.abs().sum() > 0
    objective.after_step(network, 0.1)
    assert not network.weight.any()


def test_mixing_mixes_every_parameter_and_is_the_new_network_on_average():
    """A norm's scale and shift and biases too; the mean over 4,000 draws lies within 5 standard errors."""
    network = nn.Sequential(nn.Linear(1, 1), nn.LayerNorm(1, eps=1e-3), nn.Linear(1, 1))
    names = [name for name, _ in network.named_parameters()]
    assert len(names) == 6
    drawn = {name: [] for name in names}
    with torch.no_grad():
        for place, (_, parameter) in enumerate(network.named_parameters()):
            parameter.fill_(place + 1.0)
    center = {name: torch.full_like(value, -1.0) for name, value in network.named_parameters()}
    probability, draws = 0.6, 4000

    def noted(module, values, arguments):
        for name in names:
            drawn[name].append(values[name].item())
        return torch.zeros(1, 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regnas.training.ties.functional_call", noted)
        for index in range(draws):
            Mixing(center, probability, ("key",)).run(network, replace(batch(), index=index))
    for place, name in enumerate(names):
        weight, old = place + 1.0, -1.0
        kept = old + (weight - old) / 0.4
        assert set(np.round(drawn[name], 4)) == {round(old, 4), round(kept, 4)}
        deviation = (kept - old) * math.sqrt(0.4 * 0.6 / draws)
        assert np.mean(drawn[name]) == pytest.approx(weight, abs=5 * deviation)


def test_mixing_takes_the_old_weight_or_one_that_makes_up_for_it_and_is_the_new_weight_on_average():
    network, probability = nn.Linear(1, 2000, bias=False), 0.75
    nn.init.constant_(network.weight, 3.0)
    mixing = Mixing({"weight": torch.full((2000, 1), 1.0)}, probability, ("key",))
    step = Step(torch.ones(1, 1), torch.zeros(1, dtype=torch.int64), torch.zeros(1), index=4, progress=0.0)
    weights = mixing.run(network, step).flatten()
    assert set(weights.tolist()) == {1.0, 1.0 + (3.0 - 1.0) / 0.25}
    assert weights.mean().item() == pytest.approx(3.0, abs=0.4)  # four standard errors
    assert torch.equal(mixing.run(network, step).flatten(), weights)
    other = Step(step.images, step.targets, step.indices, index=5, progress=0.0)
    assert not torch.equal(mixing.run(network, other).flatten(), weights)


def test_classes_that_were_added_are_not_mixed():
    network = nn.Linear(2, 3, bias=False)
    mixing = Mixing({"weight": torch.zeros(2, 2)}, 0.5, ("key",))
    step = Step(torch.eye(2), torch.zeros(2, dtype=torch.int64), torch.zeros(2), index=0, progress=0.0)
    logits = mixing.run(network, step)
    torch.testing.assert_close(logits[:, 2], network.weight[2])
    logits.sum().backward()
    assert network.weight.grad[2].tolist() == [1, 1]  # nor are their gradients dropped
    assert set(network.weight.grad[:2].flatten().tolist()) <= {0.0, 2.0}
