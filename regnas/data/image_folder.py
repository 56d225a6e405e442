"""Any folder of class folders with a training and a test part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from regnas.components.paths import IS_PATH, path_key
from regnas.data.holding_out import check_fraction, hold_out
from regnas.data.image_decoding import Decoder
from regnas.data.image_transforms import Transform
from regnas.data.packing import fit_once, pack
from regnas.data.preprocessing import IMAGENET
from regnas.data.splits import Split, SplitName, Splits
from regnas.data.streaming import Images, StreamedImages
from regnas.errors import DataError
from regnas.pictures.decoding import MODES
from regnas.pictures.files import ImageFiles, ListedImage
from regnas.pictures.listing import list_folder
from regnas.runtime.files import cache_folder


@dataclass(frozen=True)
class ImageFolder:
    """A folder of images: train/<class>/*.jpg and test/<class>/*.jpg (or val/ in place of test/).

    ``channels`` is 3 for color and 1 for gray. ``transform`` is "fit" (the center square, resized to ``size`` and
    normalized by the training images) or "imagenet" (the evaluation of the papers: the shorter side resized to
    size / 0.875, the center crop, and the mean and standard deviation of ImageNet).

    Images are decoded once and kept in ``cache`` until a file is added, removed or changed. ``keep`` = "all" keeps all
    images. "search" keeps those of the search split, which is read thousands of times; the others are decoded by
    ``workers`` threads (0: one per core) whenever they are needed. Use it for data that is larger than the memory.

    The search split is ``search_fraction`` of the training images or, if it is not 0, about ``search_images`` of them,
    a whole number per class.
    """

    path: str = field(metadata=IS_PATH)
    size: int
    channels: int = 3
    search_fraction: float = 0.1
    seed: int = 0
    cache: str = path_key("")  # the default is regnas in $XDG_CACHE_HOME or ~/.cache
    transform: Transform = "fit"
    keep: Literal["all", "search"] = "all"
    search_images: int = 0
    workers: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be 1 or above, got {self.size}")
        if self.channels not in MODES:
            raise ValueError(f"channels must be 3 for color or 1 for gray, got {self.channels}")
        if self.transform == "imagenet" and self.channels != len(IMAGENET.mean):
            raise ValueError(f'channels must be 3 for the transform "imagenet", got {self.channels}')
        check_fraction("search_fraction", self.search_fraction)
        for name in ("search_images", "workers"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or above, got {getattr(self, name)}")

    def load(self) -> Splits:
        train, report = list_folder(self.folder)
        classes = tuple(sorted({image.class_name for image in train}))
        fraction = self._search_fraction(len(train))
        train_images, report_images = self._images(train, report)
        both = folder_split("train", train_images, train, classes)
        kept, held = hold_out(both.targets.numpy(), fraction, self.seed)
        remaining, search = both.part("train", kept), both.part("search", held)
        return Splits(
            train=remaining,
            search=replace(search, images=pack(search.images, self._place)),
            report=folder_split("report", report_images, report, classes, first_group=len(train)),
            classes=classes,
            preprocessing=IMAGENET if self.transform == "imagenet" else fit_once(remaining.images, self._place),
        )

    def streamed(self, name: SplitName) -> tuple[Split, tuple[str, ...]]:
        """Return one split, with the images as files that are not decoded, and the classes."""
        train, report = list_folder(self.folder)
        classes = tuple(sorted({image.class_name for image in train}))
        if name == "report":
            images = StreamedImages(self._decoder, ImageFiles.of(report))
            return folder_split("report", images, report, classes, first_group=len(train)), classes
        both = folder_split("train", StreamedImages(self._decoder, ImageFiles.of(train)), train, classes)
        kept, held = hold_out(both.targets.numpy(), self._search_fraction(len(train)), self.seed)
        return both.part(name, held if name == "search" else kept), classes

    @property
    def folder(self) -> Path:
        return Path(self.path).expanduser().resolve()

    def _search_fraction(self, train_images: int) -> float:
        if self.search_images >= train_images:
            raise DataError(
                f"search_images must be below the number of images in train/ ({train_images:,}), got "
                f"{self.search_images:,}"
            )
        return self.search_images / train_images if self.search_images else self.search_fraction

    def _images(self, train: list[ListedImage], report: list[ListedImage]) -> tuple[Images, Images]:
        decoder = self._decoder
        if self.keep == "search":
            return StreamedImages(decoder, ImageFiles.of(train)), StreamedImages(decoder, ImageFiles.of(report))
        images = pack(StreamedImages(decoder, ImageFiles.of(train + report)), self._place)
        return images[: len(train)], images[len(train) :]

    @property
    def _decoder(self) -> Decoder:
        return Decoder(self.folder, self.size, self.channels, self.transform, self.workers)

    @property
    def _place(self) -> Path:
        return (Path(self.cache).expanduser() if self.cache else cache_folder()) / "image_folder"


def folder_split(
    name: str, images: Images, listed: list[ListedImage], classes: tuple[str, ...], first_group: int = 0
) -> Split:
    number = {class_name: index for index, class_name in enumerate(classes)}
    return Split(
        name=name,
        images=images,
        targets=torch.tensor([number[image.class_name] for image in listed], dtype=torch.int64),
        ids=np.array([image.name for image in listed], dtype=np.str_),
        groups=np.arange(first_group, first_group + len(listed), dtype=np.int64),
    )
