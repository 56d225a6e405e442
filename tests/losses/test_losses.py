"""Every loss against an independent computation in numpy: values, and gradients by central differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from regnas.losses import (
    LOSSES,
    BayesianUpdate,
    CenteredLogitDistance,
    CrossEntropy,
    DynamicFocalDistillation,
    FocalDistillationKL,
    FocalDistillationLM,
    GatedDistillation,
    KnowledgeDistillation,
    LogitDifferenceInhibition,
    Naive,
    cost_ratio_decision,
)
from tests.losses.differences import central_differences

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(6, 5)) * 2
REFERENCE = RANDOM.normal(size=(6, 5)) * 2
# The reference is correct on the first three samples and wrong on the others.
TARGETS = np.where(np.arange(6) < 3, REFERENCE.argmax(1), (REFERENCE.argmax(1) + 1) % 5)
RIGHT = np.array([1.0, 1, 1, 0, 0, 0])
# These two follow from the draws.
BEHIND = np.array([1.0, 1, 0, 1, 0, 0])  # less probability for the label than the reference
NETWORK_RIGHT = np.array([0.0, 0, 1, 0, 0, 0])
# Losses that ask for a class; every other one is a distance to the reference.
ASKING_FOR_A_CLASS = {"cross_entropy", "naive", "bayesian_update", "margin_cross_entropy", "flip_hinge"}


def kl(logits, reference, temperature):
    p = softmax(reference / temperature, axis=1)
    return temperature**2 * (p * (np.log(p) - log_softmax(logits / temperature, axis=1))).sum(1)


def ldi(logits, reference, power, top_k, margin=0.0, without_target=True):
    values = []
    for own, other, target in zip(logits, reference, TARGETS, strict=True):
        classes = [k for k in range(len(other)) if not (without_target and k == target)]
        classes = sorted(classes, key=lambda k: -other[k])[:top_k]
        values.append(sum(max(0.0, abs(own[k] - other[k]) - margin) ** power for k in classes) / len(classes))
    return np.array(values)


def centered_huber(logits, reference, delta):
    difference = (logits - logits.mean(1, keepdims=True)) - (reference - reference.mean(1, keepdims=True))
    size = np.abs(difference)
    return np.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta)).mean(1)


def cross_entropy(logits, classes):
    return -log_softmax(logits, axis=1)[np.arange(len(logits)), classes]


def updated_classes(logits, reference, cost_ratio):
    classes = []
    for likelihood, prior in zip(softmax(logits, axis=1), softmax(reference, axis=1), strict=True):
        posterior = likelihood * prior / (likelihood * prior).sum()
        old, best = prior.argmax(), posterior.argmax()
        classes.append(best if posterior[best] > cost_ratio * posterior[old] else old)
    return np.array(classes)


CASES = [
    (CrossEntropy(), lambda z: cross_entropy(z, TARGETS)),
    (
        CrossEntropy(label_smoothing=0.1),
        lambda z: 0.9 * cross_entropy(z, TARGETS) - 0.1 * log_softmax(z, axis=1).mean(1),
    ),
    (Naive(), lambda z: RIGHT * cross_entropy(z, TARGETS)),
    (KnowledgeDistillation(temperature=3.0), lambda z: kl(z, REFERENCE, 3.0)),
    (FocalDistillationKL(0.5, 4.0, 2.0), lambda z: (0.5 + 4.0 * RIGHT) * kl(z, REFERENCE, 2.0)),
    (FocalDistillationLM(), lambda z: (1 + 5 * RIGHT) * 0.5 * ((z - REFERENCE) ** 2).mean(1)),
    (DynamicFocalDistillation(), lambda z: BEHIND * kl(z, REFERENCE, 1.0)),
    (DynamicFocalDistillation(temperature=5.0), lambda z: BEHIND * kl(z, REFERENCE, 5.0)),
    (GatedDistillation(), lambda z: (1 - NETWORK_RIGHT) * kl(z, REFERENCE, 1.0)),
    (GatedDistillation("right", 3.0), lambda z: NETWORK_RIGHT * kl(z, REFERENCE, 3.0)),
    (LogitDifferenceInhibition(power=2.0, top_k=2), lambda z: ldi(z, REFERENCE, 2.0, 2)),
    (LogitDifferenceInhibition(power=1.5, top_k=10), lambda z: ldi(z, REFERENCE, 1.5, 10)),
    (LogitDifferenceInhibition(2.0, 3, 0.5), lambda z: ldi(z, REFERENCE, 2.0, 3, 0.5)),
    (
        LogitDifferenceInhibition(2.0, 3, exclude_target=False),
        lambda z: ldi(z, REFERENCE, 2.0, 3, without_target=False),
    ),
    (CenteredLogitDistance(delta=0.7), lambda z: centered_huber(z, REFERENCE, 0.7)),
    (BayesianUpdate(), lambda z: cross_entropy(z, updated_classes(z, REFERENCE, 2.0))),
    (BayesianUpdate(cost_ratio=4.0), lambda z: cross_entropy(z, updated_classes(z, REFERENCE, 4.0))),
]


def run(loss, logits=LOGITS):
    tensor = torch.tensor(logits, requires_grad=True)
    values = loss(tensor, torch.tensor(TARGETS), torch.tensor(REFERENCE))
    (gradient,) = torch.autograd.grad(values.sum(), tensor)
    return values.detach().numpy(), gradient.numpy()


def test_no_sample_of_the_cases_is_near_the_threshold_of_a_gate():
    rows = np.arange(6)
    ahead = cross_entropy(REFERENCE, TARGETS) - cross_entropy(LOGITS, TARGETS)
    highest = np.sort(LOGITS, axis=1)[:, -2:]
    product = LOGITS + REFERENCE
    odds = product.max(1) - product[rows, REFERENCE.argmax(1)]
    for distance in (ahead, highest[:, 1] - highest[:, 0], odds - np.log(2.0), odds - np.log(4.0)):
        assert (np.abs(distance) > 1e-2).all()
    for gate in (RIGHT, BEHIND, NETWORK_RIGHT, updated_classes(LOGITS, REFERENCE, 4.0) == REFERENCE.argmax(1)):
        assert set(gate.tolist()) == {0, 1}


@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_values_are_those_of_the_formula(loss, expected):
    np.testing.assert_allclose(run(loss)[0], expected(LOGITS), rtol=1e-10)


@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_gradients_are_those_of_the_formula(loss, expected):
    np.testing.assert_allclose(run(loss)[1], central_differences(expected, LOGITS), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("loss", "focus"),
    [
        (FocalDistillationKL(alpha=0.0), RIGHT),
        (FocalDistillationLM(alpha=0.0), RIGHT),
        (Naive(), RIGHT),
        (DynamicFocalDistillation(), BEHIND),
        (GatedDistillation("wrong"), 1 - NETWORK_RIGHT),
        (GatedDistillation("right"), NETWORK_RIGHT),
    ],
    ids=str,
)
def test_samples_out_of_focus_are_left_alone(loss, focus):
    values, gradient = run(loss)
    assert (values[focus == 0] == 0).all()
    assert (gradient[focus == 0] == 0).all()
    assert (np.abs(gradient[focus == 1]).sum(1) > 0).all()


def test_the_gate_of_dynamic_distillation_still_tells_probabilities_apart_that_round_to_zero():
    behind, ahead, target = torch.tensor([[2000.0, 0.0]]), torch.tensor([[1000.0, 0.0]]), torch.tensor([1])
    assert DynamicFocalDistillation(temperature=1e3)(behind, target, ahead).item() > 0
    assert DynamicFocalDistillation(temperature=1e3)(ahead, target, behind).item() == 0


def test_the_two_gates_share_the_distillation_between_them():
    wrong, right = run(GatedDistillation("wrong", 2.0)), run(GatedDistillation("right", 2.0))
    for whole, one, other in zip(run(KnowledgeDistillation(2.0)), wrong, right, strict=True):
        np.testing.assert_array_equal(whole, one + other)


def decide(posterior, old_prediction, cost_ratio):
    return cost_ratio_decision(torch.tensor(posterior).log(), torch.tensor(old_prediction), cost_ratio).tolist()


def test_a_prediction_changes_when_the_posterior_outweighs_the_cost_ratio():
    posterior = [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.7, 0.3, 0.0]]
    old_prediction = [1, 1, 0, 1, 2]
    # In favor of class 0, over the old prediction: 2, 1.67, itself, 1 and everything.
    assert decide(posterior, old_prediction, 1.9) == [0, 1, 0, 1, 0]
    assert decide(posterior, old_prediction, 2.1) == [1, 1, 0, 1, 0]
    assert decide(posterior, old_prediction, 1.0) == [0, 0, 0, 1, 0]


@given(
    st.lists(st.lists(st.floats(-50, 50), min_size=4, max_size=4), min_size=1, max_size=5),
    st.integers(0, 3),
    st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)).map(sorted),
)
def test_a_higher_cost_ratio_only_keeps_more_predictions(log_posterior, old, cost_ratios):
    values, old_prediction = torch.tensor(log_posterior, dtype=torch.float64), torch.full((len(log_posterior),), old)
    low, high = (cost_ratio_decision(values, old_prediction, ratio) for ratio in cost_ratios)
    assert (low[high != old] == high[high != old]).all()
    assert ((low == old) | (values.gather(1, low.unsqueeze(1)).squeeze(1) == values.max(1).values)).all()
    assert low.shape == old_prediction.shape
    assert low.dtype == torch.int64


def test_bayesian_update_keeps_the_reference_at_a_huge_cost_ratio_and_follows_the_posterior_at_one():
    old, posterior = REFERENCE.argmax(1), (LOGITS + REFERENCE).argmax(1)
    assert (old != posterior).any()
    np.testing.assert_allclose(run(BayesianUpdate(1e12))[0], cross_entropy(LOGITS, old))
    np.testing.assert_allclose(run(BayesianUpdate(math.inf))[0], cross_entropy(LOGITS, old))
    np.testing.assert_allclose(run(BayesianUpdate(1.0))[0], cross_entropy(LOGITS, posterior))


def test_distillation_is_focal_distillation_without_focus():
    distillation, focal = KnowledgeDistillation(temperature=7.0), FocalDistillationKL(1.0, 0.0, 7.0)
    for one, other in zip(run(distillation), run(focal), strict=True):
        np.testing.assert_array_equal(one, other)


def test_at_large_temperature_the_divergence_is_matching_of_centered_logits():
    difference = LOGITS - REFERENCE
    centered = difference - difference.mean(1, keepdims=True)
    expected = (1 + 5 * RIGHT) * 0.5 * (centered**2).sum(1) / LOGITS.shape[1]
    np.testing.assert_allclose(run(FocalDistillationKL(temperature=1e4))[0], expected, rtol=1e-3)


def test_top_k_chooses_classes_for_each_sample_and_never_samples():
    _, gradient = run(LogitDifferenceInhibition(top_k=2))
    pulled = gradient != 0
    assert (pulled.sum(1) == 2).all()  # two classes of every sample
    for row, reference, target in zip(pulled, REFERENCE, TARGETS, strict=True):
        falling = [k for k in np.argsort(-reference) if k != target]
        assert set(np.flatnonzero(row)) == set(falling[:2])


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_one_number_per_sample_independent_of_the_others(name):
    loss = LOSSES[name]()
    whole, _ = run(loss)
    assert whole.shape == (6,)
    alone = [
        loss(torch.tensor(LOGITS[[i]]), torch.tensor(TARGETS[[i]]), torch.tensor(REFERENCE[[i]])).numpy()
        for i in range(6)
    ]
    np.testing.assert_allclose(np.concatenate(alone), whole)


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in ASKING_FOR_A_CLASS])
def test_agreeing_with_the_reference_costs_nothing(name):
    loss = LOSSES[name]()
    same = torch.tensor(REFERENCE)
    np.testing.assert_allclose(loss(same, torch.tensor(TARGETS), same).numpy(), 0, atol=1e-12)


# A hinge asks for no more than its margin.
@pytest.mark.parametrize("name", sorted(ASKING_FOR_A_CLASS - {"flip_hinge"}))
def test_certainty_of_a_label_that_the_reference_predicts_costs_nothing_and_agreeing_does(name):
    loss = LOSSES[name]()
    reference = torch.tensor(REFERENCE)
    labels = reference.argmax(1)
    certain = 100.0 * torch.nn.functional.one_hot(labels, 5).double()
    np.testing.assert_allclose(loss(certain, labels, reference).numpy(), 0, atol=1e-12)
    assert (loss(reference, labels, reference) > 0.1).all()


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_runs_on_an_empty_batch(name):
    logits = torch.zeros(0, 5, requires_grad=True)
    values = LOSSES[name]()(logits, torch.zeros(0, dtype=torch.int64), torch.zeros(0, 5))
    assert values.shape == (0,)


@pytest.mark.parametrize(
    ("loss", "field", "values"),
    [
        (CrossEntropy, "label_smoothing", [-0.1, 1.0, math.nan]),
        (KnowledgeDistillation, "temperature", [0.0, -1.0, math.nan, math.inf]),
        (FocalDistillationKL, "temperature", [0.0, -1.0, math.nan, math.inf]),
        (FocalDistillationKL, "alpha", [-0.5, math.nan]),
        (FocalDistillationKL, "beta", [-0.5, math.nan]),
        (FocalDistillationLM, "alpha", [-0.5, math.nan]),
        (FocalDistillationLM, "beta", [-0.5, math.nan]),
        (DynamicFocalDistillation, "temperature", [0.0, -1.0, math.nan, math.inf]),
        (GatedDistillation, "temperature", [0.0, -1.0, math.nan, math.inf]),
        (GatedDistillation, "where", ["Right", ""]),
        (LogitDifferenceInhibition, "power", [0.0, -2.0, math.nan]),
        (LogitDifferenceInhibition, "top_k", [0, -3]),
        (BayesianUpdate, "cost_ratio", [0.99, -2.0, math.nan]),
    ],
)
def test_impossible_values_are_refused_by_name(loss, field, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{field} must be .*, got "):
            loss(**{field: value})
