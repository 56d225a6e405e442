"""Batch norm folded into the convolution before it: the same function in evaluation, with fewer passes over memory.

    norm(conv(x)) = (γ / σ) * conv(x) + (β - γ μ / σ)

so the factor goes into the weights of the convolution and the rest into its bias.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

ROUNDING = 1e-3  # far above the rounding of single precision, far below the effect of a wrong order


def fold_batch_norms(module: nn.Module) -> nn.Module:
    """Fold, in place, every batch norm that its parent registers directly after a convolution of as many channels.

    Plain networks register them in the order in which they run.
    """
    for parent in list(module.modules()):
        children = list(parent.named_children())
        for (_, convolution), (norm_name, norm) in pairwise(children):
            if (
                isinstance(convolution, nn.Conv2d)
                and isinstance(norm, _BatchNorm)
                and convolution.out_channels == norm.num_features
            ):
                _fold(convolution, norm)
                setattr(parent, norm_name, nn.Identity())
    return module


@torch.no_grad()
def _fold(convolution: nn.Conv2d, norm: _BatchNorm) -> None:
    assert norm.running_mean is not None and norm.running_var is not None
    scale = torch.rsqrt(norm.running_var + norm.eps)
    if norm.affine:
        scale = norm.weight * scale
    shift = -norm.running_mean * scale
    if norm.affine:
        shift = norm.bias + shift
    if convolution.bias is not None:
        shift = shift + convolution.bias * scale
    convolution.weight.mul_(scale[:, None, None, None])
    convolution.bias = nn.Parameter(shift, requires_grad=False)


@torch.no_grad()
def folding_is_exact(network: nn.Module, images: Tensor) -> bool:
    """Fold the network, and return whether the logits stayed the same up to rounding."""
    before = network(images)
    after = fold_batch_norms(network)(images)
    return bool((after - before).abs().max() <= ROUNDING * before.abs().max())
