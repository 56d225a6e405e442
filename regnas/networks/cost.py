"""The cost of a network: multiply-adds per image and parameters, counted on the module itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


def macs_of(network: nn.Module, input_shape: tuple[int, int, int]) -> int:
    """Return the multiply-adds per image in evaluation mode, by torch's counter."""
    from torch.utils.flop_counter import FlopCounterMode  # here because it imports triton, which no worker needs

    weight = next(network.parameters(), torch.empty(0))
    image = torch.zeros(1, *input_shape, device=weight.device, dtype=weight.dtype)
    counter = FlopCounterMode(display=False)
    with evaluating(network), _plain_attention(), counter:
        network(image)
    return int(counter.get_total_flops()) // 2  # the counter counts a multiply-add as two operations


def parameters_of(network: nn.Module) -> int:
    """Return the number of all parameters, without the statistics of batch norm."""
    return sum(parameter.numel() for parameter in network.parameters())


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Set evaluation mode without gradients for the block; then restore the mode of every module."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:  # one by one: some may have been frozen
            module.training = training


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Disable the fused attention of evaluation mode, which the counter does not count."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)
