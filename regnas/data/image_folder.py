"""Any folder of class folders with a training and a test part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL
import torch
from torch import Tensor

from regnas.data.holding_out import check_fraction
from regnas.data.image_cache import cached_images
from regnas.data.image_decoding import MODES, decode_all
from regnas.data.image_listing import ListedImage, list_part
from regnas.data.splits import Split, Splits
from regnas.errors import DataError
from regnas.runtime.files import digest_of


@dataclass(frozen=True)
class ImageFolder:
    """A folder of images: train/<class>/*.jpg and test/<class>/*.jpg (or val/ in place of test/).

    The shorter side is resized to ``size`` and the centre is cropped; ``channels`` is 3 for colour and 1 for grey.
    Images are decoded once and kept in ``cache`` until a file is added, removed or changed.
    """

    path: str
    size: int
    channels: int = 3
    search_fraction: float = 0.1
    seed: int = 0
    cache: str = "~/.cache/regnas"

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size is {self.size}: it has to be 1 or above")
        if self.channels not in MODES:
            raise ValueError(f"channels is {self.channels}: 3 for colour or 1 for grey")
        check_fraction("search_fraction", self.search_fraction)

    def load(self) -> Splits:
        folder = Path(self.path).expanduser().resolve()
        train, report = self._list(folder)
        classes = tuple(sorted({image.class_name for image in train}))
        images = self._images(folder, train + report)
        return Splits.holding_out(
            train=_split("train", images[: len(train)], train, classes, first_group=0),
            report=_split("report", images[len(train) :], report, classes, first_group=len(train)),
            classes=classes,
            search_fraction=self.search_fraction,
            seed=self.seed,
        )

    def _list(self, folder: Path) -> tuple[list[ListedImage], list[ListedImage]]:
        """The images of both parts; everything that can be wrong with the folders is found before decoding."""
        if not folder.is_dir():
            raise DataError(f"the image folder {folder} does not exist")
        if not (folder / "train").is_dir():
            raise DataError(f"{folder} has no folder train/: it has to hold a folder of images for each class")
        held_back = next((part for part in ("test", "val") if (folder / part).is_dir()), None)
        if held_back is None:
            raise DataError(f"{folder} has no folder test/ (or val/): it has to hold images to report on")
        train, report = list_part(folder, "train"), list_part(folder, held_back)
        trained = {image.class_name for image in train}
        if len(trained) < 2:
            raise DataError(f'{folder / "train"} has one class folder, "{next(iter(trained))}": two classes are needed')
        unseen = sorted({image.class_name for image in report} - trained)
        if unseen:
            names = ", ".join(f'"{name}"' for name in unseen)
            raise DataError(f"{len(unseen)} classes of {folder / held_back} have no folder in train/: {names}")
        return train, report

    def _images(self, folder: Path, listed: list[ListedImage]) -> Tensor:
        # The folder is in the key since files of other data sets may well agree in name, size and time (uncompressed
        # images from an archive without times); the version of PIL since its resizing decides the pixels.
        files = [[image.name, image.size, image.modified] for image in listed]
        key = digest_of([str(folder), files, self.size, self.channels, PIL.__version__])
        return cached_images(
            Path(self.cache).expanduser() / "image_folder",
            key,
            shape=(len(listed), self.channels, self.size, self.size),
            make=lambda: decode_all(folder, [image.name for image in listed], self.size, self.channels),
        )


def _split(name: str, images: Tensor, listed: list[ListedImage], classes: tuple[str, ...], first_group: int) -> Split:
    number = {class_name: index for index, class_name in enumerate(classes)}
    return Split(
        name=name,
        images=images,
        targets=torch.tensor([number[image.class_name] for image in listed], dtype=torch.int64),
        ids=np.array([image.name for image in listed], dtype=np.str_),
        groups=np.arange(first_group, first_group + len(listed), dtype=np.int64),
    )
