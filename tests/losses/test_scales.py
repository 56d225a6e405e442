"""A weight means the same for any number of classes: no term grows faster than cross-entropy."""

from __future__ import annotations

import pytest
import torch

from regnas.losses import LOSSES, on_known_classes

SAMPLES = 256
CLASSES = (2, 10, 100, 1000)
SPREAD = 1.0  # standard deviation of random logits


def gradient_norm(loss, classes: int) -> float:
    """Of the mean over a batch, with respect to the logits: per sample, averaged."""
    random = torch.Generator().manual_seed(classes)
    logits, reference = (SPREAD * torch.randn(SAMPLES, classes, generator=random) for _ in range(2))
    # The reference is correct on half of the samples, at any number of classes.
    labels = torch.randint(0, classes, (SAMPLES,), generator=random)
    targets = torch.where(torch.arange(SAMPLES) % 2 == 0, reference.argmax(dim=1), labels)
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(on_known_classes(loss, logits, targets, reference).sum(), logits)
    return float(gradient.norm(dim=1).mean())


def relative(name: str) -> list[float]:
    labels = LOSSES["cross_entropy"]()
    return [gradient_norm(LOSSES[name](), classes) / gradient_norm(labels, classes) for classes in CLASSES]


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_no_term_grows_relative_to_cross_entropy_with_the_number_of_classes(name):
    ratios = relative(name)
    assert max(ratios[1:]) <= max(1.1 * ratios[0], 1.0), ratios  # what is a cross-entropy itself comes close to 1


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_at_weight_1_no_term_is_more_than_about_ten_times_cross_entropy(name):
    assert max(relative(name)) <= 12, relative(name)
