"""Networks that were trained with other statistics of the images than those of the data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from regnas.data.preprocessing import Preprocessing


class _Network(Protocol):
    def build(self, input_shape: tuple[int, int, int], classes: int) -> nn.Module: ...


@dataclass(frozen=True)
class Normalized:
    """A network that reads images by ``statistics`` of its own, whatever those of the data are.

    The tensors of a study are normalized by the statistics of its data. What converts them is not a part of the
    network: its weights can be saved and mixed as if it did not exist.
    """

    content_name: ClassVar[str] = "Normalized"
    network: _Network
    statistics: Preprocessing

    def build(self, input_shape: tuple[int, int, int], classes: int) -> nn.Module:
        if input_shape[0] != len(self.statistics.mean):
            raise ValueError(
                f"normalization must have {input_shape[0]} values of mean and std, one per channel of the images, got "
                f"{len(self.statistics.mean)}"
            )
        return self.network.build(input_shape, classes)

    def reading(self, network: nn.Module, data: Preprocessing) -> nn.Module:
        """Let a built network take images that are normalized by the statistics of the data."""
        network.register_forward_pre_hook(_Conversion(data, self.statistics))
        return network


@dataclass(frozen=True)
class _Conversion:
    """(x - m) / s of one pair of statistics, from (x - m') / s' of another: z s' / s + (m' - m) / s."""

    given: Preprocessing
    wanted: Preprocessing

    def __call__(self, _: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        images: Tensor = arguments[0]  # [N, C, H, W]
        triples = list(zip(self.given.mean, self.given.std, self.wanted.mean, self.wanted.std, strict=True))
        scale = [theirs / own for _, theirs, _, own in triples]
        shift = [(mean - own_mean) / own for mean, _, own_mean, own in triples]
        return torch.addcmul(_per_channel(shift, images), images, _per_channel(scale, images)), *arguments[1:]


def _per_channel(values: list[float], images: Tensor) -> Tensor:
    return torch.tensor(values, dtype=images.dtype, device=images.device).view(1, -1, 1, 1)
