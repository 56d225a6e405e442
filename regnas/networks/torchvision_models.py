"""Classification networks of torchvision, with random or published weights."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regnas.components.registry import nearest
from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.networks.cost import evaluating

AUXILIARY_HEADS = {"googlenet": ("aux1", "aux2"), "inception_v3": ("AuxLogits",)}


@dataclass(frozen=True)
class PublishedEvaluation:
    """The evaluation of published weights: shorter side to ``shorter``, center of ``size``, (x - mean) / std."""

    categories: tuple[str, ...]
    size: int
    shorter: int
    interpolation: Literal["bilinear", "bicubic"]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    squash: bool = False  # both sides to ``shorter``, whatever the shape of the image


@dataclass(frozen=True)
class TorchvisionModel:
    """Classification network of torchvision, with or without its published weights.

    ``model`` is a name such as "resnet18". ``weights`` names torchvision's weights of that model, such as "DEFAULT" or
    "IMAGENET1K_V1"; empty for a random start. If the data and the weights differ in the number of classes, the last
    layer starts at random. Published weights expect images with ImageNet's mean and standard deviation.
    """

    model: str
    weights: str = ""

    def __post_init__(self) -> None:
        models = _models()
        known = models.list_models(module=models)
        if self.model not in known:
            hint = nearest(self.model, known) or " (torchvision.models.list_models() has the names)"
            raise ValueError(f'torchvision has no classification model "{self.model}"{hint}')
        # Weights without categories are features only; their classifier is NaN.
        published = {
            name: entry
            for name, entry in models.get_model_weights(self.model).__members__.items()
            if entry.meta["categories"] is not None
        }
        if self.weights and self.weights not in published:
            names = sorted(published)
            hint = f"{nearest(self.weights, names)} (known: {', '.join(names)})"
            raise ValueError(f'{self.model} has no weights "{self.weights}"{hint}')

    def build(self, input_shape: tuple[int, int, int], classes: int) -> nn.Module:
        """Build the network with fresh or with published weights."""
        channels, height, width = input_shape
        if channels != 3:
            raise ValueError(f"{self.model} needs images of 3 channels, got {channels}")
        published = _models().get_model_weights(self.model)[self.weights] if self.weights else None
        arguments = self._arguments((height, width), published)
        try:
            network: nn.Module = _models().get_model(self.model, num_classes=classes, **arguments)
            with evaluating(network):  # before a download: some models do not accept every size
                network(torch.zeros(1, *input_shape))
        except (AssertionError, RuntimeError, ValueError) as error:
            raise ValueError(f"{self.model} cannot use images of {height} x {width} ({_one_line(error)})") from error
        if published is not None:
            file = checkpoint_folder() / published.url.rsplit("/", 1)[1]
            _fill(network, self.model, classes, _state_dict(published, file), file)
        return network

    def evaluation(self) -> PublishedEvaluation:
        """Return the evaluation that torchvision records for the weights, or for its default weights."""
        published = _models().get_model_weights(self.model)[self.weights or "DEFAULT"]
        transforms = published.transforms()
        (size,), (shorter,) = transforms.crop_size, transforms.resize_size
        return PublishedEvaluation(
            categories=tuple(published.meta["categories"]),
            size=size,
            shorter=shorter,
            interpolation=transforms.interpolation.value,
            mean=tuple(transforms.mean),
            std=tuple(transforms.std),
        )

    def _arguments(self, size: tuple[int, int], published: Any) -> dict[str, Any]:
        """Return the arguments of the model beside the classes."""
        if self.model in AUXILIARY_HEADS:
            # As torchvision does: these weights need another normalization, which the model applies itself.
            return {"aux_logits": False, "init_weights": True, "transform_input": published is not None}
        if self.model.startswith("vit_"):
            if size[0] != size[1]:
                raise ValueError(f"{self.model} needs square images, got {size[0]} x {size[1]}")
            if published is not None and size != tuple(published.meta["min_size"]):
                needed = " x ".join(map(str, published.meta["min_size"]))
                raise ValueError(
                    f'the weights "{self.weights}" of {self.model} need images of {needed}, got '
                    f"{size[0]} x {size[1]} (one position embedding per patch)"
                )
            return {"image_size": size[0]}
        return {"input_size": size} if self.model.startswith("maxvit_") else {}


def imagenet_categories() -> tuple[str, ...]:
    """Return the names of the 1,000 classes of ImageNet in their order."""
    return tuple(_models().ResNet18_Weights.DEFAULT.meta["categories"])


def checkpoint_folder() -> Path:
    """Return the folder where torch keeps downloaded weights."""
    return Path(torch.hub.get_dir()) / "checkpoints"


def _models() -> ModuleType:
    from torchvision import models  # here because it takes seconds to import

    return models  # type: ignore[no-any-return]


def _state_dict(published: Any, file: Path) -> dict[str, Tensor]:
    """Return the state dict of the file; download it if it is missing."""
    try:
        # torch prints what it downloads; standard output is for results.
        with contextlib.redirect_stdout(io.StringIO()):
            # The default of torch.hub would run any code in a pickle.
            state = published.get_state_dict(check_hash=True, progress=False, map_location="cpu", weights_only=True)
    except Exception as error:  # parsing a damaged file raises almost anything
        # A download appears under its name only when it is complete.
        if isinstance(error, PermissionError) or not file.exists():
            raise EnvironmentProblem(
                f"cannot get the weights {file.name} ({_one_line(error)}). "
                f"Download {published.url} and put it into {file.parent}."
            ) from error
        raise ArtifactError(
            f"{file} is damaged or holds more than weights ({_one_line(error)}). Remove it, and it is downloaded again."
        ) from error
    if not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()
    ):
        raise ArtifactError(f"{file} is not a state dict. Remove it, and it is downloaded again.")
    return state


def _fill(network: nn.Module, model: str, classes: int, state: dict[str, Tensor], file: Path) -> None:
    """Load the state dict; the last layer keeps its fresh values if only the number of classes differs.

    ``state`` is changed in place: a copy would lose the version metadata that modules need for older state dicts.
    """
    for name in list(state):
        if name.split(".")[0] in AUXILIARY_HEADS.get(model, ()):
            del state[name]
        elif model.startswith("densenet"):
            # The published files predate the rule that module names have no dot; torchvision renames in the same way.
            renamed = re.sub(r"(denselayer\d+\.(?:norm|conv))\.([12])\.", r"\1\2.", name)
            state[renamed] = state.pop(name)
    last = last_layer(network, classes)
    for name, fresh in network.state_dict().items():
        if name.rpartition(".")[0] == last and name in state:
            found = state[name]
            if found.ndim == fresh.ndim and found.shape != fresh.shape and found.shape[1:] == fresh.shape[1:]:
                state[name] = fresh
    try:
        network.load_state_dict(state)
    except Exception as error:  # modules check older state dicts in their own ways
        raise ArtifactError(f"{file} does not belong to {model} ({_one_line(error)}). Remove it.") from error


def last_layer(network: nn.Module, classes: int) -> str:
    """Return the name of the layer that computes the logits; in squeezenet it is a convolution."""
    names: list[str] = [
        name
        for name, module in network.named_modules()
        if (isinstance(module, nn.Linear) and module.out_features == classes)
        or (isinstance(module, nn.Conv2d) and module.out_channels == classes)
    ]
    return names[-1]


def _one_line(error: Exception) -> str:
    return textwrap.shorten(str(error), 200, placeholder=" ...") or type(error).__name__
