"""Predict the search split with candidates, in one process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regnas.data import Preprocessing
from regnas.networks import fold_batch_norms, folding_is_exact
from regnas.runtime.signals import stop_if_asked
from regnas.search.evaluation.prefixes import Clock, calibrate_trees, parts_trees, run_trees
from regnas.space import Architecture
from regnas.supernet import InputShape, Supernet, SupernetPlugin
from regnas.training import Prepared, batches_of, calibrate, group_batch_size, prediction_batch, prepare_batch

Predicted = NDArray[np.int64]  # [samples], the class of the highest logit

FOLDING_IMAGES = 16
ALIGNMENT = 64  # bytes, as torch aligns tensors


@dataclass(frozen=True)
class Place:
    """The place of a tensor inside a tensor of bytes."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]  # kept: the order in memory decides how convolutions round
    offset: int

    def view(self, packed: Tensor) -> Tensor:
        """Return the tensor at this place, without copying."""
        end = self.offset + math.prod(self.shape) * self.dtype.itemsize
        return packed[self.offset : end].view(self.dtype).as_strided(self.shape, self.stride)


@dataclass(frozen=True, eq=False)
class SupernetWeights:
    """A supernet as values, from which another process can build it."""

    plugin: SupernetPlugin
    input_shape: InputShape
    classes: int
    tensors: dict[str, Tensor]

    @classmethod
    def of(cls, supernet: nn.Module, plugin: SupernetPlugin, input_shape: InputShape, classes: int) -> SupernetWeights:
        """Take the weights of a supernet, on the CPU."""
        tensors = {name: tensor.detach().cpu() for name, tensor in supernet.state_dict().items()}
        return cls(plugin, input_shape, classes, tensors)

    def build(self) -> nn.Module:
        """Build the supernet in evaluation mode."""
        supernet = self.plugin.supernet(self.input_shape, self.classes)
        supernet.load_state_dict(self.tensors, assign=True)
        return supernet.eval()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_weights, (self.plugin, self.input_shape, self.classes, *self._packed)

    @cached_property
    def _packed(self) -> tuple[Tensor, list[Place]]:
        """All tensors in one, with the place of each.

        A tensor that processes share takes a file descriptor, and a worker can be sent about 250 of them. A supernet
        has more tensors than that.
        """
        places, end = [], 0
        for name, tensor in self.tensors.items():
            dense = torch.empty_like(tensor)  # the same order in memory, without gaps
            places.append(Place(name, tensor.dtype, tensor.shape, dense.stride(), end))
            end += math.ceil(tensor.nbytes / ALIGNMENT) * ALIGNMENT
        packed = torch.empty(end, dtype=torch.uint8)
        for place in places:
            place.view(packed).copy_(self.tensors[place.name])
        return packed, places


def _unpack_weights(
    plugin: SupernetPlugin, input_shape: InputShape, classes: int, packed: Tensor, places: list[Place]
) -> SupernetWeights:
    return SupernetWeights(plugin, input_shape, classes, {place.name: place.view(packed) for place in places})


class CandidateRunner:
    """Extracts candidates from a supernet, calibrates their batch norms, and runs them.

    Images [N, C, H, W] stay bytes and are normalized batch by batch, because the search split takes most of the memory
    of a search.
    """

    def __init__(
        self,
        supernet: Supernet,
        calibration: Tensor,
        images: Tensor,
        preprocessing: Preprocessing,
        device: torch.device,
    ) -> None:
        self._supernet = supernet
        self._calibration = calibration
        self._images = images
        self._preprocessing = preprocessing
        self._device = device
        self._folds: bool | None = None

    @property
    def supernet_bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self._supernet.state_dict().values())

    @torch.no_grad()
    def network(self, architecture: Architecture, calibration: Tensor) -> nn.Module:
        """Return the sub-network on its own, with the batch-norm statistics of these images, in evaluation mode."""
        images = Prepared(calibration, self._preprocessing, self._device)
        network = self._supernet.extract(architecture).to(memory_format=torch.channels_last)
        return calibrate(network, images)

    def run(self, architectures: Sequence[Architecture]) -> tuple[list[Predicted], float]:
        """Return the predictions of each architecture, and the seconds of all forward passes."""
        clock = Clock()
        trees = parts_trees(architectures, self._supernet.extract)
        calibrate_trees(trees, self._calibration_batches(), clock)
        stop_if_asked()
        if self._may_fold(architectures[0]):
            for tree in trees:
                for node in tree.nodes():
                    fold_batch_norms(node.part)
        predicted = [np.empty(len(self._images), np.int64) for _ in architectures]
        size = prediction_batch(self._images.shape)
        for number, batch in enumerate(self._batches(self._images, size)):
            with clock:
                logits = run_trees(trees, batch)
            for index, own in logits.items():
                predicted[index][number * size : number * size + len(batch)] = own.argmax(1).cpu().numpy()
        return predicted, clock.seconds

    def _may_fold(self, architecture: Architecture) -> bool:
        """Whether batch norms can be folded: the network must register them in the order of the forward pass."""
        if self._folds is None:
            few = self._calibration[:FOLDING_IMAGES]
            network = self.network(architecture, few)
            images = prepare_batch(few, self._preprocessing, self._device)
            self._folds = folding_is_exact(network, images)
        return self._folds

    def _calibration_batches(self) -> Sequence[Tensor]:
        images = Prepared(self._calibration, self._preprocessing, self._device)
        batches = batches_of(images, group_batch_size(*self._calibration.shape[-2:]))
        return list(batches) if len(batches) == 1 else batches  # several are prepared on request

    def _batches(self, images: Tensor, size: int) -> Iterator[Tensor]:
        for batch in torch.split(images, size):
            yield prepare_batch(batch, self._preprocessing, self._device)
            stop_if_asked()


@dataclass(frozen=True, eq=False)
class RunnerSource:
    """Values from which another process can build a runner."""

    weights: SupernetWeights
    calibration: Tensor
    images: Tensor
    preprocessing: Preprocessing
    device: str
    threads: int

    def build(self) -> CandidateRunner:
        """Build the supernet and its runner on the device."""
        device = torch.device(self.device)
        supernet = self.weights.build().to(device)
        return CandidateRunner(supernet, self.calibration, self.images, self.preprocessing, device)  # type: ignore[arg-type]
