"""A supernet from plain networks: a sub-network is the plain network of its architecture over leading slices.

The supernet holds the tensors of the largest plain network. The weights of a smaller one are, tensor by tensor, the
leading slices of the same shapes as its own, so that a network which contains another holds the other's weights by
construction, and running an architecture inside the supernet is the same computation as running it on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.func import functional_call

from regnas.networks import leading_slice
from regnas.space import Architecture

# A skeleton holds no storage but costs a millisecond to lay out; the ends of the sandwich recur at every step.
KEPT_SKELETONS = 64


class SlicedSupernet(nn.Module):
    """``supernet(images, architecture)``; the architecture is an argument, never hidden state."""

    def __init__(self, build: Callable[[Architecture], nn.Module], largest: Architecture) -> None:
        super().__init__()
        self.largest = build(largest)
        self._build = build
        self._skeleton = lru_cache(KEPT_SKELETONS)(self._new_skeleton)

    def forward(self, images: Tensor, architecture: Architecture) -> Tensor:
        skeleton = self._skeleton(architecture)
        skeleton.train(self.training)
        logits: Tensor = functional_call(skeleton, self._slices(skeleton), (images,))
        return logits

    def extract(self, architecture: Architecture) -> nn.Module:
        """The sub-network on its own, with copies of its weights."""
        network = self._new_skeleton(architecture)
        pieces = {name: piece.detach().clone() for name, piece in self._slices(network).items()}
        network.load_state_dict(pieces, assign=True)  # in place of weights that would be drawn only to be overwritten
        return network.train(self.training)

    def _new_skeleton(self, architecture: Architecture) -> nn.Module:
        with torch.device("meta"):
            return self._build(architecture)

    def _slices(self, skeleton: nn.Module) -> dict[str, Tensor]:
        whole = dict(self.largest.named_parameters()) | dict(self.largest.named_buffers())
        return {name: leading_slice(whole[name], like) for name, like in skeleton.state_dict(keep_vars=True).items()}
