"""The contents of a gallery: samples that the old model predicts correctly and the new one does not, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regnas.comparison.gallery.ranking import Answer, answers_of, locate, negative_flips, worst_first
from regnas.comparison.gallery.suspects import suspects, why_no_suspects
from regnas.errors import ArtifactError
from regnas.flips import Predictions
from regnas.flips.predictions import examples
from regnas.pictures.decoding import ignore_metadata_warnings
from regnas.report.kit.documents import write_document
from regnas.report.kit.thumbnails import shrink, small_uri
from regnas.runtime.progress import track
from regnas.runtime.signals import stop_unwritten

LONGEST_SIDE = 128  # of a picture on the page


class Pictures(Protocol):
    """Labeled samples with a picture each.

    source: where the samples come from, for error messages
    classes: the names of the classes, by number
    ids, targets: [N]
    """

    @property
    def source(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def ids(self) -> NDArray[np.str_]: ...

    @property
    def targets(self) -> NDArray[np.int64]: ...

    def picture(self, index: int) -> Image.Image:
        """Return the picture of a sample."""
        ...


@dataclass(frozen=True)
class RegressedSample:
    """One negative flip."""

    sample: str
    label: int
    answers: tuple[Answer, ...]  # of the old model, the new one and the others
    severity: float
    suspect: bool
    picture: str  # a data URI


@dataclass(frozen=True)
class Gallery:
    """The samples that a new model broke, with their pictures.

    Attributes:
        models: the names of the old model, the new model and the others.
        classes: the names of the classes, by number.
        samples: the number of samples that were predicted.
        all_flips: the number of negative flips; ``flips`` are the worst of them, worst first.
        all_suspects: the number of negative flips with a suspect label.
        no_suspects: the reason why no label can be marked as suspect; empty if labels can be.
        ranked: whether severities are known.
    """

    models: tuple[str, ...]
    classes: tuple[str, ...]
    samples: int
    all_flips: int
    all_suspects: int
    no_suspects: str
    ranked: bool
    flips: tuple[RegressedSample, ...]

    def class_name(self, index: int) -> str:
        """Return the name of a class; a model may have more outputs than the data have names."""
        return self.classes[index] if index < len(self.classes) else f"class {index}"

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the page, one self-contained HTML file; also write it if ``path`` is given."""
        from regnas.comparison.gallery.page import render  # here, because the page imports this module

        text = render(self)
        if path is not None:
            write_document(Path(path), text)
        return text


def gallery_of(models: Sequence[Predictions], samples: Pictures, most: int) -> Gallery:
    """Collect the worst flips with their pictures; ``models`` are the old one, the new one and others, aligned."""
    position = _positions(models[0], samples)
    old, new = models[0], models[1]
    flipped, severity = negative_flips(old, new)  # [F], [F]
    suspect = suspects(models, flipped)
    order = worst_first(old.ids[flipped], severity)[:most]
    rows = flipped[order]
    answers = [answers_of(each, rows) for each in models]
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
    """Find each predicted sample in the data [N]; their labels must agree, or the class names would be wrong."""
    position = locate(predictions.ids, samples.ids, samples.source)
    differing = predictions.ids[samples.targets[position] != predictions.targets]
    if len(differing):
        raise ArtifactError(
            f"predicted samples must have the same label in {samples.source}, got another one for {len(differing):,} "
            f"of {len(predictions):,}, such as {examples(differing)}. Use the data that were predicted."
        )
    return position


def _pictures(samples: Pictures, indices: NDArray[np.int64]) -> Iterator[str]:
    """Yield data URIs in order, made by threads: PIL releases the interpreter while it decodes."""

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
