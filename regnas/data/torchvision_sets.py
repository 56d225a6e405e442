"""Data sets that torchvision downloads and reads."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import URLError

import torch

from regnas.components.paths import path_key
from regnas.data.holding_out import check_fraction
from regnas.data.splits import Split, Splits, numbered_split
from regnas.errors import DataError, EnvironmentProblem
from regnas.runtime.files import cache_folder


@dataclass(frozen=True)
class _TorchvisionSet:
    """Divides the official training part into train and search; the official test part is the report split."""

    root: str = path_key("")  # the default is regnas in $XDG_CACHE_HOME or ~/.cache
    search_fraction: float = 0.1
    seed: int = 0

    official_name: ClassVar[str]
    folder: ClassVar[str]  # below the root, where torchvision keeps the downloaded files
    files: ClassVar[str]

    def __post_init__(self) -> None:
        check_fraction("search_fraction", self.search_fraction)

    def load(self) -> Splits:
        train, classes = self._part("train", train=True, first_group=0)
        report, _ = self._part("report", train=False, first_group=len(train))
        return Splits.holding_out(train, report, classes, self.search_fraction, self.seed)

    @property
    def place(self) -> Path:
        return self._root / self.folder

    @property
    def _root(self) -> Path:
        return Path(self.root).expanduser() if self.root else cache_folder()

    def _part(self, name: str, *, train: bool, first_group: int) -> tuple[Split, tuple[str, ...]]:
        official = self._official(train)
        images, targets = torch.as_tensor(official.data), torch.as_tensor(official.targets)
        split = numbered_split(name, images, targets, "train" if train else "test", first_group)
        return split, tuple(official.classes)

    def _official(self, train: bool) -> Any:
        from torchvision import datasets  # here because it takes seconds to import

        official = getattr(datasets, self.official_name)
        root = self._root
        try:
            # Its bar on standard error stays, because a download takes minutes; its standard output is dropped.
            with contextlib.redirect_stdout(io.StringIO()):
                # First only the download, then the constructor, which reads: this separates a network that fails
                # from a damaged file.
                _download(official, root, train)
        except (URLError, RuntimeError, OSError, EOFError) as error:
            reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), repr(error))
            raise EnvironmentProblem(
                f"cannot download {self.official_name} ({reason}). Put {self.files} into {self.place}, "
                'or use local data with the data set "image_folder" or "arrays".'
            ) from error
        try:
            return official(root, train=train, download=False)
        except Exception as error:  # torchvision parses without checks: a damaged file raises almost anything
            raise DataError(
                f"the files of {self.official_name} in {self.place} are damaged ({type(error).__name__}: {error}). "
                "Remove them, and they are downloaded again."
            ) from error


@dataclass(frozen=True)
class Cifar10(_TorchvisionSet):
    """CIFAR-10: 60,000 color images 32 x 32 of 10 classes (downloads 170 MB)."""

    official_name: ClassVar[str] = "CIFAR10"
    folder: ClassVar[str] = ""
    files: ClassVar[str] = "cifar-10-python.tar.gz"


@dataclass(frozen=True)
class Cifar100(_TorchvisionSet):
    """CIFAR-100: 60,000 color images 32 x 32 of 100 classes (downloads 169 MB)."""

    official_name: ClassVar[str] = "CIFAR100"
    folder: ClassVar[str] = ""
    files: ClassVar[str] = "cifar-100-python.tar.gz"


@dataclass(frozen=True)
class FashionMnist(_TorchvisionSet):
    """Fashion-MNIST: 70,000 gray images 28 x 28 of 10 classes of clothing (downloads 31 MB)."""

    official_name: ClassVar[str] = "FashionMNIST"
    folder: ClassVar[str] = "FashionMNIST/raw"
    files: ClassVar[str] = "the four files train-images-idx3-ubyte.gz, ..., t10k-labels-idx1-ubyte.gz"


def _download(official: Any, root: Path, train: bool) -> None:
    """Call the method ``download`` without the constructor, which also reads the files."""
    bare = official.__new__(official)
    bare.root, bare.train = root, train
    bare.download()
