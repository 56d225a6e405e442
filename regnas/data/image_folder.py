"""Any folder of class folders with a training and a test part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from regnas.data.holding_out import check_fraction, hold_out
from regnas.data.image_decoding import Decoder
from regnas.data.image_transforms import Transform
from regnas.data.packing import fitted_once, packed
from regnas.data.preprocessing import IMAGENET
from regnas.data.splits import Split, SplitName, Splits
from regnas.data.streaming import Images, StreamedImages
from regnas.errors import DataError
from regnas.pictures.decoding import MODES
from regnas.pictures.files import ImageFiles, ListedImage
from regnas.pictures.listing import list_folder
from regnas.runtime.cache_folder import cache_folder


@dataclass(frozen=True)
class ImageFolder:
    """A folder of images: train/<class>/*.jpg and test/<class>/*.jpg (or val/ in place of test/).

    ``channels`` is 3 for color and 1 for gray. ``transform`` is "fit", the center square resized to ``size`` and
    normalized by the training images, or "imagenet", the evaluation of the papers: the shorter side to size / 0.875,
    the center, and the mean and standard deviation of ImageNet.

    Images are decoded once and kept in ``cache`` until a file is added, removed or changed: with ``keep`` = "all"
    every one, with "search" those of the search split, which is read thousands of times. The others are then decoded
    by ``workers`` threads (0: one for each core) whenever they are needed; that is for data larger than the memory.

    The search split is ``search_fraction`` of the training images or, when it is not 0, about ``search_images`` of
    them, a whole number of each class.
    """

    path: str
    size: int
    channels: int = 3
    search_fraction: float = 0.1
    seed: int = 0
    cache: str = ""  # by default regnas in $XDG_CACHE_HOME or ~/.cache
    transform: Transform = "fit"
    keep: Literal["all", "search"] = "all"
    search_images: int = 0
    workers: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size is {self.size}: it has to be 1 or above")
        if self.channels not in MODES:
            raise ValueError(f"channels is {self.channels}: 3 for color or 1 for gray")
        if self.transform == "imagenet" and self.channels != len(IMAGENET.mean):
            raise ValueError(f'channels is {self.channels} and transform "imagenet", which is for color: 3, or "fit"')
        check_fraction("search_fraction", self.search_fraction)
        for name in ("search_images", "workers"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: it has to be 0 or above")

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
            search=replace(search, images=packed(search.images, self._place)),
            report=folder_split("report", report_images, report, classes, first_group=len(train)),
            classes=classes,
            preprocessing=IMAGENET if self.transform == "imagenet" else fitted_once(remaining.images, self._place),
        )

    def streamed(self, name: SplitName) -> tuple[Split, tuple[str, ...]]:
        """One split as ``load`` divides them, with the images as files of which none is decoded; and the classes."""
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
                f"search_images is {self.search_images:,} and train/ has {train_images:,} images: some have to be "
                f"left for training"
            )
        return self.search_images / train_images if self.search_images else self.search_fraction

    def _images(self, train: list[ListedImage], report: list[ListedImage]) -> tuple[Images, Images]:
        decoder = self._decoder
        if self.keep == "search":
            return StreamedImages(decoder, ImageFiles.of(train)), StreamedImages(decoder, ImageFiles.of(report))
        images = packed(StreamedImages(decoder, ImageFiles.of(train + report)), self._place)
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
