"""The worst negative flips as pictures."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regnas.errors import ArtifactError
from regnas.flips import Predictions, align
from regnas.report.contents import ReportContents

MOST_FLIPS = 24
SMALLEST_SIDE = 64
LARGEST_SIDE = 160  # photographs are shrunk to this, or two dozen of them would make megabytes


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

    severity = p_new(answer) - p_new(label): how sure the larger member is of what is wrong; 0 without logits.
    """
    predictions = align(contents.family.predictions)
    worst: dict[int, _Candidate] = {}
    for small, large in combinations(range(len(predictions)), 2):
        reference, new = predictions[small], predictions[large]
        flipped = np.flatnonzero(reference.correct & ~new.correct)  # [F]
        answer, label = _probabilities(new, flipped, new.predicted), _probabilities(new, flipped, new.targets)
        severities = np.zeros(len(flipped)) if answer is None or label is None else answer - label
        for index, severity in zip(flipped.tolist(), severities.tolist(), strict=True):
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
    picture = thumbnail(contents.report_split.images[position[sample]].cpu().numpy())
    return Flip(
        sample=sample,
        label=contents.class_name(int(new.targets[found.index])),
        reference=contents.members[small],
        new=contents.members[large],
        answer=contents.class_name(int(new.predicted[found.index])),
        reference_confidence=_confidence(reference, found.index),
        new_confidence=_confidence(new, found.index),
        severity=found.severity,
        picture=data_uri(picture),
        width=picture.width,
        height=picture.height,
    )


def thumbnail(image: NDArray[np.uint8]) -> Image.Image:
    """A picture of pixels [C, H, W]: small ones enlarged by a whole factor, so that every pixel stays a square."""
    pixels: NDArray[Any] = image.transpose(1, 2, 0) if len(image) == 3 else image[0]  # [H, W, 3] or [H, W]
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    longest = max(picture.size)
    if longest > LARGEST_SIDE:
        width, height = (max(1, round(side * LARGEST_SIDE / longest)) for side in picture.size)
        return picture.resize((width, height), Image.Resampling.LANCZOS)
    factor = max(1, math.ceil(SMALLEST_SIDE / min(picture.size)))
    return picture.resize((picture.width * factor, picture.height * factor), Image.Resampling.NEAREST)


def data_uri(picture: Image.Image) -> str:
    sink = io.BytesIO()
    picture.save(sink, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(sink.getvalue()).decode()}"


def _confidence(predictions: Predictions, index: int) -> float | None:
    found = _probabilities(predictions, np.array([index]), predictions.predicted)
    return None if found is None else float(found[0])


def _probabilities(
    predictions: Predictions, rows: NDArray[np.int64], classes: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """softmax(logits)[row, classes[row]] of some rows [F] -> [F]; None where no logits were kept."""
    if predictions.logits is None:
        return None
    logits = predictions.logits[rows].astype(np.float64)  # [F, C]
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    chosen: NDArray[np.float64] = np.take_along_axis(exponents, classes[rows, None], axis=1)[:, 0]
    totals: NDArray[np.float64] = exponents.sum(axis=1)
    return chosen / totals
