"""Labeled pictures for a gallery, from a folder of class folders or from an npz file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regnas.pictures.arrays import numbered_ids, read_report_part
from regnas.pictures.decoding import open_listed
from regnas.pictures.labels import check_labels
from regnas.pictures.listing import list_report_part


@dataclass(frozen=True, eq=False)
class LabeledPictures:
    """N labeled pictures; ``picture(index)`` decodes one of them."""

    source: str
    classes: tuple[str, ...]
    ids: NDArray[np.str_]  # [N]
    targets: NDArray[np.int64]  # [N]
    picture: Callable[[int], Image.Image]

    def __post_init__(self) -> None:
        check_labels(self.source, "report", self.targets, self.ids, self.classes)

    def __len__(self) -> int:
        return len(self.ids)


def open_folder(source: str, folder: Path) -> LabeledPictures:
    """List the pictures of class folders without decoding them."""
    listed, classes = list_report_part(folder)
    number = {name: index for index, name in enumerate(classes)}
    names = [image.name for image in listed]
    return LabeledPictures(
        source,
        classes,
        np.array(names, dtype=np.str_),
        np.array([number[image.class_name] for image in listed], dtype=np.int64),
        lambda index: open_listed(folder, names[index]),
    )


def open_npz(source: str, path: Path) -> LabeledPictures:
    """Read the test images of an npz file."""
    images, targets, classes = read_report_part(path)
    return LabeledPictures(
        source, classes, numbered_ids("test", len(images)), targets, lambda index: _picture(images[index])
    )


def _picture(pixels: NDArray[np.uint8]) -> Image.Image:
    """Convert pixels [H, W] or [H, W, C] to a picture: three channels in color, otherwise the first channel in gray."""
    if pixels.ndim == 3 and pixels.shape[2] != 3:
        pixels = pixels[:, :, 0]
    return Image.fromarray(np.ascontiguousarray(pixels))
