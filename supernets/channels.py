"""How the mobile networks and their descendants round numbers of channels and sizes of images."""

from __future__ import annotations


def multiple_of_eight(channels: float) -> int:
    """The nearest multiple of 8, at least 8, and the next one where that would lose more than a tenth (MobileNetV2)."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest if nearest >= 0.9 * channels else nearest + 8


def expand(channels: int, expansion: float) -> int:
    """The channels inside a block whose expansion refers to ``channels``."""
    return multiple_of_eight(round(channels * expansion))


def squeeze(channels: int) -> int:
    """The channels between the two layers of a squeeze and excitation."""
    return multiple_of_eight(channels // 4)


def stride_output(size: tuple[int, int], stride: int) -> tuple[int, int]:
    """Height and width after a stride whose padding rounds odd sizes up."""
    return -(-size[0] // stride), -(-size[1] // stride)
