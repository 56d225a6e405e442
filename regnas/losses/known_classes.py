"""References that know fewer classes than the network: the old model of an update that adds classes."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def on_known_classes(
    loss: Callable[[Tensor, Tensor, Tensor], Tensor], logits: Tensor, targets: Tensor, reference: Tensor
) -> Tensor:
    """The loss [N] of samples whose class the reference knows, and 0 for samples of any other class.

    The reference knows the first of the network's classes: ``reference`` is [N, K], ``logits`` [N, C], K <= C. About
    a class that it never saw it has nothing to say, so those samples pull at nothing. The loss gets all logits: a gate
    has to see a sample that an added class has taken over. Distances compare ``known_logits`` alone, so that no sample
    pulls at the logits of the added classes.
    """
    known_classes, classes = reference.shape[1], logits.shape[1]
    if known_classes == classes:
        return loss(logits, targets, reference)
    if known_classes > classes:
        raise ValueError(f"the reference has {known_classes} classes and the network {classes}: it needs those too")
    known = targets < known_classes  # [N]
    values = loss(logits[known], targets[known], reference[known])  # [M, C], [M], [M, K] -> [M]
    return spread(values, known)


def known_logits(logits: Tensor, reference: Tensor) -> Tensor:
    """The logits of the classes that both know: [N, C], [N, K] -> [N, K]."""
    return logits[:, : reference.shape[1]]


def spread(values: Tensor, chosen: Tensor) -> Tensor:
    """The values [M] at the M of N places that are chosen, and 0 elsewhere; ``chosen`` [N] is a mask."""
    return values.new_zeros(chosen.shape).index_put((chosen,), values)  # [M] -> [N]
