"""The metadata of an exported file: texts by key, stored as its format allows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

MODEL, PREPROCESSING, CLASSES, INPUT_SHAPE = NEEDED = (
    "regnas.model",
    "regnas.preprocessing",
    "regnas.classes",
    "regnas.input_shape",
)


def metadata_of(
    member: str, preprocessing: Mapping[str, Any], classes: Sequence[str], input_shape: Sequence[int]
) -> dict[str, str]:
    """Return the metadata that make a file usable alone; ``input_shape`` is [C, H, W] of the preprocessed images."""
    return {
        MODEL: member,
        PREPROCESSING: json.dumps(preprocessing),
        CLASSES: json.dumps(list(classes), ensure_ascii=False),
        INPUT_SHAPE: json.dumps(list(input_shape)),
        "regnas.version": version("regnas"),
    }
