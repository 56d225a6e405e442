"""Every feature loss against an independent computation in numpy, for networks narrower and wider than the old one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from regnas.losses import FEATURE_LOSSES, BackwardCompatible, Embedding, RegressionAlleviating, match
from tests.losses.differences import central_differences

RANDOM = np.random.default_rng(1)
FEATURES = RANDOM.normal(size=(6, 7))  # the widest; narrower networks take the first columns
OLD_FEATURES = RANDOM.normal(size=(6, 4))
WEIGHT = RANDOM.normal(size=(3, 4))
BIAS = RANDOM.normal(size=3)
TARGETS = np.array([0, 1, 2, 0, 1, 0])
WIDTHS = [2, 4, 7]


def embedding(features=OLD_FEATURES):
    return Embedding(*(torch.tensor(array, requires_grad=True) for array in (features, WEIGHT, BIAS)))


def first_four(row):
    return [row[d] if d < len(row) else 0.0 for d in range(4)]


def bct(features):
    values = []
    for row, target in zip(features, TARGETS, strict=True):
        logits = [sum(w * f for w, f in zip(weights, first_four(row), strict=True)) for weights in WEIGHT]
        powers = [math.exp(logit + bias) for logit, bias in zip(logits, BIAS, strict=True)]
        values.append(-math.log(powers[target] / sum(powers)))
    return np.array(values)


def ract(features, temperature):
    new = np.array([first_four(row) for row in features])
    new = new / np.sqrt((new**2).sum(1, keepdims=True))
    old = OLD_FEATURES / np.sqrt((OLD_FEATURES**2).sum(1, keepdims=True))
    values = []
    for i in range(len(new)):
        positive = math.exp(new[i] @ old[i] / temperature)
        negatives = 0.0
        for k in range(len(new)):
            if TARGETS[k] != TARGETS[i]:
                negatives += math.exp(new[i] @ old[k] / temperature) + math.exp(new[i] @ new[k] / temperature)
        values.append(-math.log(positive / (positive + negatives)))
    return np.array(values)


CASES = [
    (BackwardCompatible(), bct),
    (RegressionAlleviating(), lambda features: ract(features, 0.05)),
    (RegressionAlleviating(temperature=0.7), lambda features: ract(features, 0.7)),
]


def run(loss, features, targets=TARGETS, reference=None):
    tensor = torch.tensor(features, requires_grad=True)
    values = loss(tensor, torch.tensor(targets), reference or embedding())
    (gradient,) = torch.autograd.grad(values.sum(), tensor)
    return values.detach().numpy(), gradient.numpy()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_values_are_those_of_the_formula(loss, expected, width):
    features = FEATURES[:, :width]
    np.testing.assert_allclose(run(loss, features)[0], expected(features), rtol=1e-10)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_gradients_are_those_of_the_formula(loss, expected, width):
    features = FEATURES[:, :width]
    numeric = central_differences(expected, features)
    np.testing.assert_allclose(run(loss, features)[1], numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FEATURE_LOSSES)
def test_the_order_of_the_batch_does_not_matter(name):
    loss = FEATURE_LOSSES[name]()
    whole, _ = run(loss, FEATURES)
    assert whole.shape == (6,)
    order = RANDOM.permutation(6)
    permuted, _ = run(loss, FEATURES[order], TARGETS[order], embedding(OLD_FEATURES[order]))
    np.testing.assert_allclose(permuted, whole[order])


@pytest.mark.parametrize("name", FEATURE_LOSSES)
def test_no_gradient_reaches_the_old_model(name):
    reference = embedding()
    features = torch.tensor(FEATURES, requires_grad=True)
    FEATURE_LOSSES[name]()(features, torch.tensor(TARGETS), reference).sum().backward()
    assert features.grad is not None
    assert features.grad.abs().sum() > 0
    assert reference.features.grad is reference.weight.grad is reference.bias.grad is None


def test_features_are_cut_or_padded_to_the_width():
    features = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert match(features, 1).tolist() == [[1.0], [3.0]]
    assert match(features, 2).tolist() == features.tolist()
    assert match(features, 4).tolist() == [[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0]]


def test_the_old_classifier_has_no_loss_on_classes_it_lacks():
    targets = np.array([0, 3, 2, 4, 1, 3])
    known = targets < 3
    values, gradient = run(BackwardCompatible(), FEATURES, targets)
    assert (values[~known] == 0).all()
    assert (gradient[~known] == 0).all()
    whole = embedding()
    part = Embedding(whole.features[torch.tensor(known)], whole.weight, whole.bias)
    alone, _ = run(BackwardCompatible(), FEATURES[known], targets[known], part)
    np.testing.assert_allclose(values[known], alone)


def test_the_old_classifier_may_know_no_sample_of_the_batch():
    values, gradient = run(BackwardCompatible(), FEATURES, np.full(6, 3))
    assert values.tolist() == [0.0] * 6
    assert (gradient == 0).all()


def test_the_loss_falls_while_the_new_features_move_to_the_old_ones_of_the_same_sample():
    old = np.eye(6)  # the old model distinguishes all samples
    start = np.roll(old, 1, axis=1) + 0.1 * RANDOM.normal(size=(6, 6))  # each at the old place of another
    reference = replace(embedding(), features=torch.tensor(old))
    path = [start + part * (old - start) for part in (0.0, 0.25, 0.5, 0.75, 1.0)]
    losses = [run(RegressionAlleviating(), features, reference=reference)[0] for features in path]
    assert (np.diff(losses, axis=0) < 0).all()
    assert losses[-1].max() < 1e-6


def test_only_samples_with_another_label_are_negatives():
    loss = RegressionAlleviating()
    before, _ = run(loss, FEATURES)
    features, old = FEATURES.copy(), OLD_FEATURES.copy()
    features[3], old[3] = features[0], old[0]  # as near to sample 0 as can be; both have label 0
    after, _ = run(loss, features, reference=embedding(old))
    same = np.array([True, False, False, False, False, True])  # label 0, but for the one that moved
    np.testing.assert_allclose(after[same], before[same], rtol=1e-12)
    assert (after[~same] != before[~same]).all()


def test_a_batch_with_a_single_label_has_no_contrast():
    values, gradient = run(RegressionAlleviating(), FEATURES, np.zeros(6, dtype=np.int64))
    np.testing.assert_allclose(values, 0, atol=1e-12)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_the_length_of_features_does_not_matter():
    lengths = np.array([[1e-3], [0.1], [1.0], [7.0], [50.0], [1e4]])
    longer = embedding(OLD_FEATURES * lengths[::-1])
    values, _ = run(RegressionAlleviating(), FEATURES * lengths, reference=longer)
    np.testing.assert_allclose(values, run(RegressionAlleviating(), FEATURES)[0])


def test_a_tiny_temperature_does_not_overflow():
    features = torch.tensor(FEATURES, dtype=torch.float32, requires_grad=True)
    reference = Embedding(*(torch.tensor(array, dtype=torch.float32) for array in (OLD_FEATURES, WEIGHT, BIAS)))
    values = RegressionAlleviating(temperature=1e-3)(features, torch.tensor(TARGETS), reference)
    (gradient,) = torch.autograd.grad(values.sum(), features)
    assert values.isfinite().all()
    assert gradient.isfinite().all()
    # Only the largest term matters then: the loss is the lead of the nearest negative, or 0.
    new = FEATURES[:, :4] / np.linalg.norm(FEATURES[:, :4], axis=1, keepdims=True)
    old = OLD_FEATURES / np.linalg.norm(OLD_FEATURES, axis=1, keepdims=True)
    other = TARGETS[:, None] != TARGETS
    nearest = np.where(other, np.maximum(new @ old.T, new @ new.T), -np.inf).max(1)
    expected = np.maximum(0, nearest - (new * old).sum(1)) / 1e-3
    np.testing.assert_allclose(values.detach().numpy(), expected, rtol=1e-3, atol=1.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_impossible_temperatures_are_refused(temperature):
    with pytest.raises(ValueError, match=r"^temperature must be above 0 and finite, got "):
        RegressionAlleviating(temperature)
