"""Checks of the fields of augmentations."""

from __future__ import annotations

from regnas.augmentations.augmentation import Shape


def require_probability(probability: float) -> None:
    """Raise ``ValueError`` unless 0 < probability <= 1."""
    if not 0 < probability <= 1:
        raise ValueError(f"probability must be above 0 and at most 1, got {probability}")


def require_size(size: int) -> None:
    """Raise ``ValueError`` unless the number of pixels is positive."""
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")


def require_range(name: str, bounds: tuple[float, float], highest: float = float("inf")) -> None:
    """Raise ``ValueError`` unless 0 < low <= high <= highest."""
    low, high = bounds
    if not 0 < low <= high <= highest:
        limit = "" if highest == float("inf") else f" <= {highest:g}"
        raise ValueError(f"{name} must be two numbers with 0 < low <= high{limit}, got {list(bounds)}")


def require_gray_or_color(shape: Shape) -> None:
    """Raise ``ValueError`` for images that are neither gray nor RGB."""
    if shape[0] not in (1, 3):
        raise ValueError(f"images must have 1 or 3 channels, got {shape[0]}. Remove the augmentation.")
