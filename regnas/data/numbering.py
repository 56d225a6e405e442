"""Splits from arrays, whose samples have a position and no name."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regnas.data.splits import Split
from regnas.pictures.arrays import numbered_ids


def numbered_split(name: str, images: Tensor, targets: Tensor, part: str, first_group: int = 0) -> Split:
    """A split of images [N, H, W] or [N, H, W, C] with the ids ``part/0``, ``part/1``, ...; every sample a group."""
    channels_first = images[:, None] if images.ndim == 3 else images.permute(0, 3, 1, 2)
    return Split(
        name=name,
        images=channels_first.contiguous(),  # [N, C, H, W]
        targets=targets.to(torch.int64),
        ids=numbered_ids(part, len(images)),
        groups=np.arange(first_group, first_group + len(images), dtype=np.int64),
    )
