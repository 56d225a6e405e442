"""Leading parts of tensors: how the weights of a smaller network lie in a larger one."""

from __future__ import annotations

from torch import Tensor


def leading_slice(tensor: Tensor, like: Tensor) -> Tensor:
    """The leading part of ``tensor`` of the shape of ``like``, as a view or itself."""
    if tensor.shape == like.shape:
        return tensor
    return tensor[tuple(slice(size) for size in like.shape)]
