"""Losses that cannot take images that were mixed from two."""

from __future__ import annotations

from collections.abc import Iterable


def needs_single_labels(losses: Iterable[object]) -> str:
    """Return the name of the first loss that needs the label of a single image; "" if all can take mixed images."""
    return next((type(loss).__name__ for loss in losses if not getattr(loss, "mixes_labels", False)), "")
