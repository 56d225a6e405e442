"""Compare the predictions of an exported file on the report split with those of its member."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regnas.data import Preprocessing, Split, batches_of
from regnas.errors import ArtifactError
from regnas.family.manifest import Export, Member
from regnas.flips import Predictions, align, negative_flip_rate
from regnas.runtime.files import sha256_of
from regnas.training import gather, prediction_batch, predictions_from, prepare_batch

CPU = torch.device("cpu")


def predict(model: str, network: Callable[[Tensor], Tensor], split: Split, preprocessing: Preprocessing) -> Predictions:
    """Predict on the CPU, in the same batches as for members."""
    batches = batches_of(split.images, prediction_batch(split.images.shape))
    logits = gather((network(prepare_batch(batch, preprocessing, CPU)) for batch in batches), len(split))
    return predictions_from(model, logits, split, keep_logits=True)


def measure(path: Path, format_name: str, member: Member, reference: Predictions, found: Predictions) -> Export:
    """Compare a file's predictions, ``found``, with those of the member itself, ``reference``."""
    own, other = align([reference, found])
    if own.logits is None or other.logits is None:
        raise ArtifactError(f"{path}: the predictions of {member.name} must have logits for the comparison, got none")
    return Export(
        member=member.name,
        format=format_name,
        file=path.name,
        sha256=sha256_of(path),
        bytes=path.stat().st_size,
        source=member.sha256,
        top1=found.accuracy,
        member_top1=reference.accuracy,
        nfr=negative_flip_rate(own, other),
        pfr=negative_flip_rate(other, own),
        disagreements=int(np.count_nonzero(own.predicted != other.predicted)),
        largest_logit_difference=float(np.abs(own.logits - other.logits).max()),
    )
