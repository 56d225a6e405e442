"""Sub-networks laid out quickly: modules are built once without storage, and copied with the tensors of a supernet.

Building a mobile network takes fifty milliseconds, ten times as long as copying its weights, and a search extracts
thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Layer = TypeVar("Layer", bound=nn.Module)
Make = Callable[..., Any]  # make(InvertedBottleneck, 16, 64, 24, ...): the module, newly built or laid out before

KEPT_LAYERS = 4096


def build(kind: type[Layer], *settings: Any) -> Layer:
    """A layer with weights of its own."""
    return kind(*settings)


@lru_cache(KEPT_LAYERS)
def lay_out(kind: type[Layer], *settings: Any) -> Layer:
    """A layer without storage, the same object whenever it is asked for; to be copied and never to be run."""
    with torch.device("meta"):
        return kind(*settings)


def with_tensors(
    template: nn.Module, tensors: Mapping[str, Tensor], training: bool, prefix: str = "", copied: bool = True
) -> nn.Module:
    """A copy of ``template`` that holds the tensors of these names: copies of its own, or the tensors themselves.

    The template may hold the same layer at several places; the copy does not.
    """
    copy: nn.Module = object.__new__(type(template))
    # The tables of hooks are copied as well, so that a hook on one network is on no other.
    state = {key: value.copy() if isinstance(value, dict) else value for key, value in vars(template).items()}
    state["training"] = training
    state["_parameters"] = {
        name: _parameter(tensors[prefix + name], copied) if parameter is not None else None
        for name, parameter in template._parameters.items()
    }
    state["_buffers"] = {
        name: tensors[prefix + name].clone() if copied else tensors[prefix + name] for name in template._buffers
    }
    state["_modules"] = {
        name: with_tensors(child, tensors, training, f"{prefix}{name}.", copied)
        for name, child in template._modules.items()
        if child is not None
    }
    vars(copy).update(state)
    return copy


def _parameter(tensor: Tensor, copied: bool) -> Tensor:
    return nn.Parameter(tensor.detach().clone()) if copied else tensor


def norm_tensors(prefix: str, norm: nn.BatchNorm2d, channels: int) -> dict[str, Tensor]:
    """The leading channels of a batch norm, under the names of a plain one."""
    tensors = {
        f"{prefix}.{name}": getattr(norm, name)[:channels] for name in ("weight", "bias", "running_mean", "running_var")
    }
    counter = norm.num_batches_tracked
    assert counter is not None
    return tensors | {f"{prefix}.num_batches_tracked": counter}
