"""Whether a network takes training images of other sizes than those of the data."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from regnas.augmentations import Shape
from regnas.errors import ConfigurationError, first_line
from regnas.networks.cost import evaluating


def check_sizes(network: nn.Module, shapes: Sequence[Shape], name: str) -> None:
    """Run a network on one image of each shape; refuse a shape that it cannot take.

    Args:
        network: is left as it was.
        shapes: of the training images.
        name: of the network, for errors.
    """
    device = next(network.parameters()).device
    for shape in shapes:
        try:
            with evaluating(network):
                network(torch.zeros(1, *shape, device=device))
        except (RuntimeError, ValueError, AssertionError, IndexError) as error:
            raise ConfigurationError(
                f"the training images of {name} must have a size that its network takes, got {shape[1]} x {shape[2]} "
                f"pixels: {first_line(error)}. Change the sizes in augmentations."
            ) from None
