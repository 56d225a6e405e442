"""The worst negative flips as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regnas.comparison.gallery.ranking import answers_of, locate, negative_flips, worst_first
from regnas.flips import Predictions, align
from regnas.report.family.contents import ReportContents
from regnas.report.kit.thumbnails import picture_of, png_uri, thumbnail

MOST_FLIPS = 24


@dataclass(frozen=True)
class Flip:
    """A sample that ``reference`` predicts correctly and ``new``, a larger member, does not."""

    sample: str
    label: str
    reference: str
    new: str
    answer: str  # of the new one; that of the reference is the label
    reference_confidence: float | None  # in its answer; None if no logits were kept
    new_confidence: float | None
    severity: float
    picture: str  # a data URI
    width: int
    height: int


def worst_flips(contents: ReportContents, most: int = MOST_FLIPS) -> list[Flip]:
    """Collect the flips of the family, the worst first; each sample once, with the pair in which it is worst.

    A flip is worse if the larger member is more confident in the wrong class.
    """
    predictions = align(contents.family.predictions)
    worst: dict[int, tuple[float, int, int]] = {}  # by row: severity, smaller and larger member
    for small, large in combinations(range(len(predictions)), 2):
        rows, severities = negative_flips(predictions[small], predictions[large])
        for row, severity in zip(rows.tolist(), severities.tolist(), strict=True):
            if row not in worst or severity > worst[row][0]:
                worst[row] = (severity, small, large)
    flipped = np.array(sorted(worst), dtype=np.int64)  # [F]
    severity = np.array([worst[row][0] for row in flipped.tolist()])  # [F]
    shown = flipped[worst_first(predictions[0].ids[flipped], severity)[:most]]
    split = contents.report_split
    position = locate(predictions[0].ids[shown], split.ids, f"the {split.name} split")
    return [
        _flip(contents, predictions, row, *worst[row], place)
        for row, place in zip(shown.tolist(), position.tolist(), strict=True)
    ]


def _flip(
    contents: ReportContents,
    predictions: tuple[Predictions, ...],
    row: int,
    severity: float,
    small: int,
    large: int,
    place: int,
) -> Flip:
    (reference,), (new,) = (answers_of(predictions[member], np.array([row])) for member in (small, large))
    picture = thumbnail(picture_of(contents.report_split.images[place].cpu().numpy()))
    return Flip(
        sample=str(predictions[large].ids[row]),
        label=contents.class_name(int(predictions[large].targets[row])),
        reference=contents.members[small],
        new=contents.members[large],
        answer=contents.class_name(new.predicted),
        reference_confidence=reference.confidence,
        new_confidence=new.confidence,
        severity=severity,
        picture=png_uri(picture),
        width=picture.width,
        height=picture.height,
    )
