"""Translate the tensor names of the AttentiveNAS checkpoint into those of this supernet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate

from torch import Tensor

from supernets.attentive_nas.rules import STAGES

LAST = len(STAGES) + 1

_REWORDINGS = (
    ("first_conv.", "stages.0.0."),
    ("last_conv.final_expand_layer.", f"stages.{LAST}.0.expand."),
    ("last_conv.feature_mix_layer.conv.conv.", f"stages.{LAST}.0.mix.0."),
    ("classifier.linear.linear.", "classifier."),
    (".mobile_inverted_conv.inverted_bottleneck.", ".expand."),
    (".mobile_inverted_conv.depth_conv.se.fc.reduce.", ".squeeze.reduce."),
    (".mobile_inverted_conv.depth_conv.se.fc.expand.", ".squeeze.restore."),
    (".mobile_inverted_conv.depth_conv.", ".depthwise."),
    (".mobile_inverted_conv.point_linear.", ".project."),
    (".conv.conv.", ".conv."),
    (".bn.bn.", ".norm."),
)


def own_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors under our names, without those that no sub-network uses; keep unknown names."""
    found = {}
    for foreign, tensor in tensors.items():
        name = own_name(foreign.removeprefix("module."))
        if name is not None:
            is_layer = ".mix." in name and tensor.ndim > 1
            found[f"largest.{name}"] = tensor.flatten(1) if is_layer else tensor  # [O, I, 1, 1] -> [O, I]
    return found


def own_name(foreign: str) -> str | None:
    """Return our name, or None for unused tensors: training statistics of two networks, and identity shortcuts."""
    name = foreign
    block = re.match(r"blocks\.(\d+)\.", foreign)
    if block is not None:
        stage, position = _place(int(block[1]))
        if position > 0 and ".shortcut." in foreign:  # the width changes only at the first block of a stage
            return None
        name = f"stages.{stage}.{position}.{foreign[block.end() :]}"
    if ".bn_tracking." in foreign:
        return None
    for theirs, ours in _REWORDINGS:
        name = name.replace(theirs, ours)
    return name


def _place(index: int) -> tuple[int, int]:
    """Return stage and position of a block that is counted through all stages."""
    ends = list(accumulate((stage.depths[1] for stage in STAGES), initial=0))
    stage = max(number for number, end in enumerate(ends[:-1]) if index >= end)
    return stage + 1, index - ends[stage]
