"""Make all models of many methods and seeds, and count what their training costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from regnas.runtime.files import write_bytes
from regnas.runtime.printable import file_name
from regnas.runtime.progress import Bar
from regnas.runtime.workers import run_in_order
from regnas.training import log_clipping
from regnas.updates.models.model import Costly, Model, Training, all_parts
from regnas.updates.models.store import ModelStore


def training_macs(store: ModelStore, models: Iterable[Model], without: Iterable[Model] = ()) -> int:
    """Return the multiply-adds of training these models, except what the models in ``without`` need as well."""
    spared = all_parts(without)
    return sum(
        model.training_macs(store) for model in all_parts(models) if isinstance(model, Costly) and model not in spared
    )


def make_all(
    stores: Mapping[int, ModelStore],
    models: Mapping[int, Iterable[Model]],
    workers: int,
    methods: Mapping[Model, str] | None = None,
) -> None:
    """Train everything that these models need and that is not kept yet.

    Args:
        stores: the store of each seed.
        models: the models of each seed.
        workers: the number of processes that train.
        methods: the name of the method that a training belongs to, for logs.
    """
    jobs: dict[tuple[int, Training], list[tuple[int, Training]]] = {}
    for seed, wanted in models.items():
        parts = all_parts(wanted)
        trainings = [model for model in parts if isinstance(model, Training) and not stores[seed].is_kept(model)]
        for model in reversed(trainings):
            needed = all_parts(model.parts())
            jobs[seed, model] = [(seed, part) for part in trainings if part in needed]
    if not jobs:
        return
    verbose = workers == 1
    stores = {seed: replace(store, verbose=verbose, methods=methods or {}) for seed, store in stores.items()}
    make = partial(_make, stores)
    with Bar("" if verbose else "train", len(jobs)) as bar:
        for seed, model in run_in_order(jobs, make, workers):
            bar.advance()
            if not verbose:  # the logs of workers are not shown
                _log_clipping(stores[seed], model)


def copy_metrics(
    stores: Mapping[int, ModelStore], models: Iterable[Model], methods: Mapping[Model, str], folder: Path
) -> None:
    """Copy the record of every training that these models need to ``folder``, under a name that tells which it is."""
    for seed, model in itertools.product(stores, all_parts(models)):
        if isinstance(model, Training):
            store = replace(stores[seed], methods=methods)
            name = file_name(store.describe_training(model).removeprefix("train "))
            if store.metrics(model).exists():
                write_bytes(folder / f"{name}.jsonl", store.metrics(model).read_bytes())


def methods_of(plans: Iterable[tuple[str, Iterable[Model]]]) -> dict[Model, str]:
    """Return for every model the first method that needs it, from pairs of a method and its plan."""
    methods: dict[Model, str] = {}
    for label, plan in plans:
        for model in all_parts(plan):
            methods.setdefault(model, label)
    return methods


def _make(stores: Mapping[int, ModelStore], job: tuple[int, Training]) -> None:
    seed, model = job
    stores[seed].module(model)


def _log_clipping(store: ModelStore, model: Training) -> None:
    clipping = store.clipping(model)
    if clipping is not None:
        log_clipping(store.describe_training(model), clipping)
