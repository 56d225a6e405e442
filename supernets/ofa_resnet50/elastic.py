"""The elastic ResNet-50: the network of ofa, with the architecture set at every call."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from regnas.space import Architecture, SearchSpace
from supernets.channels import expand
from supernets.extraction import lay_out, named, norm_tensors, with_tensors
from supernets.images import resize
from supernets.ofa_resnet50.network import resnet

KEPT_SETTINGS = 1024

Settings = list[list[tuple[int, float]]]  # width and expansion of every block that the supernet has, stage by stage


class ElasticResNet50(nn.Module):
    """Run ``supernet(images, architecture)``; ``network`` is that of ofa, so checkpoints have its keys."""

    def __init__(self, space: SearchSpace, expansions: tuple[float, ...], network: Any) -> None:
        super().__init__()
        self.network = network
        self._groups: list[list[int]] = network.grouped_block_index
        self._settings = lru_cache(KEPT_SETTINGS)(partial(_checked_settings, space, expansions))

    @property
    def residual_norms(self) -> list[nn.BatchNorm2d]:
        return [block.conv3.bn.bn for block in self.network.blocks]

    def forward(self, images: Tensor, architecture: Architecture) -> Tensor:
        self._activate(architecture)
        logits: Tensor = self.network(resize(images, architecture.resolution))
        return logits

    @torch.no_grad()
    def extract(self, architecture: Architecture) -> nn.Module:
        """Return the sub-network on its own, with copies of its weights."""
        self._settings(architecture)
        classes = self.network.classifier.out_features
        return with_tensors(resnet(architecture, classes, lay_out), named(self.tensors(architecture)), self.training)

    def tensors(self, architecture: Architecture) -> dict[str, Tensor]:
        """Return the weights of a sub-network under the names of the plain one, as views."""
        (stem,) = architecture.stages[0]
        found = _stem_tensors(self.network.input_stem, int(stem["middle"]), int(stem["width"]), bool(stem["residual"]))
        channels = int(stem["width"])
        for stage, position, block in architecture.blocks():
            if stage > 0:
                layer = self.network.blocks[self._groups[stage - 1][position]]
                middle, width = int(block["middle"]), int(block["width"])
                found |= _block_tensors(f"stages.{stage}.{position}", layer, channels, middle, width, position == 0)
                channels = width
        linear = self.network.classifier.linear
        weight = linear.get_active_weight(linear.max_out_features, channels)
        return found | {"classifier.weight": weight, "classifier.bias": linear.linear.bias}

    def _activate(self, architecture: Architecture) -> None:
        settings, network = self._settings(architecture), self.network
        (stem,) = architecture.stages[0]
        first, residual, last = network.input_stem
        first.active_out_channel = residual.conv.active_out_channel = int(stem["middle"])
        last.active_out_channel = int(stem["width"])
        network.input_stem_skipping = not stem["residual"]
        for stage, (group, choices) in enumerate(zip(self._groups, settings, strict=True)):
            network.runtime_depth[stage] = len(group) - len(architecture.stages[stage + 1])  # blocks left out
            for index, (width, expansion) in zip(group, choices, strict=True):
                network.blocks[index].active_out_channel = width
                network.blocks[index].active_expand_ratio = expansion


def _checked_settings(space: SearchSpace, expansions: tuple[float, ...], architecture: Architecture) -> Settings:
    """Check an architecture and return its settings for ofa, which runs any settings without checks."""
    space.check(architecture)
    settings: Settings = []
    for blocks, stage in zip(architecture.stages[1:], space.stages[1:], strict=True):
        width = int(blocks[0]["width"])
        ratios = {expand(width, expansion): expansion for expansion in expansions}
        active = [(width, ratios[int(block["middle"])]) for block in blocks]
        settings.append(active + [(width, max(expansions))] * (stage.max_depth - len(blocks)))
    return settings


def _stem_tensors(stem: Any, middle: int, width: int, residual: bool) -> dict[str, Tensor]:
    found = _conv_norm("stages.0.0.first", stem[0], middle, 3)
    if residual:
        found |= _conv_norm("stages.0.0.residual", stem[1].conv, middle, middle)
    return found | _conv_norm("stages.0.0.last", stem[2], width, middle)


def _block_tensors(name: str, layer: Any, channels: int, middle: int, width: int, projected: bool) -> dict[str, Tensor]:
    """Return the tensors of a ``DynamicResNetBottleneckBlock`` of ofa."""
    found = _conv_norm(f"{name}.reduce", layer.conv1, middle, channels)
    found |= _conv_norm(f"{name}.spatial", layer.conv2, middle, middle)
    found |= _conv_norm(f"{name}.restore", layer.conv3, width, middle)
    return found | _conv_norm(f"{name}.shortcut", layer.downsample, width, channels) if projected else found


def _conv_norm(name: str, layer: Any, channels_out: int, channels_in: int) -> dict[str, Tensor]:
    weight = layer.conv.get_active_filter(channels_out, channels_in)
    return {f"{name}.conv.weight": weight, **norm_tensors(f"{name}.norm", layer.bn.bn, channels_out)}
