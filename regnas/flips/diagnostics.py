"""Which samples flip: the uncertainty of the models, and the rank of the wrong class in the reference.

This answers two questions of the papers. Are negative flips the samples that a model is uncertain about? PCT (Yan et
al., CVPR 2021, figure 4) uses the uncertainty of an ensemble; here each model has its own. Was the wrong class of the
new model near the top in the reference (ELODI: Zhao et al., figure 4)? Several pairs, such as those of several seeds,
are pooled. All measures need logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regnas.flips.alignment import align
from regnas.flips.predictions import Predictions
from regnas.flips.severity import probabilities_of, softmax

BINS = 10
MOST_RANKS = 10  # counted one by one; lower ranks are counted together
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MARGIN_EDGES = tuple(round(-1 + 0.1 * step, 1) for step in range(21))
ROWS = 8192  # of logits that are converted to double precision at a time


@dataclass(frozen=True)
class UncertaintyBin:
    """The samples whose uncertainty is above ``low`` (of the first bin: at least) and at most ``high``."""

    low: float
    high: float
    samples: int
    negative_flips: int
    negative_flip_rate: float  # of the samples of this bin
    share_of_flips: float  # of all negative flips


@dataclass(frozen=True)
class Uncertainty:
    """Negative flips by H / log C, the entropy of a model's softmax over C classes: 0 is certain, 1 is uniform.

    The edges of the bins are quantiles of the uncertainty, so bins hold about the same number of samples. Equal values
    share a bin, and there may be fewer bins. ``auroc`` is the probability that a negative flip is more uncertain than
    another sample (ties count half): 0.5 is chance, 1 separates them; None if nothing flipped.
    """

    bins: tuple[UncertaintyBin, ...]
    auroc: float | None

    @property
    def most_uncertain(self) -> UncertaintyBin:
        return self.bins[-1]


@dataclass(frozen=True)
class Ranks:
    """Ranks of one class among the logits of a model; the largest logit has rank 1, equal logits the better rank.

    ``counts`` has the ranks 1 to 10, ``beyond`` counts all lower ones, and ``unknown`` counts samples whose class the
    model does not have. ``median`` is over the known classes; None if there are none.
    """

    counts: tuple[int, ...]
    beyond: int
    unknown: int
    median: float | None

    def share_within(self, rank: int) -> float:
        """Return the share of samples with this rank or a better one (``rank`` up to 10); 0 without samples."""
        total = sum(self.counts) + self.beyond + self.unknown
        return sum(self.counts[:rank]) / total if total else 0.0


@dataclass(frozen=True)
class Margins:
    """p(true class) - p(wrong class), from -1 to 1: quantiles (5, 25, 50, 75 and 95 %) and counts in 20 bins."""

    quantiles: tuple[float, ...] | None  # None without samples
    counts: tuple[int, ...]

    @property
    def median(self) -> float | None:
        return None if self.quantiles is None else self.quantiles[QUANTILES.index(0.5)]


@dataclass(frozen=True)
class Mistakes:
    """Samples that the new model gets wrong; the wrong class is its prediction."""

    samples: int
    wrong_class_in_reference: Ranks
    true_class_in_new: Ranks
    margin_in_reference: Margins
    margin_in_new: Margins


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a reference and a new model, or of several such pairs together.

    ``flips`` are the negative flips, ``common_errors`` the samples that both models get wrong.
    """

    samples: int
    negative_flips: int
    reference_uncertainty: Uncertainty
    new_uncertainty: Uncertainty
    flips: Mistakes
    common_errors: Mistakes


def diagnose(pairs: Sequence[tuple[Predictions, Predictions]]) -> Diagnostics | None:
    """Return the diagnostics of pairs (reference, new), pooled; None if a model was saved without logits."""
    if not pairs or any(each.logits is None for pair in pairs for each in pair):
        return None
    aligned = [(reference, new) for reference, new in (align(pair) for pair in pairs)]
    flipped = np.concatenate([reference.correct & ~new.correct for reference, new in aligned])  # [N of all pairs]
    return Diagnostics(
        samples=len(flipped),
        negative_flips=int(flipped.sum()),
        reference_uncertainty=_uncertainty([reference for reference, _ in aligned], flipped),
        new_uncertainty=_uncertainty([new for _, new in aligned], flipped),
        flips=_mistakes(aligned, reference_right=True),
        common_errors=_mistakes(aligned, reference_right=False),
    )


def uncertainties(predictions: Predictions) -> NDArray[np.float64]:
    """Return H / log C of each sample: [N]; 0 for a model of a single class."""
    logits = _logits(predictions)
    parts = [_entropies(logits[start : start + ROWS]) for start in range(0, len(logits), ROWS)]
    return np.concatenate(parts)


def ranks_of(predictions: Predictions, rows: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 1 + the number of logits above that of classes[row], for rows [F] -> [F]; 0 for an unknown class."""
    logits = _logits(predictions)[rows]  # [F, C]
    wanted = classes[rows]
    known = wanted < logits.shape[1]
    own = np.take_along_axis(logits, np.where(known, wanted, 0)[:, None], axis=1)  # [F, 1]
    return np.where(known, 1 + (logits > own).sum(axis=1), 0)


def _entropies(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    if logits.shape[1] == 1:
        return np.zeros(len(logits))
    probabilities = softmax(logits)  # [N, C]
    logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    entropies: NDArray[np.float64] = -(probabilities * logarithms).sum(axis=1) / np.log(logits.shape[1])
    return np.clip(entropies, 0, 1)  # rounding may leave the bounds


def _uncertainty(models: Sequence[Predictions], flipped: NDArray[np.bool_]) -> Uncertainty:
    values = np.concatenate([uncertainties(model) for model in models])  # [N]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
    edges = edges if len(edges) > 1 else np.repeat(edges, 2)
    place = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)  # [N]
    samples = np.bincount(place, minlength=len(edges) - 1).tolist()
    flips = np.bincount(place[flipped], minlength=len(edges) - 1).tolist()
    total = max(1, sum(flips))
    bins = tuple(
        UncertaintyBin(float(low), float(high), held, lost, lost / held if held else 0.0, lost / total)
        for low, high, held, lost in zip(edges[:-1], edges[1:], samples, flips, strict=True)
    )
    return Uncertainty(bins, _auroc(values, flipped))


def _auroc(values: NDArray[np.float64], positive: NDArray[np.bool_]) -> float | None:
    """Return P(value of a positive > value of a negative) + P(equal) / 2; equal values share a rank."""
    positives = int(positive.sum())
    negatives = len(values) - positives
    if not positives or not negatives:
        return None
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal values, numbered from 1
    total = mean_ranks[place][positive].sum()
    return float((total - positives * (positives + 1) / 2) / (positives * negatives))


def _mistakes(pairs: Sequence[tuple[Predictions, Predictions]], reference_right: bool) -> Mistakes:
    wrong_in_reference, true_in_new, old_margins, new_margins = [], [], [], []
    for reference, new in pairs:
        rows = np.flatnonzero((reference.correct == reference_right) & ~new.correct)  # [F]
        wrong_in_reference.append(ranks_of(reference, rows, new.predicted))
        true_in_new.append(ranks_of(new, rows, new.targets))
        old_margins.append(_margins_of(reference, rows, new.predicted))
        new_margins.append(_margins_of(new, rows, new.predicted))
    return Mistakes(
        samples=sum(map(len, old_margins)),
        wrong_class_in_reference=_ranks(np.concatenate(wrong_in_reference)),
        true_class_in_new=_ranks(np.concatenate(true_in_new)),
        margin_in_reference=_margins(np.concatenate(old_margins)),
        margin_in_new=_margins(np.concatenate(new_margins)),
    )


def _margins_of(predictions: Predictions, rows: NDArray[np.int64], wrong: NDArray[np.int64]) -> NDArray[np.float64]:
    true_class = probabilities_of(predictions, rows, predictions.targets)
    wrong_class = probabilities_of(predictions, rows, wrong)
    assert true_class is not None
    assert wrong_class is not None
    return true_class - wrong_class


def _ranks(ranks: NDArray[np.int64]) -> Ranks:
    known = ranks[ranks > 0]
    counts = np.bincount(np.minimum(known, MOST_RANKS + 1), minlength=MOST_RANKS + 2).tolist()
    median = float(np.median(known)) if len(known) else None
    return Ranks(tuple(counts[1:-1]), counts[-1], len(ranks) - len(known), median)


def _margins(margins: NDArray[np.float64]) -> Margins:
    counts, _ = np.histogram(margins, bins=MARGIN_EDGES)
    quantiles = tuple(np.quantile(margins, QUANTILES).tolist()) if len(margins) else None
    return Margins(quantiles, tuple(counts.tolist()))


def _logits(predictions: Predictions) -> NDArray[np.float32]:
    if predictions.logits is None:
        raise ValueError(f'predictions of "{predictions.model}" must have logits, got none. Predict with logits.')
    return predictions.logits
