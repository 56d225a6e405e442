"""Losses of margins and of two networks at once, against numpy, also for references that know fewer classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from regnas.losses import CrossEntropy, FlipHinge, KnowledgeDistillation, MarginCrossEntropy, SymmetricDivergence
from tests.losses.differences import central_differences

RANDOM = np.random.default_rng(3)
LOGITS = RANDOM.normal(size=(6, 5)) * 2
REFERENCE = RANDOM.normal(size=(6, 5)) * 2
TARGETS = np.where(np.arange(6) < 4, REFERENCE.argmax(1), (REFERENCE.argmax(1) + 1) % 5)


def run(loss, logits=LOGITS, targets=TARGETS, reference=REFERENCE):
    tensor = torch.tensor(logits, requires_grad=True)
    values = loss(tensor, torch.tensor(targets), torch.tensor(reference))
    (gradient,) = torch.autograd.grad(values.sum(), tensor)
    return values.detach().numpy(), gradient.numpy()


def margin_cross_entropy(logits, bias, known_classes):
    values = []
    for row, target in zip(logits, TARGETS, strict=True):
        raised = [value + (bias if k >= known_classes else 0.0) for k, value in enumerate(row)]
        values.append(math.log(sum(math.exp(value) for value in raised)) - raised[target])
    return np.array(values)


def flip_hinge(logits, targets, reference, margin):
    values = []
    for own, target, other in zip(logits, targets, reference, strict=True):
        ahead = own[target] - max(value for k, value in enumerate(own) if k != target)
        values.append(max(0.0, margin - ahead) / margin if other.argmax() == target else 0.0)
    return np.array(values)


def symmetric(logits, reference):
    p, q = softmax(logits, axis=1), softmax(reference, axis=1)
    both = (p * np.log(p / q)).sum(1) + (q * np.log(q / p)).sum(1)
    return both / 2


CASES = [
    (MarginCrossEntropy(2.0, 3), lambda z: margin_cross_entropy(z, 2.0, 3)),
    (MarginCrossEntropy(4.0, 1), lambda z: margin_cross_entropy(z, 4.0, 1)),
    (FlipHinge(), lambda z: flip_hinge(z, TARGETS, REFERENCE, 1.0)),
    (FlipHinge(3.0), lambda z: flip_hinge(z, TARGETS, REFERENCE, 3.0)),
    (SymmetricDivergence(), lambda z: symmetric(z, REFERENCE)),
]


@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_values_and_gradients_are_those_of_the_formula(loss, expected):
    values, gradient = run(loss)
    np.testing.assert_allclose(values, expected(LOGITS), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient, central_differences(expected, LOGITS), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("known_classes", [0, 5, 9])
def test_without_added_classes_the_bias_does_nothing(known_classes):
    for one, other in zip(run(MarginCrossEntropy(4.0, known_classes)), run(CrossEntropy()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_the_bias_asks_old_classes_for_a_margin_and_spares_added_ones():
    values, plain = run(MarginCrossEntropy(2.0, 3))[0], run(CrossEntropy())[0]
    old = TARGETS < 3
    assert set(old.tolist()) == {True, False}
    assert (values[old] > plain[old]).all()
    assert (values[~old] < plain[~old]).all()


@given(
    st.lists(st.tuples(*[st.floats(-5, 5)] * 4), min_size=1, max_size=8),
    st.floats(0.1, 10),
    st.integers(0, 2**32 - 1),
)
def test_the_hinge_bounds_the_flips_from_above(rows, margin, seed):
    random = np.random.default_rng(seed)
    logits, targets = np.array(rows), random.integers(0, 4, len(rows))
    reference = random.normal(size=(len(rows), 3))  # an old model that does not know the last class
    values, _ = run(FlipHinge(margin), logits, targets, reference)
    flips = (reference.argmax(1) == targets) & (logits.argmax(1) != targets)
    assert (values >= flips - 1e-12).all()
    np.testing.assert_allclose(values, flip_hinge(logits, targets, reference, margin), atol=1e-12)


def test_the_hinge_counts_a_flip_to_an_added_class():
    logits, reference, target = np.array([[2.0, 1.0, 9.0]]), np.array([[1.0, 0.0]]), np.array([0])
    values, gradient = run(FlipHinge(), logits, target, reference)
    assert values.tolist() == [8.0]  # 1 - (2 - 9)
    assert gradient.tolist() == [[-1.0, 0.0, 1.0]]


def test_the_hinge_is_content_with_the_margin():
    logits, reference = np.array([[3.0, 1.0], [3.0, 0.9]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    values, gradient = run(FlipHinge(2.0), logits, np.zeros(2, dtype=np.int64), reference)
    assert values.tolist() == pytest.approx([0.0, 0.0])
    assert gradient[1].tolist() == [0.0, 0.0]


def test_the_divergence_is_the_same_from_both_sides_and_trains_both():
    forward, _ = run(SymmetricDivergence())
    backward, _ = run(SymmetricDivergence(), REFERENCE, TARGETS, LOGITS)
    np.testing.assert_allclose(forward, backward, rtol=1e-12)
    own, other = (torch.tensor(values, requires_grad=True) for values in (LOGITS, REFERENCE))
    SymmetricDivergence()(own, torch.tensor(TARGETS), other).sum().backward()
    numeric = central_differences(lambda r: symmetric(LOGITS, r), REFERENCE)
    np.testing.assert_allclose(other.grad.numpy(), numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 10, 100, 1000])
@pytest.mark.parametrize("loss", [FlipHinge(), SymmetricDivergence(), MarginCrossEntropy(2.0, 1)], ids=str)
def test_no_gradient_grows_with_the_number_of_classes(loss, classes):
    random = np.random.default_rng(classes)
    logits, reference = random.normal(size=(2, 64, classes)) * 2
    targets = reference.argmax(1)
    own, plain = (np.linalg.norm(run(each, logits, targets, reference)[1]) for each in (loss, CrossEntropy()))
    assert own < 3 * plain


def test_a_mixed_target_is_labels_and_distillation_at_temperature_one():
    """What churn distillation relies on (Jiang et al., ICLR 2022)."""
    share = 0.3
    mixed = (1 - share) * np.eye(5)[TARGETS] + share * softmax(REFERENCE, axis=1)
    numeric = central_differences(lambda z: -(mixed * log_softmax(z, axis=1)).sum(1), LOGITS)
    labels, divergence = run(CrossEntropy()), run(KnowledgeDistillation(1.0))
    np.testing.assert_allclose((1 - share) * labels[1] + share * divergence[1], numeric, rtol=1e-5, atol=1e-7)
    entropy = -(softmax(REFERENCE, axis=1) * log_softmax(REFERENCE, axis=1)).sum(1)
    np.testing.assert_allclose(
        (1 - share) * labels[0] + share * (divergence[0] + entropy), -(mixed * log_softmax(LOGITS, axis=1)).sum(1)
    )


@pytest.mark.parametrize(
    ("loss", "field", "values"),
    [
        (MarginCrossEntropy, "bias", [-1.0, math.nan, math.inf]),
        (MarginCrossEntropy, "known_classes", [-1]),
        (FlipHinge, "margin", [0.0, -1.0, math.nan, math.inf]),
    ],
)
def test_impossible_values_are_refused_by_name(loss, field, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{field} must be .*, got "):
            loss(**{field: value})
