"""What a step of a single network minimises, against the formulas written out."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regnas.losses import BackwardCompatible, FocalDistillationLM, LogitDifferenceInhibition
from regnas.training import FeatureTerm, LogitTerm, Mixing, QuadraticPenalty, SingleNetwork, Step


def batch(samples=5):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(samples, 4, generator=generator)
    return Step(images, torch.arange(samples) % 3, torch.arange(samples), index=2, progress=0.0)


def two_layers(width, classes=3):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, classes))


def test_labels_are_mixed_with_the_mean_of_the_teachers_which_get_no_gradient():
    student, teachers, step = nn.Linear(4, 3), (nn.Linear(4, 3), nn.Linear(4, 3)), batch()
    objective = SingleNetwork(label_weight=0.2, terms=[LogitTerm(LogitDifferenceInhibition(), 0.8, teachers)])
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
    objective = SingleNetwork(label_weight=0.0, terms=[LogitTerm(LogitDifferenceInhibition(), 1.0, known=known)])
    by_hand = ((student(step.images) - known[[40, 3, 17, 3, 0]]) ** 2).sum(1).mean()
    torch.testing.assert_close(objective(student, step), by_hand)


def test_a_teacher_with_fewer_classes_speaks_of_those_alone():
    student, teacher, step = nn.Linear(4, 3), nn.Linear(4, 2), batch()
    objective = SingleNetwork(label_weight=0.0, terms=[LogitTerm(FocalDistillationLM(1.0, 0.0), 1.0, (teacher,))])
    known = step.targets < 2
    distance = 0.5 * ((student(step.images)[:, :2] - teacher(step.images)) ** 2).sum(1)
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
    centre = {"weight": torch.tensor([[1.0, 0.0], [0.0, 1.0]]), "bias": torch.zeros(2)}
    importance = {"weight": torch.tensor([[2.0, 1.0], [0.0, 3.0]]), "bias": torch.ones(2)}
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[2.0, 1.0], [5.0, 3.0], [9.0, 9.0]]))
        network.bias.copy_(torch.tensor([1.0, 2.0, 7.0]))
    # weights: 2 * 1 + 1 * 1 + 0 * 25 + 3 * 4 = 15; biases: 1 + 4 = 5; half of 20 times 0.1
    assert QuadraticPenalty(centre, 0.1, importance)(network).item() == pytest.approx(1.0)
    # weights: 1 + 1 + 25 + 4 = 31; biases 5
    assert QuadraticPenalty(centre, 0.1)(network).item() == pytest.approx(1.8)


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
    torch.testing.assert_close(mixing.run(network, step)[:, 2], network.weight[2])
