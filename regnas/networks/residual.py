"""Find the norms at the end of residual branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

TORCHVISION_BLOCKS = "torchvision.models.resnet"


def residual_norms(network: nn.Module) -> list[nn.BatchNorm2d]:
    """Return the last norm of each residual branch, to whose output the shortcut is added.

    A module lists those of its branches in ``residual_norms``. The blocks of torchvision's ResNets are known.
    """
    return [norm for module in network.modules() for norm in _norms_of(module)]


def _norms_of(module: Any) -> Iterator[nn.BatchNorm2d]:
    if hasattr(module, "residual_norms"):
        yield from module.residual_norms
    elif type(module).__module__ == TORCHVISION_BLOCKS and hasattr(module, "bn2") and hasattr(module, "downsample"):
        yield module.bn3 if hasattr(module, "bn3") else module.bn2
