"""Batch-norm statistics of a network: those of a fixed set of training images, each image counted once.

The shared statistics of a supernet fit none of its sub-networks, so each sub-network gets its own, on a copy. Networks
that are trained alone are calibrated in the same way, so that comparisons are fair.

The statistics of a layer are the mean and the variance of its inputs over all images, computed with the layers before
it at their final statistics, as one pass over all images at once would give them. Images that do not fit into one
batch are run several times: a pass ends at the first layer whose statistics are still unknown, and the moments of its
inputs are summed over the batches. Neither the batch size nor a partial last batch changes the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

# The default number of training images, or all if there are fewer. With a subset, predictions depend on which images
# are drawn (benchmarks/calibration.md). Large images use fewer, because the activations of all images are held.
MOST_IMAGES = 50_000
MOST_PIXELS = 2**27
# Activations of one layer (input and output) per batch: below this, all images are one batch and one pass is enough.
BATCH_BYTES = 2**30
# For networks that run in groups: batches must not depend on which networks share a group.
BATCH_PIXELS = 2**22


class PreparedImages(Protocol):
    """Images as a network reads them: a tensor [N, C, H, W], or an object that prepares a slice on request."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Tensor: ...


def calibrate(network: nn.Module, images: PreparedImages, batch_size: int | None = None) -> nn.Module:
    """Give the network the statistics of these images and put it into evaluation mode.

    After an exception the network is in its previous mode.
    """
    with _evaluating(network):
        size = batch_size or max(1, BATCH_BYTES // _bytes_per_image(network, images[:1]))
        batches = batches_of(images, size)
        # Keep the outputs of a part for the next one; otherwise every pass would start from the images.
        *parts, last = parts_of(network) if len(batches) > 1 else [network]
        for part in parts:
            batches = settle(part.eval(), batches)
        settle(last.eval(), batches, outputs=False)
    return network


@torch.no_grad()
def settle(part: nn.Module, batches: Sequence[Tensor], outputs: bool = True) -> list[Tensor]:
    """Give a part of a network the statistics of its inputs; return its outputs at these statistics if wanted.

    The part must be in evaluation mode, and stays in it.
    """
    unknown = {norm for norm in part.modules() if isinstance(norm, _BatchNorm) and norm.running_mean is not None}
    if len(batches) == 1:  # a layer has its statistics as soon as its only batch arrives, and the pass continues
        with _at_inputs(unknown, lambda norm, x: _assign(norm, Moments().add(x))):
            return [part(batches[0])]
    while unknown:
        reached: dict[_BatchNorm, Moments] = {}
        with _at_inputs(unknown, partial(_stop, reached)):
            for batch in batches:
                try:
                    part(batch)
                except _Reached:
                    continue
        if not reached:
            break  # layers that the forward pass does not use
        for norm, moments in reached.items():
            _assign(norm, moments)
            unknown.discard(norm)
    return [part(batch) for batch in batches] if outputs else []


def calibration_count(wanted: int | None, height: int, width: int) -> int:
    """Return the number of images of this size: the configured number, or by default as many as are enough."""
    return min(MOST_IMAGES, MOST_PIXELS // (height * width)) if wanted is None else wanted


def batches_of(images: PreparedImages, size: int) -> Sequence[Tensor]:
    return _Batches(images, size)


def group_batch_size(height: int, width: int) -> int:
    """Return the batch size at this image size for networks that run in groups."""
    return max(1, BATCH_PIXELS // (height * width))


class Moments:
    """Count, mean and sum of squared deviations of the values of every channel, merged exactly (Chan et al., 1979)."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = torch.zeros(())
        self.deviations = torch.zeros(())

    def add(self, x: Tensor) -> Moments:
        """Add the values of a batch [N, C, ...]."""
        others = [dim for dim in range(x.ndim) if dim != 1]
        variance, mean = torch.var_mean(x.float(), dim=others, correction=0)  # [N, C, ...] -> [C], [C]
        count = x.numel() // x.shape[1]
        mean, deviations = mean.double().cpu(), count * variance.double().cpu()
        total = self.count + count
        shift = mean - self.mean
        self.mean = self.mean + shift * (count / total)
        self.deviations = self.deviations + deviations + shift.square() * (self.count * count / total)
        self.count = total
        return self


class _Reached(Exception):
    """A pass reached a layer whose statistics are unknown."""


def _stop(reached: dict[_BatchNorm, Moments], norm: _BatchNorm, x: Tensor) -> None:
    reached.setdefault(norm, Moments()).add(x)
    raise _Reached


def _assign(norm: _BatchNorm, moments: Moments) -> None:
    assert norm.running_mean is not None and norm.running_var is not None
    norm.running_mean.copy_(moments.mean)
    norm.running_var.copy_(moments.deviations / moments.count)
    if norm.num_batches_tracked is not None:
        norm.num_batches_tracked.fill_(1)


@contextmanager
def _at_inputs(norms: set[_BatchNorm], act: Callable[[_BatchNorm, Tensor], None]) -> Iterator[None]:
    """Call ``act(norm, input)`` before a norm runs for the first time; later calls of the norm run unchanged."""
    settled: set[nn.Module] = set()

    def before(norm: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if norm not in settled:
            act(norm, inputs[0])  # type: ignore[arg-type]
            settled.add(norm)

    hooks = [norm.register_forward_pre_hook(before) for norm in norms]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    """Set evaluation mode, without dropout; after an exception restore the mode of every module."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    except BaseException:
        for module, training in modes.items():
            module.training = training
        raise


class _Batches(Sequence[Tensor]):
    """Slices of the images, prepared on request."""

    def __init__(self, images: PreparedImages, size: int) -> None:
        self._images = images
        self._size = size

    def __len__(self) -> int:
        return -(-len(self._images) // self._size)

    def __getitem__(self, index: int) -> Tensor:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._images[index * self._size : (index + 1) * self._size]


def parts_of(network: nn.Module) -> list[nn.Module]:
    """Return modules whose composition is the network; a network without parts is its own only part."""
    split = getattr(network, "parts", None)
    return list(split()) if split is not None else [network]


@torch.no_grad()
def _bytes_per_image(network: nn.Module, image: Tensor) -> int:
    """Return the size of input and output of the layer with the largest activations, for one image [1, C, H, W]."""
    largest = image.nbytes

    def note(_: nn.Module, inputs: tuple[object, ...], output: object) -> None:
        nonlocal largest
        tensors = [each for each in (*inputs, output) if isinstance(each, Tensor)]
        largest = max(largest, sum(tensor.nbytes for tensor in tensors))

    leaves = [module for module in network.modules() if not list(module.children())]
    hooks = [module.register_forward_hook(note) for module in leaves]
    try:
        network(image)
    finally:
        for hook in hooks:
            hook.remove()
    return largest
