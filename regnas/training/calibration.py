"""Batch-norm statistics of a sub-network.

The shared statistics of a supernet belong to no sub-network, so every one gets its own: cumulative averages over a
fixed set of training images, on a copy, never in the supernet. Networks that were trained alone are treated in the
same way, so that all that is compared is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

CALIBRATION_BATCH = 256
# Large images come in smaller batches, so that the activations of one do not outgrow the memory.
CALIBRATION_PIXELS = 2**21
FEWEST_CALIBRATED = 32


@torch.no_grad()
def calibrate(network: nn.Module, images: Tensor) -> nn.Module:
    """Give the network the statistics of these (preprocessed) images and put it into evaluation mode."""
    with calibrating(network):
        for batch in torch.split(images, calibration_batch(images)):
            network(batch)
    return network


@contextmanager
def calibrating(network: nn.Module) -> Iterator[None]:
    """Inside, every batch that goes through the network counts for its statistics; afterwards it evaluates.

    A variance is that of the batch itself, as once-for-all calibrates: torch would keep it as an estimate for all
    images, which is larger by n / (n - 1) for n values a channel.
    """
    network.eval()  # all but the norms: no dropout
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    values: dict[nn.Module, int] = {}  # a channel, of a batch
    hooks = [norm.register_forward_pre_hook(lambda norm, x: _note(values, norm, x[0])) for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # None means: the plain average over all batches
        norm.train()
    yield
    for norm, momentum, hook in zip(norms, momenta, hooks, strict=True):
        hook.remove()
        norm.momentum = momentum
        norm.eval()
        if norm.running_var is not None and values.get(norm, 1) > 1:
            norm.running_var.mul_((values[norm] - 1) / values[norm])


def _note(values: dict[nn.Module, int], norm: nn.Module, x: Tensor) -> None:
    values.setdefault(norm, x.numel() // x.shape[1])


def calibration_batch(images: Tensor) -> int:
    pixels = images.shape[-1] * images.shape[-2]
    return max(FEWEST_CALIBRATED, min(CALIBRATION_BATCH, CALIBRATION_PIXELS // pixels))
