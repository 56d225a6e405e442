"""The supernet of AttentiveNAS: a sub-network is a plain network over leading channels and kernel centers."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor, nn

from regnas.space import Architecture, Block, SearchSpace
from supernets.attentive_nas.network import attentive_network
from supernets.extraction import Cut, lay_out, with_tensors

KEPT_CHECKS = 1024


class AttentiveSupernet(nn.Module):
    """Run ``supernet(images, architecture)``; ``largest`` has the weights of all blocks, channels and shortcuts."""

    def __init__(self, space: SearchSpace, channels: int, classes: int) -> None:
        super().__init__()
        self.largest = attentive_network(_everything(space), channels, classes)
        self._slices = Cut(self.largest, central_slice)
        self._inputs = channels
        self._classes = classes
        self._check = lru_cache(KEPT_CHECKS)(space.check)

    def forward(self, images: Tensor, architecture: Architecture) -> Tensor:
        logits: Tensor = self._sub_network(architecture, copied=False)(images)
        return logits

    @torch.no_grad()
    def extract(self, architecture: Architecture) -> nn.Module:
        """Return the sub-network on its own, with copies of its weights."""
        return self._sub_network(architecture, copied=True)

    def _sub_network(self, architecture: Architecture, copied: bool) -> nn.Module:
        """Return the plain network over copies or views of the shared weights."""
        self._check(architecture)
        template = attentive_network(architecture, self._inputs, self._classes, lay_out)
        return with_tensors(template, self._slices, self.training, copied=copied)


def central_slice(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the leading channels and the kernel center in the shape of ``like``, as a view."""
    leading = tensor[tuple(slice(size) for size in like.shape[:2])]
    if like.ndim < 4 or tensor.shape[2:] == like.shape[2:]:
        return leading
    kernel = like.shape[-1]
    start = (tensor.shape[-1] - kernel) // 2
    return leading[:, :, start : start + kernel, start : start + kernel]


def _everything(space: SearchSpace) -> Architecture:
    """Return the highest value of every gene everywhere: outside the space, but it contains every architecture."""
    stages = tuple(
        tuple(
            Block.of(**{name: max(block[name] for block in options) for name, _ in options[0].genes})
            for options in stage.options
        )
        for stage in space.stages
    )
    return Architecture(space.name, stages)
