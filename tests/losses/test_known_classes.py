"""A reference with fewer classes affects only those classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regnas.losses import (
    LOSSES,
    DynamicFocalDistillation,
    FocalDistillationLM,
    GatedDistillation,
    KnowledgeDistillation,
    Naive,
    on_known_classes,
)

RANDOM = np.random.default_rng(2)
LOGITS = RANDOM.normal(size=(6, 5)) * 2
REFERENCE = RANDOM.normal(size=(6, 3)) * 2
TARGETS = np.array([0, 4, 2, 3, 1, 3])
KNOWN = TARGETS < 3
# Losses that ask for a class are cross-entropies among all classes, and gates look at all of them.
ASKING_FOR_A_CLASS = {"cross_entropy", "naive", "bayesian_update", "margin_cross_entropy"}
GATED = {"dynamic_focal_distillation", "gated_distillation"}
DISTANCES = sorted(set(LOSSES) - ASKING_FOR_A_CLASS - GATED)


def run(loss, logits=LOGITS, targets=TARGETS, reference=REFERENCE):
    tensor = torch.tensor(logits, requires_grad=True)
    values = on_known_classes(loss, tensor, torch.tensor(targets), torch.tensor(reference))
    (gradient,) = torch.autograd.grad(values.sum(), tensor)
    return values.detach().numpy(), gradient.numpy()


def test_values_and_gradients_are_those_of_the_formula():
    weight = np.where(REFERENCE.argmax(1) == TARGETS, 6.0, 1.0) * KNOWN
    difference = LOGITS[:, :3] - REFERENCE
    values, gradient = run(FocalDistillationLM(alpha=1.0, beta=5.0))
    np.testing.assert_allclose(values, weight * 0.5 * (difference**2).mean(1))
    np.testing.assert_allclose(gradient[:, :3], weight[:, None] * difference / 3)
    assert (gradient[:, 3:] == 0).all()


@pytest.mark.parametrize("name", DISTANCES)
def test_known_samples_are_treated_as_if_there_were_no_other_classes(name):
    values, gradient = run(LOSSES[name]())
    alone, gradient_alone = run(LOSSES[name](), LOGITS[KNOWN, :3], TARGETS[KNOWN], REFERENCE[KNOWN])
    assert values.shape == (6,)
    np.testing.assert_allclose(values[KNOWN], alone)
    np.testing.assert_allclose(gradient[KNOWN, :3], gradient_alone)


@pytest.mark.parametrize("name", LOSSES)
def test_samples_of_added_classes_are_left_alone(name):
    values, gradient = run(LOSSES[name]())
    assert (values[~KNOWN] == 0).all()
    assert (gradient[~KNOWN] == 0).all()


@pytest.mark.parametrize("name", sorted(set(LOSSES) - ASKING_FOR_A_CLASS))
def test_no_distance_pulls_at_the_logits_of_added_classes(name):
    _, gradient = run(LOSSES[name]())
    assert (gradient[:, 3:] == 0).all()


@pytest.mark.parametrize("loss", [GatedDistillation(), DynamicFocalDistillation(), Naive()], ids=str)
def test_a_sample_that_an_added_class_has_taken_over_is_seen(loss):
    """New logits [2, 1, 9], label 0, on which the old model is correct: the added class 2 causes a negative flip."""
    logits, targets, reference = np.array([[2.0, 1.0, 9.0]]), np.array([0]), np.array([[2.5, 0.0]])
    values, gradient = run(loss, logits, targets, reference)
    assert values[0] > 0
    assert np.abs(gradient).sum() > 0


def test_the_gates_compare_probabilities_and_answers_among_all_classes():
    """The network gives the label more probability than the reference, among the known classes but not among all."""
    logits, targets, reference = np.array([[4.0, 0.0, 3.9]]), np.array([0]), np.array([[2.0, 0.0]])
    surer = 1 / (1 + np.exp(-4.0)) > 1 / (1 + np.exp(-2.0)) > np.exp(4.0) / np.exp(logits[0]).sum()
    assert surer
    assert run(DynamicFocalDistillation(), logits, targets, reference)[0][0] > 0
    assert run(GatedDistillation("right"), logits, targets, reference)[0][0] > 0  # class 0 is still the answer
    assert run(GatedDistillation("wrong"), logits, targets, reference)[0][0] == 0


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_without_known_samples_costs_nothing_and_can_still_be_differentiated(name):
    values, gradient = run(LOSSES[name](), targets=np.array([3, 4, 3, 4, 3, 4]))
    assert values.tolist() == [0.0] * 6
    assert (gradient == 0).all()


@pytest.mark.parametrize("name", LOSSES)
def test_with_all_classes_known_it_is_the_loss_itself(name):
    loss = LOSSES[name]()
    reference = RANDOM.normal(size=(6, 5))
    values, _ = run(loss, reference=reference)
    direct = loss(torch.tensor(LOGITS), torch.tensor(TARGETS), torch.tensor(reference))
    np.testing.assert_array_equal(values, direct.numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_result_has_the_type_that_the_loss_gives(dtype):
    logits, reference = torch.tensor(LOGITS, dtype=dtype), torch.tensor(REFERENCE, dtype=dtype)
    assert on_known_classes(KnowledgeDistillation(), logits, torch.tensor(TARGETS), reference).dtype == dtype


@given(st.integers(1, 6), st.lists(st.integers(0, 5), max_size=8), st.integers(0, 2**32 - 1))
def test_for_any_number_of_known_classes_the_sum_is_that_of_the_known_samples(known_classes, targets, seed):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(len(targets), 6))
    reference = random.normal(size=(len(targets), known_classes))
    values, _ = run(FocalDistillationLM(alpha=2.0, beta=0.0), logits, np.array(targets, dtype=np.int64), reference)
    expected = [
        ((own[:known_classes] - other) ** 2).mean() if target < known_classes else 0.0
        for own, other, target in zip(logits, reference, targets, strict=True)
    ]
    np.testing.assert_allclose(values, expected)


def test_a_reference_with_more_classes_is_refused():
    with pytest.raises(ValueError, match="logits must have the 7 classes of the reference, got 5"):
        run(KnowledgeDistillation(), reference=np.zeros((6, 7)))
