"""Select the predictions of a file for given samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regnas.comparison.joining import with_common_ids
from regnas.comparison.reading import number_classes, read_predictions
from regnas.errors import ArtifactError
from regnas.flips import Predictions
from regnas.flips.predictions import examples


def predictions_on(path: Path, samples: Predictions, classes: Sequence[str]) -> Predictions:
    """Return the predictions of a file on ``samples``, in their order.

    The file must have all samples, with the same targets, and may have further samples. ``classes`` are those of the
    samples, by number. A file that names its classes gets these numbers.
    """
    own, given = with_common_ids(samples, number_classes(read_predictions(path), path, classes))
    missing = own.ids[~np.isin(own.ids, given.ids)]
    if len(missing):
        raise ArtifactError(
            f"{path} must have all {len(own):,} samples, got {len(own) - len(missing):,} of them (missing: "
            f"{examples(missing)})"
        )
    order = np.argsort(given.ids)
    position = order[np.searchsorted(given.ids, own.ids, sorter=order)]  # [N], the row of the n-th sample in the file
    differing = own.ids[given.targets[position] != own.targets]
    if len(differing):
        raise ArtifactError(
            f"{path} must have the targets of the samples, got other ones for {len(differing):,} of {len(own):,} "
            f"({examples(differing)})"
        )
    return samples.answered_by(given.model, given.predicted[position])
