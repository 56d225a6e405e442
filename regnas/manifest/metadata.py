"""What an exported file says of itself, in whatever its format has for that: texts by key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any


def metadata_of(
    member: str, preprocessing: Mapping[str, Any], classes: Sequence[str], input_shape: Sequence[int]
) -> dict[str, str]:
    """Enough to use the file without the family: ``input_shape`` is [C, H, W] of the preprocessed images."""
    return {
        "regnas.model": member,
        "regnas.preprocessing": json.dumps(preprocessing),
        "regnas.classes": json.dumps(list(classes), ensure_ascii=False),
        "regnas.input_shape": json.dumps(list(input_shape)),
        "regnas.version": version("regnas"),
    }
