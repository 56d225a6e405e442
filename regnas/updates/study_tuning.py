"""Choose the keys of an update's methods that are "auto", on the old classes of the search split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regnas.components.builder import auto_keys
from regnas.report.tuning import Choice
from regnas.updates.job import UpdateJob
from regnas.updates.methods import Method
from regnas.updates.methods.fine_tuning import FineTuning
from regnas.updates.methods.none import NoTreatment
from regnas.updates.models import Model, make_all, training_macs
from regnas.updates.tuning import BySeed, Tuner, resolve

TUNE = "tune"  # a fact of a run folder: it chooses again and ignores earlier choices in the configuration


def tune_methods(job: UpdateJob) -> tuple[UpdateJob, list[Choice]]:
    """Return the job with a number in the place of every "auto", and the record of each choice."""
    values = job.config.values
    methods, choices = resolve(
        values.methods,
        auto_keys(job.config.table["methods"]),
        values.chosen,
        _tuner(job),
        again=bool(job.folder.facts.get(TUNE)),
    )
    return replace(job, config=replace(job.config, values=replace(values, methods=methods))), choices


def add_costs(job: UpdateJob, choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Return every choice with the cost of its grid, as a multiple of training the new models untreated."""
    plain = NoTreatment().plan(job.chain)
    store = job.stores[job.seeds[0]]
    untreated = training_macs(store, plain[1:], without=plain[:1])
    seeds = job.config.values.tuning_seeds
    return tuple(replace(choice, cost=seeds * choice.training_macs / untreated) for choice in choices)


def _tuner(job: UpdateJob) -> Tuner:
    values = job.config.values
    seeds = job.seeds[: values.tuning_seeds]

    def predict(methods: Sequence[Method]) -> list[BySeed]:
        plans = [method.plan(job.chain) for method in methods]
        wanted = [model for plan in plans for model in plan]
        make_all(job.stores, dict.fromkeys(seeds, wanted), values.machine.workers)
        return [[job.predict(seed, plan, job.splits.search) for seed in seeds] for plan in plans]

    def untreated(method: Method) -> BySeed:
        return predict([FineTuning() if method.fine_tunes else NoTreatment()])[0]

    def cost(methods: Sequence[Method]) -> int:
        models: list[Model] = [model for method in methods for model in method.plan(job.chain)]
        return training_macs(job.stores[seeds[0]], models, without=NoTreatment().plan(job.chain))

    return Tuner(predict, untreated, cost)
