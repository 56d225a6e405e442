"""Losses as users call them: reductions, and inputs that do not fit."""

from __future__ import annotations

import pytest
import torch

from regnas import losses
from regnas.losses import FEATURE_LOSSES, LOSSES, Embedding, FocalDistillation, FocalDistillationKL

FEATURE_NAMES = list(FEATURE_LOSSES)
GENERATOR = torch.Generator().manual_seed(0)
LOGITS, REFERENCE = torch.randn(2, 7, 4, generator=GENERATOR, dtype=torch.float64)
TARGETS = torch.tensor([0, 1, 2, 3, 0, 1, 2])
FEATURES = torch.randn(7, 5, generator=GENERATOR, dtype=torch.float64)
EMBEDDING = Embedding(FEATURES.flip(0), torch.randn(4, 5, dtype=torch.float64), torch.zeros(4, dtype=torch.float64))


def inputs(name):
    return (FEATURES, TARGETS, EMBEDDING) if name in FEATURE_NAMES else (LOGITS, TARGETS, REFERENCE)


@pytest.mark.parametrize("name", [*LOSSES, *FEATURE_LOSSES])
def test_reductions_are_those_of_the_samples(name):
    loss = (FEATURE_LOSSES if name in FEATURE_NAMES else LOSSES)[name]()
    values = loss(*inputs(name))
    assert values.shape == (7,)
    assert torch.equal(values, loss(*inputs(name), reduction="none"))
    assert torch.equal(values.sum() / 7, loss(*inputs(name), reduction="mean")) or torch.allclose(
        values.sum() / 7, loss(*inputs(name), reduction="mean"), rtol=1e-14
    )
    assert torch.equal(values.sum(), loss(*inputs(name), reduction="sum"))
    with pytest.raises(ValueError, match='reduction must be "none", "mean" or "sum", got \'max\''):
        loss(*inputs(name), reduction="max")


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    ("logits", "targets", "reference", "found"),
    [
        (LOGITS, TARGETS[:5], REFERENCE, r"\[7, 4\], \[5\] and \[7, 4\]"),
        (LOGITS, TARGETS, REFERENCE[:1], r"\[7, 4\], \[7\] and \[1, 4\]"),
        (LOGITS, TARGETS[:, None], REFERENCE, r"\[7, 4\], \[7, 1\] and \[7, 4\]"),
        (LOGITS[0], TARGETS[0], REFERENCE[0], r"\[4\], \[\] and \[4\]"),
        (LOGITS[None], TARGETS, REFERENCE, r"\[1, 7, 4\], \[7\] and \[7, 4\]"),
        (LOGITS[:, :3], TARGETS, REFERENCE, r"\[7, 3\], \[7\] and \[7, 4\]"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(name, logits, targets, reference, found):
    """Without the check some of them would broadcast to [N, N] and train on it."""
    with pytest.raises(
        ValueError, match=rf"^logits must be \[N, C\], targets \[N\] and reference \[N, C\].*, got {found}$"
    ):
        LOSSES[name]()(logits, targets, reference)


def test_targets_must_be_classes():
    with pytest.raises(ValueError, match=r"targets must be classes as integers, got torch.float64"):
        losses.CrossEntropy()(LOGITS, TARGETS.double(), REFERENCE)


@pytest.mark.parametrize("name", FEATURE_LOSSES)
def test_features_that_do_not_fit_are_refused(name):
    with pytest.raises(ValueError, match=r"features must be \[N, D'\], .* got \[6, 5\], \[7\] and \[7, 5\]"):
        FEATURE_LOSSES[name]()(FEATURES[:6], TARGETS, EMBEDDING)


def test_a_training_loop_of_ones_own_flips_less_with_the_loss():
    """Two classes on a line, the old model correct on all but one sample: following it undoes the flips."""
    inputs = torch.linspace(-1, 1, 41, dtype=torch.float64)[:, None]
    targets = (inputs[:, 0] > 0).long()
    reference = torch.cat([-8 * inputs, 8 * inputs], dim=1)
    noisy = targets.clone()
    noisy[15:20] = 1  # the new labels contradict the old model near the boundary

    def flips(weight):
        model = torch.nn.Linear(1, 2, dtype=torch.float64)
        torch.nn.init.zeros_(model.weight), torch.nn.init.zeros_(model.bias)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        loss = FocalDistillation(temperature=1.0)
        for _ in range(300):
            logits = model(inputs)
            value = torch.nn.functional.cross_entropy(logits, noisy)
            value = value + weight * loss(logits, targets, reference, reduction="mean")
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        wrong = model(inputs).argmax(1) != targets
        return int((wrong & (reference.argmax(1) == targets)).sum())

    assert flips(5.0) < flips(0.0)


def test_focal_distillation_is_the_form_with_the_divergence():
    assert FocalDistillation is FocalDistillationKL
    assert FocalDistillation(beta=5.0) == LOSSES["focal_distillation_kl"](beta=5.0)
