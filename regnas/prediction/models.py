"""What can predict: a member of a family, an exported ONNX file, a published network of torchvision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from regnas.data import Preprocessing
from regnas.data.image_transforms import Center, Transform
from regnas.data.preprocessing import IMAGENET
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.family import Family, load_family
from regnas.family.manifest import MANIFEST
from regnas.networks import TorchvisionModel
from regnas.prediction.data import Reading
from regnas.prediction.onnx_files import read_onnx

KINDS = "FOLDER:MEMBER of a family, its .safetensors file, an .onnx file of regnas, or a model of torchvision"


@dataclass(frozen=True, eq=False)
class Classifier:
    """A network, how it wants its images, and what its outputs mean.

    ``by_number``: whether the order of its classes is so well known that data may rely on it.
    """

    name: str
    network: nn.Module
    classes: tuple[str, ...]
    reading: Reading
    preprocessing: Preprocessing
    by_number: bool = False


def load_classifier(source: str, weights: str | None = None) -> Classifier:
    """The model that ``source`` names; ``weights`` are those of a torchvision model, by default its default ones."""
    path = Path(source).expanduser()
    is_file = path.suffix in (".onnx", ".safetensors")
    if weights is not None and (is_file or ":" in source):
        raise ConfigurationError(f"--weights {weights} is for models of torchvision: {source} has its own")
    if path.suffix == ".onnx":
        return _onnx(path)
    if path.suffix == ".safetensors":
        return _member_file(path)
    folder, colon, member = source.rpartition(":")
    if colon:
        return _member(_family(Path(folder).expanduser()), member)
    if path.is_dir() and (_manifest_folder(path) or not source.isidentifier()):  # as all names of torchvision are
        members = ", ".join(f"{source}:{name}" for name in _family(path))
        raise ConfigurationError(f"{source} is a family: name one of its members ({members})")
    return _torchvision(source, weights or "DEFAULT")


def _family(folder: Path) -> Family:
    """From its own folder or from that of the run that it came from."""
    found = _manifest_folder(folder)
    if found is None:
        raise ArtifactError(
            f"{folder} holds no family: it has no {MANIFEST}, nor family/{MANIFEST} (`regnas export RUN` writes it)"
        )
    return load_family(found)


def _manifest_folder(folder: Path) -> Path | None:
    return next((place for place in (folder / "family", folder) if (place / MANIFEST).is_file()), None)


def _member_file(path: Path) -> Classifier:
    family = _family(path.parent)
    for member in family.members:
        if member.file == path.name:
            return _member(family, member.name)
    files = ", ".join(member.file for member in family.members)
    raise ArtifactError(f"{path} is not of the family beside it, whose members are {files}")


def _member(family: Family, name: str) -> Classifier:
    reading = Reading(family.manifest.input_shape, _transform(family.preprocess))
    return Classifier(name, family[name], family.classes, reading, family.preprocess)


def _onnx(path: Path) -> Classifier:
    exported = read_onnx(path)
    reading = Reading(exported.input_shape, _transform(exported.preprocessing))
    return Classifier(exported.model, exported.network, exported.classes, reading, exported.preprocessing)


def _torchvision(name: str, weights: str) -> Classifier:
    try:
        model = TorchvisionModel(name, weights)
        evaluation = model.evaluation()
        shape = (3, evaluation.size, evaluation.size)
        network = model.build(shape, len(evaluation.categories))
    except ValueError as error:
        raise ConfigurationError(f"{error}; a model is {KINDS}") from None
    reading = Reading(shape, Center(evaluation.shorter, evaluation.interpolation))
    preprocessing = Preprocessing(evaluation.mean, evaluation.std)
    return Classifier(name, network.eval(), evaluation.categories, reading, preprocessing, by_number=True)


def _transform(preprocessing: Preprocessing) -> Transform:
    """Image folders go with the mean and deviation of ImageNet where, and only where, their transform is its own."""
    return "imagenet" if preprocessing == IMAGENET else "fit"
