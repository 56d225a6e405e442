"""Round numbers of channels and sizes of images as mobile networks do."""

from __future__ import annotations


def multiple_of_eight(channels: float) -> int:
    """Return the nearest multiple of 8, at least 8; the next one if rounding loses over a tenth (MobileNetV2)."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest if nearest >= 0.9 * channels else nearest + 8


def expand(channels: int, expansion: float) -> int:
    """Return the channels inside a block whose expansion refers to ``channels``."""
    return multiple_of_eight(round(channels * expansion))


def squeeze(channels: int) -> int:
    """Return the channels between the two layers of a squeeze and excitation."""
    return multiple_of_eight(channels // 4)


def stride_output(size: tuple[int, int], stride: int) -> tuple[int, int]:
    """Return height and width after a stride; padding rounds odd sizes up."""
    return -(-size[0] // stride), -(-size[1] // stride)
