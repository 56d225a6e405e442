"""References that know fewer classes than the network: the old model of an update that adds classes."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def on_known_classes(
    loss: Callable[[Tensor, Tensor, Tensor], Tensor], logits: Tensor, targets: Tensor, reference: Tensor
) -> Tensor:
    """Return the loss [N] of samples whose class the reference knows, and 0 for samples of any other class.

    The reference knows the first K of the network's C classes: ``reference`` is [N, K], ``logits`` [N, C]. Samples of
    a class that it does not know get no loss from it. The loss gets all logits: a gate must see a sample that the
    network assigns to an added class. Distances compare ``known_logits`` only, so no sample moves the logits of the
    added classes.
    """
    known_classes, classes = reference.shape[1], logits.shape[1]
    if known_classes == classes:
        return loss(logits, targets, reference)
    if known_classes > classes:
        raise ValueError(f"logits must have the {known_classes} classes of the reference, got {classes}")
    known = targets < known_classes  # [N]
    values = loss(logits[known], targets[known], reference[known])  # [M, C], [M], [M, K] -> [M]
    return spread(values, known)


def known_logits(logits: Tensor, reference: Tensor) -> Tensor:
    """Return the logits of the classes that both know: [N, C], [N, K] -> [N, K]."""
    return logits[:, : reference.shape[1]]


def spread(values: Tensor, chosen: Tensor) -> Tensor:
    """Put the values [M] at the M of N chosen places, and 0 elsewhere; ``chosen`` [N] is a mask."""
    return values.new_zeros(chosen.shape).index_put((chosen,), values)  # [M] -> [N]
