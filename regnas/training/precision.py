"""The number formats of the products in a training: of convolutions and matrices, which take nearly all of its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from regnas.errors import ConfigurationError

Precision = Literal["auto", "float32", "tf32", "bfloat16", "float16"]

HALF = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def half_type(precision: Precision, device: torch.device) -> torch.dtype | None:
    """Return the half-precision type of the products, or None; "auto" is bfloat16 on CUDA devices that have it.

    Weights, sums and losses stay in float32.
    """
    if precision == "auto":
        return torch.bfloat16 if device.type == "cuda" and torch.cuda.is_bf16_supported() else None
    return HALF.get(precision)


def check_precision(precision: Precision, device: torch.device) -> None:
    """Refuse bfloat16 on a CUDA device that does not have it."""
    if precision == "bfloat16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise ConfigurationError(
            'training.precision must be "float16" or "float32" on this CUDA device, which has no bfloat16, got '
            '"bfloat16". Change it.'
        )


def needs_scaling(precision: Precision) -> bool:
    """Return whether losses must be scaled: small gradients are zero in float16."""
    return precision == "float16"


@contextmanager
def products_on(device: torch.device, precision: Precision) -> Iterator[None]:
    """Inside the block, float32 products on CUDA round their factors to 10 bits if the precision is "tf32" only.

    By default, torch rounds those of convolutions and not those of matrices.
    """
    if device.type != "cuda":
        yield
        return
    places = (torch.backends.cuda.matmul, torch.backends.cudnn.conv)  # type: ignore[attr-defined]
    before = [place.fp32_precision for place in places]
    for place in places:
        place.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.fp32_precision = value
