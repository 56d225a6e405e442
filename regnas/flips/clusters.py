"""Clusters of samples: variants of one original (augmentations, crops, frames) stand or fall together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.predictions import Predictions


def shared_groups(aligned: Sequence[Predictions]) -> NDArray[np.int64] | None:
    """Return the clusters that the aligned models agree on; models saved without clusters follow the others."""
    known = [each for each in aligned if each.groups is not None]
    for each in known[1:]:
        if not np.array_equal(known[0].groups, each.groups):  # type: ignore[arg-type]  # known holds no None
            raise ArtifactError(
                f'"{known[0].model}" and "{each.model}" group the same samples into different clusters; '
                "predict both on the same split"
            )
    return known[0].groups if known else None


def count_clusters(groups: NDArray[np.int64] | None, samples: int) -> int:
    return samples if groups is None else len(np.unique(groups))
