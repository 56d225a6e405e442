"""Extract sub-networks fast: build modules once without storage, and copy them with the tensors of a supernet.

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
Make = Callable[..., Any]  # make(InvertedBottleneck, 16, 64, 24, ...) returns a new module or a template

# For with_tensors: the path of a layer ("stages.0.1.norm1.", or "" for the network itself), the name of one of its
# tensors, and the tensor of that name in the template, which has the wanted shape.
TensorOf = Callable[[str, str, Tensor], Tensor]

KEPT_LAYERS = 4096


def build(kind: type[Layer], *settings: Any) -> Layer:
    """Build a layer with its own weights."""
    return kind(*settings)


@lru_cache(KEPT_LAYERS)
def lay_out(kind: type[Layer], *settings: Any) -> Layer:
    """Return a layer without storage, the same object for the same arguments; copy it, never run it."""
    with torch.device("meta"):
        return kind(*settings)


def with_tensors(
    template: nn.Module, tensor_of: TensorOf, training: bool, prefix: str = "", copied: bool = True
) -> nn.Module:
    """Return a copy of ``template`` that holds the tensors of ``tensor_of``, or copies of them.

    The template may hold the same layer in several places; the copy does not.
    """
    copy: nn.Module = object.__new__(type(template))
    # Own tables, because a hook on one network must not act on another; nearly all tables of the template are empty.
    state = {
        key: value if not isinstance(value, dict) else value.copy() if value else type(value)()
        for key, value in vars(template).items()
    }
    state["training"] = training
    state["_parameters"] = parameters = dict(template._parameters)
    for name, parameter in template._parameters.items():
        if parameter is not None:
            tensor = tensor_of(prefix, name, parameter)
            parameters[name] = nn.Parameter(tensor.detach().clone()) if copied else tensor  # type: ignore[assignment]
    state["_buffers"] = buffers = dict(template._buffers)
    for name, buffer in template._buffers.items():
        if buffer is not None:
            tensor = tensor_of(prefix, name, buffer)
            buffers[name] = tensor.clone() if copied else tensor
    state["_modules"] = {
        name: with_tensors(child, tensor_of, training, f"{prefix}{name}.", copied)
        for name, child in template._modules.items()
        if child is not None
    }
    vars(copy).update(state)
    return copy


def named(tensors: Mapping[str, Tensor]) -> TensorOf:
    """Look tensors up in a table by their full name."""
    return lambda prefix, name, _: tensors[prefix + name]


class Cut:
    """Apply ``cut(tensor of whole, like)`` to the tensor of the same name; the table of layers is built once."""

    def __init__(self, whole: nn.Module, cut: Callable[[Tensor, Tensor], Tensor]) -> None:
        self._layers = {f"{path}." if path else "": layer for path, layer in whole.named_modules()}
        self._cut = cut

    def __call__(self, prefix: str, name: str, like: Tensor) -> Tensor:
        layer = self._layers[prefix]
        tensor = layer._parameters[name] if name in layer._parameters else layer._buffers[name]
        assert tensor is not None
        return self._cut(tensor, like)


def norm_tensors(prefix: str, norm: nn.BatchNorm2d, channels: int) -> dict[str, Tensor]:
    """Return the leading channels of a batch norm, under the names of a plain one."""
    tensors = {
        f"{prefix}.{name}": getattr(norm, name)[:channels] for name in ("weight", "bias", "running_mean", "running_var")
    }
    counter = norm.num_batches_tracked
    assert counter is not None
    return tensors | {f"{prefix}.num_batches_tracked": counter}
