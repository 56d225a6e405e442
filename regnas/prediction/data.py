"""Where labeled samples come from: a folder of class folders, an npz, or the data of a configuration or a run."""

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
from regnas.data import DATASETS, DataSet, ImageFolder, Split, SplitName, StreamedImages, batches_of
from regnas.data.arrays import report_part
from regnas.data.image_decoding import MODES, Decoder, read_picture
from regnas.data.image_files import ImageFiles
from regnas.data.image_folder import folder_split
from regnas.data.image_listing import class_folders, list_part
from regnas.data.image_transforms import Center, Transform, transformed
from regnas.data.splits import check_range
from regnas.errors import ArtifactError, ConfigurationError, DataError
from regnas.report.kit.thumbnails import picture_of
from regnas.runs.config import Machine
from regnas.runs.folder import RUN, RunFolder
from regnas.runs.tables import load_table
from regnas.supernet import InputShape

REPORT_PARTS = ("test", "val")


@dataclass(frozen=True)
class Reading:
    """How a model wants its pictures: pixels of ``shape`` [C, H, W], which ``transform`` makes of a file."""

    shape: InputShape
    transform: Transform | Center


@dataclass(frozen=True, eq=False)
class Samples:
    """Labeled samples; ``machine`` is how their configuration wants them to be run."""

    source: str
    split: Split
    classes: tuple[str, ...]
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        repeated = sorted({name for name in self.classes if self.classes.count(name) > 1})
        if repeated:
            raise DataError(f'{self.source}: {len(repeated)} class names are used twice, first "{repeated[0]}"')
        check_range(self.split, self.classes)
        found = np.unique(self.split.targets.numpy())
        if len(found) < 2:
            raise DataError(
                f'all {len(self.split):,} samples of {self.source} are "{self.classes[int(found[0])]}": two classes '
                "are needed"
            )

    def __len__(self) -> int:
        return len(self.split)

    @property
    def ids(self) -> NDArray[np.str_]:
        return self.split.ids

    @property
    def targets(self) -> NDArray[np.int64]:
        return self.split.targets.numpy()

    def batches(self, reading: Reading, size: int) -> Iterator[Tensor]:
        """All images in order as the model wants them, ``size`` at a time: [M, C, H, W] uint8.

        Files are decoded as the model says. Stored images of the model's own shape are taken as they are; others are
        refused, unless the model has a transform of published weights, which takes images of any size.
        """
        images, shape = self.split.images, reading.shape
        if isinstance(images, StreamedImages):
            return self._decode(images, reading).batches(size)
        found = tuple(images.shape[1:])
        if found == shape:
            return batches_of(images, size)
        if found[0] != shape[0]:
            raise DataError(f"the images of {self.source} have {found[0]} channels, the model takes {shape[0]}")
        if not isinstance(reading.transform, Center):
            raise DataError(
                f"the images of {self.source} are {found[1]} x {found[2]}, the model takes {shape[1]} x {shape[2]}: "
                "give images of that size, or a folder of image files"
            )
        return (_resize(batch, reading) for batch in batches_of(images, size))

    def picture(self, index: int) -> Image.Image:
        """One sample for people: the file's own picture, or the stored pixels."""
        images = self.split.images
        if not isinstance(images, StreamedImages):
            return picture_of(images[index].numpy())
        name = images.files.name(index)
        path = images.decoder.folder / name
        try:
            if not path.is_file():  # opening a named pipe would wait for ever
                raise ValueError("not a file")
            return read_picture(path, "RGB")
        except Exception as error:  # damaged files make decoders raise almost anything
            reason = str(error) or type(error).__name__
            raise DataError(
                f"an image in {images.decoder.folder} cannot be read, repair or remove it: {name}: {reason}"
            ) from None

    def _decode(self, images: StreamedImages, reading: Reading) -> StreamedImages:
        channels, height, width = reading.shape
        if height != width or channels not in MODES:
            raise DataError(
                f"the model takes images of {channels} channels and {height} x {width} pixels, and image files are "
                "read as squares of 1 or 3 channels: give the images as an npz"
            )
        decoder = replace(images.decoder, size=height, channels=channels, transform=reading.transform)
        return StreamedImages(decoder, images.files)


def samples_of(source: str, split: SplitName, reading: Reading | None) -> Samples:
    """The samples that ``source`` names. ``reading`` is the model's, None where nobody but a person looks at them."""
    path = Path(source).expanduser()
    if (path / RUN).is_file():
        run = RunFolder.open(path)
        return _configured(source, run.facts["configuration"], split, reading, run.facts.get("data"))
    if not path.is_dir() and path.suffix != ".npz":
        return _configured(source, load_table(source)[1], split, reading, None)
    if split != "report":
        raise ConfigurationError(
            f"{source} has no {split} split: --split {split} goes with a configuration or a run folder, which say how "
            "the data are divided"
        )
    if path.is_dir():
        return _folder(source, path.resolve())
    return Samples(source, *report_part(path))


def _folder(source: str, folder: Path) -> Samples:
    """Class folders: those of test/ or val/ where there is one, else the folder's own."""
    part = next((name for name in REPORT_PARTS if (folder / name).is_dir()), "")
    if not part and (folder / "train").is_dir():
        raise DataError(f"{folder} has train/ and no test/ (or val/): give a folder of class folders")
    listed = list_part(folder, part)
    known = {image.class_name for image in listed}
    if part and (folder / "train").is_dir():
        known |= set(class_folders(folder / "train"))  # a class may have no image to report on
    classes = tuple(sorted(known))
    undecided = Decoder(folder, size=1, channels=3, transform="fit", workers=0)  # the model says how; see batches
    return Samples(
        source, folder_split("report", StreamedImages(undecided, ImageFiles.of(listed)), listed, classes), classes
    )


def _configured(
    source: str,
    table: Mapping[str, Any],
    split: SplitName,
    reading: Reading | None,
    recorded: Mapping[str, Any] | None,
) -> Samples:
    builder = Builder({DataSet: DATASETS})
    data_set: DataSet = builder.component(DataSet, table.get("data"), "data")
    machine = builder.record(Machine, table.get("machine", {}), "machine")
    if builder.problems:
        raise ConfigurationError(*(f"{source}: {problem}" for problem in builder.problems))
    if isinstance(data_set, ImageFolder) and not _is_own(reading, data_set):
        streamed, classes = data_set.streamed(split)
        return Samples(source, streamed, classes, machine)
    splits = data_set.load()
    chosen = splits.named(split)
    if recorded is not None and recorded["splits"][split]["digest"] != chosen.digest:
        raise ArtifactError(
            f"the {split} split is not the one that {source} was begun with (digest {chosen.digest[:12]}…, recorded "
            f"{recorded['splits'][split]['digest'][:12]}…)"
        )
    return Samples(source, chosen, splits.classes, machine)


def _is_own(reading: Reading | None, folder: ImageFolder) -> bool:
    """Whether the model reads files as the data set does, so that what is decoded already can be used."""
    return reading == Reading((folder.channels, folder.size, folder.size), folder.transform)


def _resize(images: Tensor, reading: Reading) -> Tensor:
    pictures = (picture_of(image.numpy()) for image in images)
    pixels = np.stack([np.asarray(transformed(each, reading.transform, reading.shape[1])) for each in pictures])
    return torch.from_numpy(pixels).permute(0, 3, 1, 2) if pixels.ndim == 4 else torch.from_numpy(pixels)[:, None]
