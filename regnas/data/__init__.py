"""Data sets and their train / search / report splits."""

from __future__ import annotations

from typing import Protocol

from regnas.components.registry import Registry
from regnas.data.arrays import Arrays
from regnas.data.digits import Digits
from regnas.data.fractions import WHOLE, DataFraction, in_random_class_order
from regnas.data.image_folder import ImageFolder
from regnas.data.loading import Loader
from regnas.data.splits import Preprocessing, Split, SplitName, Splits, hold_out
from regnas.data.streaming import Images, StreamedImages, batches_of
from regnas.data.torchvision_sets import Cifar10, Cifar100, FashionMnist


class DataSet(Protocol):
    """A frozen dataclass: its fields are its keys in the configuration, and `regnas list` shows its docstring."""

    def load(self) -> Splits: ...


DATASETS: Registry[type[DataSet]] = Registry(
    "data set",
    "regnas.data",
    {
        "digits": Digits,
        "cifar10": Cifar10,
        "cifar100": Cifar100,
        "fashion_mnist": FashionMnist,
        "image_folder": ImageFolder,
        "arrays": Arrays,
    },
)

__all__ = [
    "DATASETS",
    "WHOLE",
    "Arrays",
    "Cifar10",
    "Cifar100",
    "DataFraction",
    "DataSet",
    "Digits",
    "FashionMnist",
    "ImageFolder",
    "Images",
    "Loader",
    "Preprocessing",
    "Split",
    "SplitName",
    "Splits",
    "StreamedImages",
    "batches_of",
    "hold_out",
    "in_random_class_order",
]
