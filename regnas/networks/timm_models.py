"""Classification networks of timm, with random or published weights."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import nn

from regnas.components.registry import nearest
from regnas.errors import EnvironmentProblem, explain_missing_packages
from regnas.networks.cost import evaluating
from regnas.networks.torchvision_models import PublishedEvaluation, imagenet_categories

DEFAULT = "DEFAULT"
IMAGENET_CLASSES = 1000


@dataclass(frozen=True)
class TimmModel:
    """Classification network of timm, with or without its published weights.

    ``model`` is a name such as "resnet18", or with the tag of its weights such as "resnet18.a1_in1k". ``weights`` is
    "DEFAULT" for the published weights of that name; empty for a random start. If the data and the weights differ in
    the number of classes, the classifier starts at random.
    """

    model: str
    weights: str = ""

    def __post_init__(self) -> None:
        if self.weights not in ("", DEFAULT):
            raise ValueError(
                f'weights must be empty or "{DEFAULT}", got "{self.weights}". Put the tag of the weights into model: '
                f'"{self.model.partition(".")[0]}.{self.weights}".'
            )
        timm = _timm()
        architecture, _, tag = self.model.partition(".")
        known = timm.list_models()
        if architecture not in known:
            hint = nearest(architecture, known) or " (timm.list_models() has the names)"
            raise ValueError(f'timm has no model "{architecture}"{hint}')
        tags = [name.partition(".")[2] for name in timm.list_pretrained(f"{architecture}.*")]
        if tag and tag not in tags:
            shown = f"{nearest(tag, tags)} (known: {', '.join(tags) or 'none'})"
            raise ValueError(f'{architecture} has no weights "{tag}"{shown}')
        if self.weights and not tags:
            raise ValueError(f"timm has no weights of {architecture}. Leave weights empty.")

    def build(self, input_shape: tuple[int, int, int], classes: int) -> nn.Module:
        """Build the network with fresh or with published weights."""
        channels, height, width = input_shape
        if self.weights and channels != 3:
            raise ValueError(f"the weights of {self.model} need images of 3 channels, got {channels}")
        arguments: dict[str, Any] = {"num_classes": classes, "in_chans": channels}
        if self._published.fixed_input_size:
            arguments["img_size"] = (height, width)
        try:
            network: nn.Module = _timm().create_model(self.model, **arguments)
            with evaluating(network):  # before a download: some models do not accept every size
                logits = network(torch.zeros(1, *input_shape))
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"{self.model} cannot use images of {height} x {width} ({_one_line(error)})") from error
        if logits.shape != (1, classes):
            raise ValueError(f"{self.model} must be a classifier, got outputs of the shape {list(logits.shape)}")
        return self._with_weights(arguments) if self.weights else network

    def evaluation(self) -> PublishedEvaluation:
        """Return the evaluation that timm records for the weights."""
        published = self._published
        _, height, width = published.input_size
        if height != width or published.crop_mode not in ("center", "squash"):
            raise ValueError(
                f"{self.model} must read square images and crop their center, got {height} x {width} and "
                f'"{published.crop_mode}"'
            )
        if published.interpolation not in ("bilinear", "bicubic"):
            raise ValueError(f'{self.model} must resize by bilinear or bicubic, got "{published.interpolation}"')
        if not published.num_classes:
            raise ValueError(f"the weights of {self.model} must have a classifier, got none. Choose other weights.")
        is_imagenet = published.num_classes == IMAGENET_CLASSES
        return PublishedEvaluation(
            categories=imagenet_categories() if is_imagenet else tuple(map(str, range(published.num_classes))),
            size=height,
            shorter=math.floor(height / published.crop_pct),
            interpolation=published.interpolation,
            mean=tuple(published.mean),
            std=tuple(published.std),
            squash=published.crop_mode == "squash",
        )

    @property
    def _published(self) -> Any:
        """The facts about the weights of the name, or about the default weights of the architecture."""
        return _timm().get_pretrained_cfg(self.model) or _timm().models.PretrainedCfg()

    def _with_weights(self, arguments: dict[str, Any]) -> nn.Module:
        try:
            network: nn.Module = _timm().create_model(self.model, pretrained=True, **arguments)
        except Exception as error:  # the hub, its cache and the file raise almost anything
            raise EnvironmentProblem(
                f"cannot get the weights of {self.model} ({_one_line(error)}). Connect to huggingface.co, or give a "
                "file with the key checkpoint."
            ) from error
        return network


def _timm() -> ModuleType:
    with explain_missing_packages("the network timm"):
        import timm  # here because it takes seconds to import

    return timm  # type: ignore[no-any-return]


def _one_line(error: Exception) -> str:
    return textwrap.shorten(str(error), 200, placeholder=" ...") or type(error).__name__
