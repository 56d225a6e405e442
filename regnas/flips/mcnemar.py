"""Is one model more often right than the other, beyond chance?"""

from __future__ import annotations

from regnas.flips.alignment import align
from regnas.flips.clusters import shared_groups
from regnas.flips.paired import Flips
from regnas.flips.partitions import Partition
from regnas.flips.predictions import Predictions


def mcnemar_exact(reference: Predictions, new: Predictions) -> float:
    """Two-sided p-value of the exact McNemar test (McNemar, 1947).

    Of the b + c samples on which exactly one model is right, b are negative flips and c positive ones; if both models
    were equally good, b ~ Binomial(b + c, 1/2). Without such samples, p is 1.0. If the samples come in clusters
    (``Predictions.groups``), each cluster has one vote: b clusters lose more than they gain, c the other way around.
    """
    aligned = align([reference, new])
    flips = Flips.between(aligned[0].correct, aligned[1].correct)
    return flips.test(Partition.whole(len(aligned[0]), shared_groups(aligned)))
