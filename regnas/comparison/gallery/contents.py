"""What a gallery shows: the samples that the old model has right and the new one wrong, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regnas.comparison.gallery.suspects import suspects, why_no_suspects
from regnas.errors import ArtifactError
from regnas.flips import Predictions, probabilities_of, severities
from regnas.flips.predictions import examples
from regnas.report.kit.thumbnails import shrink, small_uri
from regnas.runtime.pillow import ignore_metadata_warnings
from regnas.runtime.progress import track
from regnas.runtime.signals import stop_unwritten

LONGEST_SIDE = 128  # of a picture on the page


class Pictures(Protocol):
    """Labeled samples that a person can look at."""

    @property
    def source(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def ids(self) -> NDArray[np.str_]: ...

    @property
    def targets(self) -> NDArray[np.int64]: ...

    def picture(self, index: int) -> Image.Image: ...


@dataclass(frozen=True)
class Answer:
    """``confidence``: the probability of the answer; None where no logits were kept."""

    predicted: int
    confidence: float | None


@dataclass(frozen=True)
class RegressedSample:
    sample: str
    label: int
    answers: tuple[Answer, ...]  # of the old model, the new one and the others
    severity: float
    suspect: bool
    picture: str  # a data URI


@dataclass(frozen=True)
class Gallery:
    """``models`` are the old one, the new one and the others; ``flips`` the worst of ``all_flips``, worst first."""

    models: tuple[str, ...]
    classes: tuple[str, ...]
    samples: int
    all_flips: int
    all_suspects: int
    no_suspects: str  # why no label can be suspect, or nothing
    ranked: bool  # whether severities are known
    flips: tuple[RegressedSample, ...]

    def class_name(self, index: int) -> str:
        """A model may have more outputs than the data have names."""
        return self.classes[index] if index < len(self.classes) else f"class {index}"


def gallery_of(models: Sequence[Predictions], samples: Pictures, most: int) -> Gallery:
    """``models``: the old one, the new one and any others, in one order of samples."""
    position = _positions(models[0], samples)
    old, new = models[0], models[1]
    flipped = np.flatnonzero(old.correct & ~new.correct)  # [F]
    severity, suspect = severities(new, flipped), suspects(models, flipped)
    order = np.lexsort((old.ids[flipped], -severity))[:most]  # where severities are alike, by id
    rows = flipped[order]
    answers = [_answers(each, rows) for each in models]
    pictures = _pictures(samples, position[rows])
    return Gallery(
        models=tuple(each.model for each in models),
        classes=samples.classes,
        samples=len(old),
        all_flips=len(flipped),
        all_suspects=int(np.count_nonzero(suspect)),
        no_suspects=why_no_suspects(models),
        ranked=new.logits is not None,
        flips=tuple(
            RegressedSample(
                sample=str(old.ids[row]),
                label=int(old.targets[row]),
                answers=tuple(each[number] for each in answers),
                severity=float(severity[order[number]]),
                suspect=bool(suspect[order[number]]),
                picture=picture,
            )
            for number, (row, picture) in enumerate(zip(rows.tolist(), pictures, strict=True))
        ),
    )


def _positions(predictions: Predictions, samples: Pictures) -> NDArray[np.int64]:
    """Where the data have each predicted sample [N]; labels have to be the same, or the names would be wrong."""
    place = {name: index for index, name in enumerate(samples.ids.tolist())}
    names = [str(name) for name in predictions.ids.tolist()]
    position = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    missing = predictions.ids[position < 0]
    if len(missing):
        raise ArtifactError(
            f"{len(missing):,} of {len(names):,} predicted samples are not in {samples.source}, such as "
            f"{examples(missing)} (there: {examples(samples.ids)}): give the data that were predicted"
        )
    differing = predictions.ids[samples.targets[position] != predictions.targets]
    if len(differing):
        raise ArtifactError(
            f"{len(differing):,} of {len(names):,} predicted samples have another label in {samples.source}, such as "
            f"{examples(differing)}: give the data that were predicted"
        )
    return position


def _answers(predictions: Predictions, rows: NDArray[np.int64]) -> list[Answer]:
    confidences = probabilities_of(predictions, rows, predictions.predicted)
    known: list[Any] = [None] * len(rows) if confidences is None else confidences.tolist()
    return [Answer(*pair) for pair in zip(predictions.predicted[rows].tolist(), known, strict=True)]


def _pictures(samples: Pictures, indices: NDArray[np.int64]) -> Iterator[str]:
    """Data URIs in order, made by threads: PIL lets go of the interpreter while it decodes."""

    def picture(index: int) -> str:
        return small_uri(shrink(samples.picture(index), LONGEST_SIDE))

    ignore_metadata_warnings()
    pool = ThreadPoolExecutor()
    try:
        for uri in track(pool.map(picture, indices.tolist()), "pictures", len(indices)):
            yield uri
            stop_unwritten()
    finally:
        pool.shutdown(cancel_futures=True)
