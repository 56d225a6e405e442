"""Load labeled samples from a folder of class folders, an npz, or the data of a configuration or a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from regnas.components.builder import Builder
from regnas.components.paths import Anchors
from regnas.data import DATASETS, DataSet, ImageFolder, Split, SplitName, Splits, StreamedImages, batches_of
from regnas.data.arrays import report_part
from regnas.data.image_decoding import Decoder
from regnas.data.image_folder import folder_split
from regnas.data.image_transforms import Center, Transform, transformed
from regnas.errors import ArtifactError, ConfigurationError, DataError
from regnas.pictures.decoding import MODES, open_listed
from regnas.pictures.files import ImageFiles
from regnas.pictures.labels import check_labels
from regnas.pictures.listing import list_report_part
from regnas.report.kit.thumbnails import picture_of
from regnas.runs.config import Machine
from regnas.runs.folder import RUN, RunFolder
from regnas.runs.tables import is_update, load_table
from regnas.supernet import InputShape


@dataclass(frozen=True)
class Reading:
    """How a model reads images: as pixels of ``shape`` [C, H, W], which ``transform`` makes from a file."""

    shape: InputShape
    transform: Transform | Center


@dataclass(frozen=True, eq=False)
class Samples:
    """Labeled samples; ``machine`` is the setting of their configuration."""

    source: str
    split: Split
    classes: tuple[str, ...]
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        check_labels(self.source, self.split.name, self.split.targets.numpy(), self.split.ids, self.classes)

    def __len__(self) -> int:
        return len(self.split)

    @property
    def ids(self) -> NDArray[np.str_]:
        return self.split.ids

    @property
    def targets(self) -> NDArray[np.int64]:
        return self.split.targets.numpy()

    def batches(self, reading: Reading, size: int) -> Iterator[Tensor]:
        """Yield all images in order as the model reads them, ``size`` at a time: [M, C, H, W] uint8.

        Files are decoded with the model's transform. Stored images of the model's own shape are used as they are.
        Others are refused, unless the model has the transform of published weights, which takes images of any size.
        """
        images, shape = self.split.images, reading.shape
        if isinstance(images, StreamedImages):
            return self._decode(images, reading).batches(size)
        found = tuple(images.shape[1:])
        if found == shape:
            return batches_of(images, size)
        if found[0] != shape[0]:
            raise DataError(f"the images of {self.source} must have {shape[0]} channels, got {found[0]}")
        if not isinstance(reading.transform, Center):
            raise DataError(
                f"the images of {self.source} must be {shape[1]} x {shape[2]}, got {found[1]} x {found[2]}. Give "
                "images of that size, or a folder of image files."
            )
        return (_resize(batch, reading) for batch in batches_of(images, size))

    def picture(self, index: int) -> Image.Image:
        """Return one sample as a picture: that of the file, or the stored pixels."""
        images = self.split.images
        if not isinstance(images, StreamedImages):
            return picture_of(images[index].numpy())
        return open_listed(images.decoder.folder, images.files.name(index))

    def _decode(self, images: StreamedImages, reading: Reading) -> StreamedImages:
        channels, height, width = reading.shape
        if height != width or channels not in MODES:
            raise DataError(
                f"image files are read as squares of 1 or 3 channels, and the model takes {channels} channels of "
                f"{height} x {width} pixels. Give the images as an npz."
            )
        decoder = replace(images.decoder, size=height, channels=channels, transform=reading.transform)
        return StreamedImages(decoder, images.files)


def samples_of(source: str, split: SplitName, reading: Reading | None) -> Samples:
    """Load the samples that ``source`` names; ``reading`` is that of the model, or None for a gallery."""
    path = Path(source).expanduser()
    if (path / RUN).is_file():
        run = RunFolder.open(path)
        return _configured(source, run.facts["configuration"], run.anchors, split, reading, run.facts.get("data"))
    if not path.is_dir() and path.suffix != ".npz":
        _, table, anchors = load_table(source)
        return _configured(source, table, anchors, split, reading, None)
    if split != "report":
        raise ConfigurationError(
            f"the {split} split must be one of a configuration or a run folder, got {source}. Only these say how the "
            "data are divided."
        )
    if path.is_dir():
        return _folder(source, path.resolve())
    return Samples(source, *report_part(path))


def _folder(source: str, folder: Path) -> Samples:
    listed, classes = list_report_part(folder)
    undecided = Decoder(folder, size=1, channels=3, transform="fit", workers=0)  # the model decides; see batches
    return Samples(
        source, folder_split("report", StreamedImages(undecided, ImageFiles.of(listed)), listed, classes), classes
    )


def _configured(
    source: str,
    table: Mapping[str, Any],
    anchors: Anchors | None,
    split: SplitName,
    reading: Reading | None,
    recorded: Mapping[str, Any] | None,
) -> Samples:
    builder = Builder({DataSet: DATASETS}, anchors=anchors)
    data_set: DataSet = builder.component(DataSet, table.get("data"), "data")
    machine = builder.record(Machine, table.get("machine", {}), "machine")
    if builder.problems:
        raise ConfigurationError(*(f"{source}: {problem}" for problem in builder.problems))
    if isinstance(data_set, ImageFolder) and not _is_own(reading, data_set):
        streamed, classes = data_set.streamed(split)
        return Samples(source, streamed, classes, machine)
    splits = data_set.load() if recorded is None else _load_as_recorded(source, table, anchors, data_set)
    chosen = splits.named(split)
    if recorded is not None and recorded["splits"][split]["digest"] != chosen.digest:
        raise ArtifactError(
            f"the {split} split of {source} must be the one that the run started with, digest "
            f"{recorded['splits'][split]['digest'][:12]}…, got {chosen.digest[:12]}…. Restore the data."
        )
    return Samples(source, chosen, splits.classes, machine)


def _load_as_recorded(source: str, table: Mapping[str, Any], anchors: Anchors | None, data_set: DataSet) -> Splits:
    """Load the splits of a run; an update may put the classes into a random order."""
    from regnas.updates.config import parse_update  # here, because it imports every method
    from regnas.updates.job import load_splits

    return load_splits(parse_update(source, dict(table), anchors).values) if is_update(table) else data_set.load()


def _is_own(reading: Reading | None, folder: ImageFolder) -> bool:
    """Whether the model reads files as the data set does, so that decoded images can be used again."""
    return reading == Reading((folder.channels, folder.size, folder.size), folder.transform)


def _resize(images: Tensor, reading: Reading) -> Tensor:
    pictures = (picture_of(image.numpy()) for image in images)
    pixels = np.stack([np.asarray(transformed(each, reading.transform, reading.shape[1])) for each in pictures])
    return torch.from_numpy(pixels).permute(0, 3, 1, 2) if pixels.ndim == 4 else torch.from_numpy(pixels)[:, None]
