"""Load classifiers: members of a family, models of an update, exported ONNX files, networks of torchvision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from regnas.data import Preprocessing
from regnas.data.image_transforms import Center
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.family import Family, load_family
from regnas.family.images import transform_of
from regnas.family.manifest import MANIFEST
from regnas.family.manifest.folders import PARTS
from regnas.family.onnx_models import read_onnx
from regnas.networks import TorchvisionModel
from regnas.prediction.data import Reading

KINDS = (
    "FOLDER:MEMBER of a family, FOLDER:METHOD of an update, their .safetensors files, an .onnx file of regnas, or a "
    "model of torchvision"
)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A network, how it reads images, and the meaning of its outputs.

    ``by_number`` says whether the order of its classes is so well known that data may rely on it.
    """

    name: str
    network: nn.Module
    classes: tuple[str, ...]
    reading: Reading
    preprocessing: Preprocessing
    by_number: bool = False


def load_classifier(source: str, weights: str | None = None) -> Classifier:
    """Load the model that ``source`` names; ``weights`` are those of a torchvision model, by default DEFAULT."""
    path = Path(source).expanduser()
    is_file = path.suffix in (".onnx", ".safetensors")
    if weights is not None and (is_file or ":" in source):
        raise ConfigurationError(f"weights must belong to a model of torchvision, got {weights} for {source}")
    if path.suffix == ".onnx":
        return _onnx(path)
    if path.suffix == ".safetensors":
        return _member_file(path)
    folder, colon, member = source.rpartition(":")
    if colon:
        family = load_family(folder)
        _check_exported(family, member)
        return _member(family, member)
    if path.is_dir() and (_has_manifest(path) or not source.isidentifier()):  # as all names of torchvision are
        names = load_family(path)
        raise ConfigurationError(
            f"a model of {source} must be named, one of {', '.join(f'{source}:{name}' for name in names)}"
        )
    return _torchvision(source, weights or "DEFAULT")


def _check_exported(family: Family, name: str) -> None:
    """Refuse a method of an update whose new model is more than one network; name its stored predictions."""
    known = {*family, *(member.method for member in family.members)}
    predicted = sorted((family.folder.parent / "predictions").glob(f"seed-*/{name}")) if name.isprintable() else []
    if family.manifest.is_update and name not in known and predicted:
        raise ConfigurationError(
            f"{name} must be a method whose new model is a single network, got one that needs several at inference. "
            f"Its predictions on the report split are in {predicted[0]}."
        )


def _has_manifest(folder: Path) -> bool:
    return any((folder / part / MANIFEST).is_file() for part in PARTS)


def _member_file(path: Path) -> Classifier:
    family = load_family(path.parent)
    for member in family.members:
        if member.file == path.name:
            return _member(family, member.name)
    files = ", ".join(member.file for member in family.members)
    raise ArtifactError(f"{path} must be listed in the manifest beside it, which lists {files}")


def _member(family: Family, name: str) -> Classifier:
    member = family.member(name)
    reading = Reading(family.manifest.input_shape, transform_of(family.preprocessing))
    return Classifier(member.name, family[member.name], family.classes, reading, family.preprocessing)


def _onnx(path: Path) -> Classifier:
    exported = read_onnx(path)
    reading = Reading(exported.input_shape, transform_of(exported.preprocessing))
    return Classifier(exported.model, exported.network, exported.classes, reading, exported.preprocessing)


def _torchvision(name: str, weights: str) -> Classifier:
    try:
        model = TorchvisionModel(name, weights)
        evaluation = model.evaluation()
        shape = (3, evaluation.size, evaluation.size)
        network = model.build(shape, len(evaluation.categories))
    except ValueError as error:
        raise ConfigurationError(f"{error}. A model must be {KINDS}.") from None
    reading = Reading(shape, Center(evaluation.shorter, evaluation.interpolation))
    preprocessing = Preprocessing(evaluation.mean, evaluation.std)
    return Classifier(name, network.eval(), evaluation.categories, reading, preprocessing, by_number=True)
