"""The worst negative flips as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regnas.errors import ArtifactError
from regnas.flips import Predictions, align, probabilities_of, severities
from regnas.report.family.contents import ReportContents
from regnas.report.kit.thumbnails import picture_of, png_uri, thumbnail

MOST_FLIPS = 24


@dataclass(frozen=True)
class Flip:
    """A sample that ``reference`` has right and ``new``, a larger member, wrong."""

    sample: str
    label: str
    reference: str
    new: str
    answer: str  # of the new one; that of the reference is the label
    reference_confidence: float | None  # in its answer; None where no logits were kept
    new_confidence: float | None
    severity: float
    picture: str  # a data URI
    width: int
    height: int


@dataclass(frozen=True)
class _Candidate:
    severity: float
    index: int
    pair: tuple[int, int]


def worst_flips(contents: ReportContents, most: int = MOST_FLIPS) -> list[Flip]:
    """The flips of the family, worst first, each sample once with the pair where it is worst.

    The worst is the one where the larger member is surest of what is wrong.
    """
    predictions = align(contents.family.predictions)
    worst: dict[int, _Candidate] = {}
    for small, large in combinations(range(len(predictions)), 2):
        reference, new = predictions[small], predictions[large]
        flipped = np.flatnonzero(reference.correct & ~new.correct)  # [F]
        for index, severity in zip(flipped.tolist(), severities(new, flipped).tolist(), strict=True):
            if index not in worst or severity > worst[index].severity:
                worst[index] = _Candidate(severity, index, (small, large))
    ranked = sorted(worst.values(), key=lambda each: (-each.severity, str(predictions[0].ids[each.index])))[:most]
    position = {str(name): index for index, name in enumerate(contents.report_split.ids.tolist())} if ranked else {}
    return [_flip(contents, predictions, each, position) for each in ranked]


def _flip(
    contents: ReportContents, predictions: tuple[Predictions, ...], found: _Candidate, position: dict[str, int]
) -> Flip:
    small, large = found.pair
    reference, new = predictions[small], predictions[large]
    sample = str(new.ids[found.index])
    if sample not in position:
        split = contents.report_split.name
        raise ArtifactError(f"sample {sample} was predicted but is not in the {split} split: predict on this split")
    picture = thumbnail(picture_of(contents.report_split.images[position[sample]].cpu().numpy()))
    return Flip(
        sample=sample,
        label=contents.class_name(int(new.targets[found.index])),
        reference=contents.members[small],
        new=contents.members[large],
        answer=contents.class_name(int(new.predicted[found.index])),
        reference_confidence=_confidence(reference, found.index),
        new_confidence=_confidence(new, found.index),
        severity=found.severity,
        picture=png_uri(picture),
        width=picture.width,
        height=picture.height,
    )


def _confidence(predictions: Predictions, index: int) -> float | None:
    found = probabilities_of(predictions, np.array([index]), predictions.predicted)
    return None if found is None else float(found[0])
