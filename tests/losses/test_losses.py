"""Every loss against an independent computation in numpy: values, and gradients by central differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax

from regnas.losses import (
    LOSSES,
    CrossEntropy,
    FocalDistillationKL,
    FocalDistillationLM,
    KnowledgeDistillation,
    LogitDifferenceInhibition,
)

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(6, 5)) * 2
REFERENCE = RANDOM.normal(size=(6, 5)) * 2
# The reference is right on the first three samples and wrong on the others.
TARGETS = np.where(np.arange(6) < 3, REFERENCE.argmax(1), (REFERENCE.argmax(1) + 1) % 5)
RIGHT = np.array([1.0, 1, 1, 0, 0, 0])


def kl(logits, reference, temperature):
    p = softmax(reference / temperature, axis=1)
    return temperature**2 * (p * (np.log(p) - log_softmax(logits / temperature, axis=1))).sum(1)


def ldi(logits, reference, power, top_k):
    values = []
    for own, other in zip(logits, reference, strict=True):
        classes = sorted(range(len(other)), key=lambda k: -other[k])[:top_k]
        values.append(sum(abs(own[k] - other[k]) ** power for k in classes))
    return np.array(values)


CASES = [
    (CrossEntropy(), lambda z: -log_softmax(z, axis=1)[np.arange(6), TARGETS]),
    (
        CrossEntropy(label_smoothing=0.1),
        lambda z: -(0.9 * log_softmax(z, axis=1)[np.arange(6), TARGETS] + 0.1 * log_softmax(z, axis=1).mean(1)),
    ),
    (KnowledgeDistillation(temperature=3.0), lambda z: kl(z, REFERENCE, 3.0)),
    (FocalDistillationKL(0.5, 4.0, 2.0), lambda z: (0.5 + 4.0 * RIGHT) * kl(z, REFERENCE, 2.0)),
    (FocalDistillationLM(), lambda z: (1 + 5 * RIGHT) * 0.5 * ((z - REFERENCE) ** 2).sum(1)),
    (LogitDifferenceInhibition(power=2.0, top_k=2), lambda z: ldi(z, REFERENCE, 2.0, 2)),
    (LogitDifferenceInhibition(power=1.5, top_k=10), lambda z: ldi(z, REFERENCE, 1.5, 10)),
]


def run(loss, logits=LOGITS):
    tensor = torch.tensor(logits, requires_grad=True)
    values = loss(tensor, torch.tensor(TARGETS), torch.tensor(REFERENCE))
    (gradient,) = torch.autograd.grad(values.sum(), tensor)
    return values.detach().numpy(), gradient.numpy()


@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_values_are_those_of_the_formula(loss, expected):
    np.testing.assert_allclose(run(loss)[0], expected(LOGITS), rtol=1e-10)


@pytest.mark.parametrize(("loss", "expected"), CASES, ids=lambda case: type(case).__name__)
def test_gradients_are_those_of_the_formula(loss, expected):
    numeric = np.zeros_like(LOGITS)
    step = 1e-5
    for index in np.ndindex(*LOGITS.shape):
        above, below = LOGITS.copy(), LOGITS.copy()
        above[index] += step
        below[index] -= step
        numeric[index] = (expected(above).sum() - expected(below).sum()) / (2 * step)
    np.testing.assert_allclose(run(loss)[1], numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", [FocalDistillationKL(alpha=0.0), FocalDistillationLM(alpha=0.0)])
def test_with_alpha_zero_samples_that_the_reference_missed_are_left_alone(loss):
    values, gradient = run(loss)
    assert (values[3:] == 0).all()
    assert (gradient[3:] == 0).all()
    assert (np.abs(gradient[:3]).sum(1) > 0).all()


def test_distillation_is_focal_distillation_without_focus():
    distillation, focal = KnowledgeDistillation(temperature=7.0), FocalDistillationKL(1.0, 0.0, 7.0)
    for one, other in zip(run(distillation), run(focal), strict=True):
        np.testing.assert_array_equal(one, other)


def test_at_large_temperature_the_divergence_is_matching_of_centred_logits():
    difference = LOGITS - REFERENCE
    centred = difference - difference.mean(1, keepdims=True)
    expected = (1 + 5 * RIGHT) * 0.5 * (centred**2).sum(1) / LOGITS.shape[1]
    np.testing.assert_allclose(run(FocalDistillationKL(temperature=1e4))[0], expected, rtol=1e-3)


def test_top_k_chooses_classes_for_each_sample_and_never_samples():
    _, gradient = run(LogitDifferenceInhibition(top_k=2))
    pulled = gradient != 0
    assert (pulled.sum(1) == 2).all()  # two classes of every sample
    for row, reference in zip(pulled, REFERENCE, strict=True):
        assert set(np.flatnonzero(row)) == set(np.argsort(-reference)[:2])


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_one_number_a_sample_and_does_not_see_the_others(name):
    loss = LOSSES[name]()
    whole, _ = run(loss)
    assert whole.shape == (6,)
    order = RANDOM.permutation(6)
    permuted = loss(torch.tensor(LOGITS[order]), torch.tensor(TARGETS[order]), torch.tensor(REFERENCE[order]))
    np.testing.assert_allclose(permuted.numpy(), whole[order])


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "cross_entropy"])
def test_agreeing_with_the_reference_costs_nothing(name):
    loss = LOSSES[name]()
    same = torch.tensor(REFERENCE)
    np.testing.assert_allclose(loss(same, torch.tensor(TARGETS), same).numpy(), 0, atol=1e-12)
