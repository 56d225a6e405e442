"""Flips by epoch on the training and the report split (PCT: Yan et al., CVPR 2021, figure 5).

The old model is the reference in every epoch. Flips on the training split show that flips are not only a matter of
generalization, because the new model was trained on these samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regnas.data import Split
from regnas.errors import ConfigurationError
from regnas.report.update.curves import EpochRates, FlipsByEpoch, SplitRates
from regnas.runs.folder import RunFolder
from regnas.runtime.files import read_sealed_list
from regnas.runtime.progress import track
from regnas.updates.config import EVERY_METHOD, UpdateConfig, check_by_epoch
from regnas.updates.job import UpdateJob
from regnas.updates.models import Model, Training
from regnas.updates.planning import Variant

BY_EPOCH = "by_epoch.json"

OldAnswers = dict[tuple[int, Model, str, int], NDArray[np.int64]]  # by seed, model, split and number of samples


def remembered_by_epoch(folder: RunFolder, values: UpdateConfig, asked: Iterable[str]) -> list[str]:
    """Return the methods of the configuration, of this call and of earlier calls: a later report keeps all curves."""
    path = folder.path / BY_EPOCH
    labels = [*values.by_epoch, *(read_sealed_list(path, str, "texts") if path.exists() else []), *asked]
    check_asked_by_epoch(labels, values)
    return list(dict.fromkeys(labels))


def check_asked_by_epoch(labels: Sequence[str], values: UpdateConfig) -> None:
    """Refuse the argument ``by_epoch`` of a call if it names a method that is not configured."""
    try:
        check_by_epoch(labels, values.methods)
    except ValueError as error:
        raise ConfigurationError(f"`by_epoch`: {error}") from None


def watched_variants(values: UpdateConfig, variants: Sequence[Variant], labels: Sequence[str]) -> list[Variant]:
    """Return the variants of these methods; refuse one whose new model is not a single training."""
    rows = {label: {label, *(f"{label}-{kind}" for kind in values.references)} for label in labels}
    named = [variant for variant in variants if any(variant.label in wanted for wanted in rows.values())]
    problems = [
        f"by_epoch: methods.{variant.label} must end in one training, got {type(variant.plan[-1]).__name__}, "
        "which has no epochs. Leave it out."
        for variant in named
        if not isinstance(variant.plan[-1], Training)
    ]
    if problems:
        raise ConfigurationError(*problems)
    if EVERY_METHOD in labels:
        return [variant for variant in variants if isinstance(variant.plan[-1], Training)]
    return named


def watching(job: UpdateJob, variants: Iterable[Variant]) -> UpdateJob:
    """Return the job with stores that keep the predictions by epoch of the new models of these variants."""
    watched = [model for variant in variants if isinstance(model := variant.plan[-1], Training)]
    return replace(job, stores={seed: store.watching(watched) for seed, store in job.stores.items()})


def evaluate_by_epoch(
    job: UpdateJob, variants: Sequence[Variant], titles: Mapping[str, str]
) -> tuple[FlipsByEpoch, ...]:
    """Return the error rate, NFR and relative NFR of each variant and split at the end of every epoch.

    ``titles`` are by the label of the variant.
    """
    known: OldAnswers = {}  # many methods have the same old model
    return tuple(
        _course(job, variant, titles[variant.label], known) for variant in track(variants, "by epoch", len(variants))
    )


def _course(job: UpdateJob, variant: Variant, title: str, known: OldAnswers) -> FlipsByEpoch:
    names = [stage.name for stage in job.chain.stages]
    report = _on_split(job, variant, "report", known)
    return FlipsByEpoch(
        label=variant.label,
        title=title,
        reference=names[0],
        new=names[-1],
        train=_on_split(job, variant, "train", known),
        report=report,
        epochs=tuple(range(1, 1 + len(report.nfr))),
    )


def _on_split(job: UpdateJob, variant: Variant, name: Literal["train", "report"], known: OldAnswers) -> SplitRates:
    old, new = variant.plan[0], variant.plan[-1]
    assert isinstance(new, Training)
    classes = job.chain.stages[0].release.share.classes_of(len(job.splits.classes))
    by_seed = []
    for seed in job.seeds:
        store = job.stores[seed]
        split: Split = getattr(store.watched_samples(new), name)
        place = (seed, old, name, len(split))
        if place not in known:
            known[place] = store.logits(old, split).argmax(dim=1).numpy()
        by_seed.append(rates(known[place], getattr(store.answers(new), name), split.targets.numpy(), classes))
    return SplitRates(
        samples=int((split.targets.numpy() < classes).sum()),
        error_rate=_means([each.error_rate for each in by_seed]),
        nfr=_means([each.nfr for each in by_seed]),
        relative_nfr=_means([each.relative_nfr for each in by_seed]),
        by_seed=tuple(by_seed),
    )


def rates(old: NDArray[np.int64], new: NDArray[np.int32], targets: NDArray[np.int64], classes: int) -> EpochRates:
    """Return rates [E] from predictions of the old model [N] and of the new one by epoch [E, N], on old classes."""
    kept = targets < classes  # the old model does not know the other classes
    old_correct = (old == targets)[kept]  # [N]
    new_wrong = (new != targets)[:, kept]  # [E, N]
    nfr = (new_wrong & old_correct).mean(axis=1)  # [E]
    error_rate = new_wrong.mean(axis=1)
    chances = old_correct.mean() * error_rate
    relative = np.divide(nfr, chances, out=np.zeros_like(nfr), where=chances > 0)
    return EpochRates(tuple(error_rate.tolist()), tuple(nfr.tolist()), tuple(relative.tolist()))


def _means(by_seed: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(np.mean(by_seed, axis=0).tolist())
