"""Handwritten digits with corruptions: a real data set that scikit-learn brings along."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from regnas.data.corruptions import Corruption, Image, blur, contrast, gaussian_noise, occlusion, shift
from regnas.data.splits import Preprocessing, Split, Splits, hold_out
from regnas.runtime.progress import track
from regnas.runtime.randomness import generator, key_to_int

SIDE = 16
BRIGHTEST = 16  # a pixel of an original is a count in a block of 4 x 4
REPORT_FRACTION = 597 / 1797
SEARCH_FRACTION = 300 / 1200
LARGEST_COMBINATION = 3
# Largest strengths at severity 1, each in the unit of its corruption; applied in this order, noise last as in a camera.
STRONGEST: tuple[tuple[Corruption, float], ...] = (
    (shift, 2.5),
    (occlusion, 0.4),
    (blur, 1.4),
    (contrast, 0.65),
    (gaussian_noise, 0.3),
)


@dataclass(frozen=True)
class Digits:
    """Handwritten digits of scikit-learn, 16 x 16, corrupted (1,797 originals; needs no download).

    Every original has several variants, each with one to three corruptions of random strength. ``severity`` scales the
    strengths; 0 leaves the images clean. ``seed`` determines the split and the corruptions. It is part of the data set
    and independent of the seed of a training.
    """

    severity: float = 1.0
    train_variants: int = 5
    search_variants: int = 6
    report_variants: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.severity) and self.severity >= 0):
            raise ValueError(f"severity must be 0 or above, got {self.severity}")
        for name in ("train_variants", "search_variants", "report_variants"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or above, got {getattr(self, name)}")

    def load(self) -> Splits:
        images, targets = originals()
        rest, report = hold_out(targets, REPORT_FRACTION, key_to_int(self.seed, "digits", "report"))
        kept, held = hold_out(targets[rest], SEARCH_FRACTION, key_to_int(self.seed, "digits", "search"))
        train = self._split("train", images, targets, rest[kept], self.train_variants)
        return Splits(
            train=train,
            search=self._split("search", images, targets, rest[held], self.search_variants),
            report=self._split("report", images, targets, report, self.report_variants),
            classes=tuple(str(digit) for digit in range(10)),
            preprocessing=Preprocessing.fitted_to(train.images),
        )

    def _split(
        self, name: str, images: Image, targets: NDArray[np.int64], chosen: NDArray[np.int64], variants: int
    ) -> Split:
        pairs = [(int(original), variant) for original in chosen for variant in range(variants)]
        tracked = track(pairs, f"corrupt digits for {name}", len(pairs))
        corrupted = np.stack([self.corrupt(images[original], original, variant) for original, variant in tracked])
        groups = np.repeat(chosen, variants)
        return Split(
            name=name,
            images=to_bytes(corrupted),
            targets=torch.from_numpy(targets[groups]),
            ids=np.array([f"digit-{original:04d}-v{variant}" for original, variant in pairs]),
            groups=groups,
        )

    def corrupt(self, image: Image, original: int, variant: int) -> Image:
        """Return one variant; its draws are keyed by original and variant, independent of all others."""
        draws = generator(self.seed, "digits", "corruption", original, variant)
        number = int(draws.integers(1, LARGEST_COMBINATION + 1))
        for index in sorted(draws.permutation(len(STRONGEST))[:number]):
            corruption, strongest = STRONGEST[index]
            image = corruption(image, self.severity * strongest * draws.uniform(0.5, 1.0), draws)
        return image


def originals() -> tuple[Image, NDArray[np.int64]]:
    """Return all originals [1797, 16, 16] with values in 0..1, and their targets."""
    from sklearn.datasets import load_digits  # here because it takes a second to import

    data = load_digits()
    small = torch.from_numpy(data.images / BRIGHTEST)[:, None]  # [1797, 1, 8, 8]
    large = F.interpolate(small, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    return large[:, 0].numpy(), data.target.astype(np.int64)


def to_bytes(images: Image) -> Tensor:
    """Round images to bytes: [N, H, W] in 0..1 -> [N, 1, H, W] uint8."""
    return torch.from_numpy((images * 255).round().astype(np.uint8))[:, None]
