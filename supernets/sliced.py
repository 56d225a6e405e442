"""A supernet from plain networks: a sub-network is the plain network of its architecture over leading slices.

The supernet holds the tensors of the largest plain network. Each tensor of a smaller network is the leading slice of
its shape. Therefore a network that contains another one holds its weights by construction, and running an architecture
inside the supernet is the same computation as running it on its own.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from regnas.networks import leading_slice
from regnas.space import Architecture
from supernets.extraction import Cut, Make, build, lay_out, with_tensors


class SlicedSupernet(nn.Module):
    """Run ``supernet(images, architecture)``; the architecture is an argument, never hidden state."""

    def __init__(self, build_plain: Callable[[Architecture, Make], nn.Module], largest: Architecture) -> None:
        super().__init__()
        self.largest = build_plain(largest, build)
        self._build_plain = build_plain
        self._slices = Cut(self.largest, leading_slice)

    def forward(self, images: Tensor, architecture: Architecture) -> Tensor:
        logits: Tensor = self._sub_network(architecture, copied=False)(images)
        return logits

    def extract(self, architecture: Architecture) -> nn.Module:
        """Return the sub-network on its own, with copies of its weights."""
        return self._sub_network(architecture, copied=True)

    def _sub_network(self, architecture: Architecture, copied: bool) -> nn.Module:
        """Return the plain network over copies or views of the shared weights."""
        return with_tensors(self._build_plain(architecture, lay_out), self._slices, self.training, copied=copied)
