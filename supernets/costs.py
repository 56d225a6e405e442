"""Compute multiply-adds and parameters of layers; ``size`` is height and width of the feature maps."""

from __future__ import annotations

from functools import cache

from regnas.space import Cost
from supernets.channels import squeeze, stride_output


@cache
def convolution_cost(
    channels_in: int, channels_out: int, kernel: int, size_out: tuple[int, int], groups: int = 1
) -> Cost:
    """Return the cost of a convolution without bias and its batch norm."""
    weights = kernel**2 * channels_in * channels_out // groups
    return Cost(weights * size_out[0] * size_out[1], weights + 2 * channels_out)


@cache
def bottleneck_cost(
    channels_in: int,
    middle: int,
    channels_out: int,
    kernel: int,
    stride: int,
    size: tuple[int, int],
    squeezing: bool,
    expanding: bool = True,
    projected: bool = False,
) -> Cost:
    """Return the cost of an inverted bottleneck; only a projected shortcut has a cost."""
    after = stride_output(size, stride)
    total = convolution_cost(middle, middle, kernel, after, middle)
    total = total.plus(convolution_cost(middle, channels_out, 1, after))
    if expanding:
        total = total.plus(convolution_cost(channels_in, middle, 1, size))
    if squeezing:
        reduced = squeeze(middle)
        total = total.plus(Cost(2 * middle * reduced, 2 * middle * reduced + reduced + middle))
    if projected:
        weights = channels_in * channels_out
        total = total.plus(Cost(weights * after[0] * after[1], weights))
    return total
