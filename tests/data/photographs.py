"""Folders of noisy photographs of uneven sizes, and a count of what is decoded of them."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regnas.data import ImageFolder
from regnas.data.image_decoding import Decoder

SIZES = ((50, 37), (37, 50), (64, 41), (33, 33), (29, 61))  # width, height


def photograph(path: Path, seed: int) -> None:
    """Blocks of color with noise, so that neighboring pixels, channels and files all differ."""
    generator = np.random.default_rng(seed)
    width, height = SIZES[seed % len(SIZES)]
    blocks = np.kron(generator.integers(0, 200, (8, 8, 3)), np.ones((8, 8, 1)))[:height, :width]
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = (blocks + generator.integers(0, 56, blocks.shape)).astype(np.uint8)
    Image.fromarray(pixels).save(path, quality=95)


def make_photographs(root: Path, classes: int = 3, train: int = 8, report: int = 5) -> Path:
    for number in range(classes):
        for index in range(train):
            photograph(root / "train" / f"class{number}" / f"{index}.JPEG", 100 * number + index)
        for index in range(report):
            photograph(root / "val" / f"class{number}" / f"{index}.JPEG", 100 * number + 50 + index)
    return root


def streamed(root: Path, **options: object) -> ImageFolder:
    """Only the search split is kept, which has two images of each class."""
    defaults = {"size": 16, "keep": "search", "search_fraction": 0.25, "cache": str(root.parent / "cache")}
    return ImageFolder(str(root), **(defaults | options))  # type: ignore[arg-type]


class Decoded:
    """The names of the files that were decoded, in the order in which that was finished."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.more = threading.Condition()
        fill = Decoder.fill

        def spy(decoder: object, files: object, index: int, pixels: object) -> object:
            outcome = fill(decoder, files, index, pixels)  # type: ignore[arg-type]
            with self.more:
                self.names.append(files.name(index))  # type: ignore[attr-defined]
                self.more.notify_all()
            return outcome

        monkeypatch.setattr(Decoder, "fill", spy)

    def taken(self) -> list[str]:
        """Sorted, and forgotten."""
        names, self.names = sorted(self.names), []
        return names

    def wait_for(self, number: int) -> bool:
        with self.more:
            return self.more.wait_for(lambda: len(self.names) >= number, timeout=60)
