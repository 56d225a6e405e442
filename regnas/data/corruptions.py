"""Corruptions of a gray image, as in MNIST-C (Mu and Gilmer, 2019, arXiv:1906.02337).

Each function takes an image [H, W] with values in 0..1, a strength in the unit that its docstring names and a
generator, and returns a new image in 0..1. Strength 0 returns the image unchanged. All computations are in double
precision: the last bit of a product or an exponential differs between processors, and rounding to bytes removes this
difference. The data set is therefore the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float64]
Corruption = Callable[[Image, float, np.random.Generator], Image]


def gaussian_noise(image: Image, strength: float, generator: np.random.Generator) -> Image:
    """Add independent noise to every pixel; strength is its standard deviation."""
    noise = generator.standard_normal(image.shape)
    return _clip(image + strength * noise)


def blur(image: Image, strength: float, generator: np.random.Generator) -> Image:
    """Blur by a Gaussian; strength is its standard deviation in pixels. Draws nothing."""
    if strength < 0.05:  # neighbors would weigh less than 1e-80, and the square of a tiny strength underflows
        return image.copy()
    return _clip(_blurring(image.shape[0], strength) @ image @ _blurring(image.shape[1], strength).T)


def shift(image: Image, strength: float, generator: np.random.Generator) -> Image:
    """Move the image by ``strength`` pixels in a random direction; new pixels are black."""
    angle = generator.uniform(0, 2 * np.pi)
    down, right = strength * np.sin(angle), strength * np.cos(angle)
    return _clip(_moving(image.shape[0], down) @ image @ _moving(image.shape[1], right).T)


def occlusion(image: Image, strength: float, generator: np.random.Generator) -> Image:
    """Black out a random rectangle; strength is the share of the height and of the width that it covers."""
    height, width = (round(min(strength, 1.0) * side) for side in image.shape)
    top = int(generator.integers(image.shape[0] - height + 1))
    left = int(generator.integers(image.shape[1] - width + 1))
    occluded = image.copy()
    occluded[top : top + height, left : left + width] = 0
    return occluded


def contrast(image: Image, strength: float, generator: np.random.Generator) -> Image:
    """Pull every pixel toward the mean; strength is the share of the contrast that is lost. Draws nothing."""
    if strength == 0:
        return image.copy()
    mean = image.mean()
    return _clip(mean + (1 - min(strength, 1.0)) * (image - mean))


def _blurring(side: int, deviation: float) -> Image:
    """Return the matrix [side, side] that blurs a line: row i has the weights of pixel i, which sum to 1."""
    places = np.arange(side)
    weights = np.exp(-((places[:, None] - places[None, :]) ** 2) / (2 * deviation**2))  # [side, side]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def _moving(side: int, offset: float) -> Image:
    """Return the matrix [side, side] that moves a line: row i interpolates it at i - offset; 0 beyond the border."""
    places = np.arange(side)
    distance = np.abs(places[:, None] - offset - places[None, :])  # [side, side]
    return np.asarray(np.maximum(0, 1 - distance), dtype=np.float64)


def _clip(image: Image) -> Image:
    return np.clip(image, 0, 1)
