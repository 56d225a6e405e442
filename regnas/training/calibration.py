"""Batch-norm statistics of a sub-network.

The shared statistics of a supernet belong to no sub-network, so every one gets its own: cumulative averages over a
fixed set of training images, on a copy, never in the supernet. Networks that were trained alone are treated in the
same way, so that all that is compared is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

CALIBRATION_BATCH = 256


@torch.no_grad()
def calibrate(network: nn.Module, images: Tensor) -> nn.Module:
    """Give the network the statistics of these (preprocessed) images and put it into evaluation mode."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # None means: the plain average over all batches
    network.train()
    for batch in torch.split(images, CALIBRATION_BATCH):
        network(batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    return network.eval()
