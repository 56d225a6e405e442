"""Prove that a larger member contains the weights of a smaller one, from their tensors alone.

The architectures say that one network contains another (CAS of REG-NAS), and the weights show it. A weight of the small
network is the leading slice of the weight of the same name in the large one, bit for bit. Batch-norm statistics are
measured per member and are not shared. If kernels differ in size, there are two kinds of spaces. Some take the middle
of the larger kernel, which is compared too. Others transform it linearly (the kernel transforms of once-for-all). Two
members alone cannot prove that, so such weights are listed as not comparable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
# For kernels of the same size that both come from a transform, a product of matrices of different heights.
ROUNDING = 1e-6

Tensors = Mapping[str, NDArray[Any]]


def containment_proof(small: Tensors, large: Tensors) -> dict[str, Any]:
    """Show for every tensor how the weights of the small network are part of the weights of the large one.

    ``shared`` has for each name the ``relation``, the shape, and the sha256 of the common bytes. ``not_comparable`` has
    for each name the reason. ``statistics`` is the number of tensors that each member has for itself. A weight that the
    large network lacks, or has with other values, is refused by name.
    """
    shared: dict[str, dict[str, Any]] = {}
    not_comparable: dict[str, str] = {}
    statistics = 0
    for name in sorted(small):
        if name.rpartition(".")[2] in STATISTICS:
            statistics += 1
            continue
        tensor = small[name]
        relation, reason = _relation(name, tensor, large)
        if relation:
            shared[name] = {"relation": relation, "shape": list(tensor.shape), "sha256": _digest(tensor)}
        else:
            not_comparable[name] = reason
    return {"shared": shared, "not_comparable": not_comparable, "statistics": statistics}


def _relation(name: str, tensor: NDArray[Any], large: Tensors) -> tuple[str, str]:
    """Return how the tensor is part of the large network, or the reason why that cannot be shown."""
    if name not in large:
        raise ArtifactError(f"{name} is missing in the larger network")
    other = large[name]
    if other.dtype != tensor.dtype or other.ndim != tensor.ndim or np.less(other.shape, tensor.shape).any():
        raise ArtifactError(
            f"{name} of shape {list(tensor.shape)} does not fit into the larger network's {list(other.shape)}"
        )
    leading = other[tuple(slice(size) for size in tensor.shape[:2])]
    if tensor.ndim == 4 and tensor.shape[2:] != other.shape[2:]:
        if _digest(_middle(leading, tensor.shape)) == _digest(tensor):
            return "middle of the kernel", ""
        return "", f"kernel {_size(tensor)} from {_size(other)} by a transform"
    leading = leading[tuple(slice(size) for size in tensor.shape)]
    if _digest(leading) == _digest(tensor):
        return "whole" if tensor.shape == other.shape else "leading slice", ""
    if _transformed_alike(tensor, leading):
        return "", f"kernel {_size(tensor)} by a transform, equal up to rounding"
    raise ArtifactError(f"{name} has other numbers in the larger network")


def _middle(tensor: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Crop [O, I, K, K] to [O, I, k, k] around the center."""
    starts = [(whole - part) // 2 for whole, part in zip(tensor.shape[2:], shape[2:], strict=True)]
    ranges = [slice(start, start + part) for start, part in zip(starts, shape[2:], strict=True)]
    return tensor[:, :, ranges[0], ranges[1]]


def _transformed_alike(tensor: NDArray[Any], leading: NDArray[Any]) -> bool:
    """Whether these are filters of single channels, larger than 1 x 1, that differ by rounding only."""
    if tensor.ndim != 4 or tensor.shape[1] != 1 or tensor.shape[2] == 1 or tensor.dtype.kind != "f":
        return False
    return bool(np.abs(tensor - leading).max() <= ROUNDING * np.abs(leading).max())


def _digest(tensor: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor).tobytes()).hexdigest()


def _size(tensor: NDArray[Any]) -> str:
    return " x ".join(map(str, tensor.shape[2:]))
