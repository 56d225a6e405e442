"""Random boxes in images."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from regnas.runtime.draws import integers_of

ATTEMPTS = 10  # boxes drawn per image; the first one that fits is used
DRAWN = 2 * ATTEMPTS + 2  # numbers per image

Boxes = NDArray[np.int64]  # [4, N]: top, left, height, width


def random_boxes(
    uniform: NDArray[np.float64],
    size: tuple[int, int],
    scale: tuple[float, float],
    ratio: tuple[float, float],
    largest: tuple[int, int],
) -> tuple[Boxes, NDArray[np.bool_]]:
    """Return boxes with uniform area, logarithm of the ratio (width : height) and position, and which of them fit.

    Args:
        uniform: numbers in [0, 1), [N, DRAWN].
        size: height and width of the images.
        scale: the smallest and the largest area, relative to the image.
        ratio: the smallest and the largest ratio.
        largest: the largest height and width that fit.
    """
    height, width = size
    first, second = uniform[:, :ATTEMPTS].T, uniform[:, ATTEMPTS : 2 * ATTEMPTS].T  # [A, N]
    area = height * width * (scale[0] + (scale[1] - scale[0]) * first)
    ratios = np.exp(math.log(ratio[0]) + math.log(ratio[1] / ratio[0]) * second)
    heights, widths = np.rint(np.sqrt(area / ratios)).astype(np.int64), np.rint(np.sqrt(area * ratios)).astype(np.int64)
    fits = (heights >= 1) & (heights <= largest[0]) & (widths >= 1) & (widths <= largest[1])  # [A, N]
    chosen, columns = fits.argmax(0), np.arange(len(uniform))
    own_height, own_width = heights[chosen, columns], widths[chosen, columns]  # [N]
    top = integers_of(uniform[:, -2], height - own_height + 1)
    left = integers_of(uniform[:, -1], width - own_width + 1)
    return np.stack([top, left, own_height, own_width]), np.asarray(fits.any(0))
