"""Load classifiers: members of a family, models of an update, exported ONNX files, networks of torchvision and timm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from regnas.data import Preprocessing
from regnas.data.image_transforms import Center
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.family import Family, load_family
from regnas.family.images import transform_of
from regnas.family.manifest import MANIFEST
from regnas.family.manifest.folders import PARTS
from regnas.family.onnx_models import read_onnx
from regnas.networks import TimmModel, TorchvisionModel, last_layer, read_weights
from regnas.prediction.data import Reading
from regnas.runtime.tensors import load_into
from regnas.supernet import InputShape

KINDS = (
    "FOLDER:MEMBER of a family, FOLDER:METHOD of an update, their .safetensors files, an .onnx file of regnas, or a "
    "model of torchvision, or timm/NAME"
)
TIMM = "timm/"


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


def load_classifier(source: str, weights: str | None = None, checkpoint: Path | None = None) -> Classifier:
    """Load the model that ``source`` names.

    Args:
        source: the model.
        weights: the published weights of a torchvision model, by default DEFAULT.
        checkpoint: a file with other weights of a model of torchvision or timm. It then reads images as with its
            published weights.
    """
    path = Path(source).expanduser()
    is_file = path.suffix in (".onnx", ".safetensors")
    if weights is not None and (is_file or ":" in source):
        raise ConfigurationError(f"weights must belong to a model of torchvision, got {weights} for {source}")
    if checkpoint is not None and (is_file or ":" in source):
        raise ConfigurationError(
            f"checkpoint must belong to a model of torchvision or timm, got {checkpoint} for {source}"
        )
    if path.suffix == ".onnx":
        return _onnx(path)
    if path.suffix == ".safetensors":
        return _member_file(path)
    folder, colon, member = source.rpartition(":")
    if colon:
        family = load_family(folder)
        _check_exported(family, member)
        return _member(family, member)
    if source.startswith(TIMM) and not path.is_dir():
        if weights is not None:
            raise ConfigurationError(
                f"the weights of a model of timm are a part of its name, got {weights}. Write {source}.{weights}."
            )
        return _published(source, lambda start: TimmModel(source.removeprefix(TIMM), start), "DEFAULT", checkpoint)
    if path.is_dir() and (_has_manifest(path) or not source.isidentifier()):  # as all names of torchvision are
        names = load_family(path)
        raise ConfigurationError(
            f"a model of {source} must be named, one of {', '.join(f'{source}:{name}' for name in names)}"
        )
    return _published(source, lambda start: TorchvisionModel(source, start), weights or "DEFAULT", checkpoint)


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


def _published(
    name: str, model: Callable[[str], TimmModel | TorchvisionModel], weights: str, checkpoint: Path | None
) -> Classifier:
    """Load a network with published weights, or with those of a checkpoint and the evaluation of the published ones."""
    try:
        evaluation = model(weights).evaluation()
        shape = (3, evaluation.size, evaluation.size)
        if checkpoint is None:
            classes = evaluation.categories
            network = model(weights).build(shape, len(classes))
        else:
            network, classes = _from_checkpoint(model(""), shape, evaluation.categories, checkpoint)
    except ValueError as error:
        raise ConfigurationError(f"{error}. A model must be {KINDS}.") from None
    reading = Reading(shape, Center(evaluation.shorter, evaluation.interpolation, evaluation.squash))
    preprocessing = Preprocessing(evaluation.mean, evaluation.std)
    shown = name if checkpoint is None else checkpoint.stem
    return Classifier(shown, network.eval(), classes, reading, preprocessing, by_number=True)


def _from_checkpoint(
    model: TimmModel | TorchvisionModel, shape: InputShape, published: tuple[str, ...], path: Path
) -> tuple[nn.Module, tuple[str, ...]]:
    """Return a network with the weights of a file, and its classes: numbers, unless it has as many as published ones.

    The classifier of the file tells the number of classes.
    """
    weights = read_weights(path.expanduser())
    with torch.random.fork_rng(devices=[]):
        network = model.build(shape, len(published))
        name = f"{last_layer(network, len(published))}.weight"
        if name not in weights:
            raise ArtifactError(f"{path} belongs to another network: {name} is missing")
        count = len(weights[name]) if weights[name].ndim else 0
        if count < 1:
            raise ArtifactError(f"{path} must have classes, got {name} of the shape {list(weights[name].shape)}")
        if count != len(published):
            network = model.build(shape, count)
    load_into(network, weights, path)
    return network, published if count == len(published) else tuple(map(str, range(count)))
