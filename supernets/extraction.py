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

# For with_tensors: by the path of a layer ("stages.0.1.norm1.", or "" for the network itself), the name of a tensor in
# it and the template's tensor of that name, which has the shape that is wanted.
TensorOf = Callable[[str, str, Tensor], Tensor]

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
    template: nn.Module, tensor_of: TensorOf, training: bool, prefix: str = "", copied: bool = True
) -> nn.Module:
    """A copy of ``template`` that holds what ``tensor_of`` gives, or copies of it.

    The template may hold the same layer at several places; the copy does not.
    """
    copy: nn.Module = object.__new__(type(template))
    # Tables of its own, for a hook on one network is to be on no other; the template's are empty, nearly all of them.
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
    """What a table has under the whole name."""
    return lambda prefix, name, _: tensors[prefix + name]


class Cut:
    """``cut(tensor of whole, like)`` for the tensor of the same name; its table of layers is made once."""

    def __init__(self, whole: nn.Module, cut: Callable[[Tensor, Tensor], Tensor]) -> None:
        self._layers = {f"{path}." if path else "": layer for path, layer in whole.named_modules()}
        self._cut = cut

    def __call__(self, prefix: str, name: str, like: Tensor) -> Tensor:
        layer = self._layers[prefix]
        tensor = layer._parameters[name] if name in layer._parameters else layer._buffers[name]
        assert tensor is not None
        return self._cut(tensor, like)


def norm_tensors(prefix: str, norm: nn.BatchNorm2d, channels: int) -> dict[str, Tensor]:
    """The leading channels of a batch norm, under the names of a plain one."""
    tensors = {
        f"{prefix}.{name}": getattr(norm, name)[:channels] for name in ("weight", "bias", "running_mean", "running_var")
    }
    counter = norm.num_batches_tracked
    assert counter is not None
    return tensors | {f"{prefix}.num_batches_tracked": counter}
