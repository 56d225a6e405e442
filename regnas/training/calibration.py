"""Batch-norm statistics of a network: those of a fixed set of training images, each image counted once.

The shared statistics of a supernet belong to no sub-network, so every one gets its own, on a copy. Networks that are
trained alone are treated in the same way, so that everything that is compared is.

The statistics of a layer are the mean and the variance of its inputs over all images, computed with the layers before
it at their final statistics, as one pass over all images at once would give them. Images that do not fit into one
batch are run several times: a pass ends at the first layer whose statistics are still unknown, and the moments of its
inputs are summed over the batches. So neither the size of the batches nor a partial last one changes the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

# So many training images, or all if there are fewer, unless a configuration says otherwise: below all of them, which
# images are drawn changes answers (benchmarks/calibration.md). Of large images fewer: the activations of all are held.
MOST_IMAGES = 50_000
MOST_PIXELS = 2**27
# Activations of one layer, input and output, of a batch: below this, all images are one batch and one pass is enough.
BATCH_BYTES = 2**30
# For networks that are run in groups, whose batches must not depend on which networks share a group.
BATCH_PIXELS = 2**22


class PreparedImages(Protocol):
    """Images as a network reads them; a tensor [N, C, H, W], or something that prepares the slice it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Tensor: ...


def calibrate(network: nn.Module, images: PreparedImages, batch_size: int | None = None) -> nn.Module:
    """Give the network the statistics of these images and put it into evaluation mode.

    After an exception the network is in the mode in which it was.
    """
    with _evaluating(network):
        size = batch_size or max(1, BATCH_BYTES // _bytes_per_image(network, images[:1]))
        batches = batches_of(images, size)
        # What a part computes is kept for the next one, or every pass would start from the images.
        *parts, last = parts_of(network) if len(batches) > 1 else [network]
        for part in parts:
            batches = settle(part.eval(), batches)
        settle(last.eval(), batches, outputs=False)
    return network


@torch.no_grad()
def settle(part: nn.Module, batches: Sequence[Tensor], outputs: bool = True) -> list[Tensor]:
    """Give a part of a network the statistics of its inputs; its outputs at these statistics, if they are wanted.

    The part has to be in evaluation mode, and is left in it.
    """
    unknown = {norm for norm in part.modules() if isinstance(norm, _BatchNorm) and norm.running_mean is not None}
    if len(batches) == 1:  # a layer is settled as soon as its only batch arrives, and the pass goes on
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
    """How many images of this size, as the configuration wants it or, if it leaves that open, as many as are enough."""
    return min(MOST_IMAGES, MOST_PIXELS // (height * width)) if wanted is None else wanted


def batches_of(images: PreparedImages, size: int) -> Sequence[Tensor]:
    return _Batches(images, size)


def group_batch_size(height: int, width: int) -> int:
    """How many images of this size are one batch for networks that are run in groups."""
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
    """A pass has come to a layer whose statistics are unknown."""


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
    """Call ``act(norm, input)`` before a norm runs; once it has returned, further calls of the norm run as they are."""
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
    """Evaluation mode, in which no dropout is drawn; after an exception every module is in its mode of before."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    except BaseException:
        for module, training in modes.items():
            module.training = training
        raise


class _Batches(Sequence[Tensor]):
    """Slices of the images, prepared when they are asked for."""

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
    """Modules whose composition is the network; one that does not come in parts is its own only part."""
    split = getattr(network, "parts", None)
    return list(split()) if split is not None else [network]


@torch.no_grad()
def _bytes_per_image(network: nn.Module, image: Tensor) -> int:
    """Input and output of the layer whose activations are the largest, for one image [1, C, H, W]."""
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
