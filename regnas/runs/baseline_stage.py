"""The baselines of a run: what a user would do instead, at its best, on the same data at the same architectures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regnas.components.builder import auto_keys
from regnas.flips import Predictions
from regnas.networks import parameters_of
from regnas.report.family.contents import ReportedMethod
from regnas.runs.baselines import AccuracyOnly, Family, Independent, Inherited, Source, SubNetwork, plan_members
from regnas.runs.folder import CLIPPING
from regnas.runs.job import Job, predict_report
from regnas.runs.supernet_stage import supernet_training_macs
from regnas.runtime.progress import track
from regnas.search import FamilySearch
from regnas.space import Architecture
from regnas.training import predictions_from
from regnas.updates.methods import Method
from regnas.updates.models import Model, ModelStore, clipped_trainings, make_all, training_macs
from regnas.updates.tuning import BySeed, Tuner, resolve


def baseline_methods(
    job: Job, search: FamilySearch, architectures: Mapping[str, Architecture]
) -> tuple[list[ReportedMethod], list[dict[str, Any]]]:
    """Search, tune and train what a user would do instead, predict the report split with it, and say what was tuned."""
    values = job.config.values
    family = {name: SubNetwork(values.supernet, architecture) for name, architecture in architectures.items()}
    searched = {
        label: baseline.plan(search, family)
        for label, baseline in values.baselines.items()
        if isinstance(baseline, AccuracyOnly)
    }
    search.evaluator.close()  # nothing more is searched, and its workers would only wait beside those that train
    trials = _Trials(job, _store(job), family)
    methods = {label: each for label, each in values.baselines.items() if not isinstance(each, AccuracyOnly)}
    methods, choices = resolve(
        methods,
        auto_keys(job.config.table.get("baselines", {})),
        values.chosen,
        Tuner(trials.predict, lambda _: trials.predict([Independent()])[0], trials.training_macs),
        again=bool(job.folder.facts.get("tune")),
    )
    trained: dict[str, Mapping[str, Source]] = {
        label: plan_members(method, family) for label, method in methods.items()
    }
    trials.make(trained.values())
    _note_clipping(job, trials.store, trained)
    plans = {label: searched.get(label) or trained[label] for label in values.baselines}  # in the order given
    entries = [(label, member, source) for label, plan in plans.items() for member, source in plan.items()]
    predictions: dict[str, dict[str, Predictions]] = {label: {} for label in plans}
    for label, member, source in track(entries, "predict baselines", len(entries)):
        if isinstance(source, Inherited):
            network = search.evaluator.network(source.architecture)
        else:
            network = trials.store.module(source)
        predictions[label][member] = predict_report(job, f"{label}-{member}", network)
    reported = []
    for label, plan in plans.items():
        baseline = methods.get(label, values.baselines[label])
        costs = [_cost(job, trials.store, source) for source in plan.values()]
        own = _models([plan])
        reported.append(
            ReportedMethod(
                name=label,
                title=baseline.title,
                description=(type(baseline).__doc__ or "").splitlines()[0],
                predictions=tuple(predictions[label].values()),
                architectures=tuple(
                    source.architecture if isinstance(source, Inherited) else architectures[member]
                    for member, source in plan.items()
                ),
                macs=tuple(macs for macs, _ in costs),
                parameters=tuple(parameters for _, parameters in costs),
                training_macs=training_macs(trials.store, own) if own else supernet_training_macs(job),
            )
        )
    return reported, [{**choice.to_json(), "cost": trials.relative_cost(choice.training_macs)} for choice in choices]


@dataclass(frozen=True)
class _Trials:
    """Methods along the members of a family, measured on the search split."""

    job: Job
    store: ModelStore
    family: Family
    known: dict[Model, Predictions] = field(default_factory=dict)  # many methods share models

    def make(self, plans: Iterable[Mapping[str, Source]]) -> None:
        models = {self.store.seed: _models(plans)}
        make_all({self.store.seed: self.store}, models, self.job.config.values.machine.workers)

    def predict(self, methods: Sequence[Method]) -> list[BySeed]:
        plans = [plan_members(method, self.family) for method in methods]
        self.make(plans)
        return [[[self._predicted(model) for model in plan.values()]] for plan in plans]

    def training_macs(self, methods: Sequence[Method]) -> int:
        return training_macs(self.store, _models([plan_members(method, self.family) for method in methods]))

    def relative_cost(self, macs: int) -> float:
        """As a multiple of independent training; that of nothing is known without it."""
        return macs / self.training_macs([Independent()]) if macs else 0.0

    def _predicted(self, model: Model) -> Predictions:
        if model not in self.known:
            split = self.job.splits.search
            logits = self.store.logits(model, split)
            self.known[model] = predictions_from(self.store.identity(model)[:12], logits, split, keep_logits=False)
        return self.known[model]


def _store(job: Job) -> ModelStore:
    values = job.config.values
    recipe = values.training.one_after_another(job.folder.processes)  # the supernet's steps, by one process
    return ModelStore(
        splits=job.splits,
        training=recipe,
        fine_tuning=recipe,
        device=job.device,
        calibration_images=job.calibration_images.networks,
        folder=job.folder.trainings,
        seed=values.seed,
    )


def _note_clipping(job: Job, store: ModelStore, plans: Mapping[str, Mapping[str, Source]]) -> None:
    trainings = clipped_trainings(store, {label: _models([plan]) for label, plan in plans.items()})
    known = {f"{each.method}, {each.training}": each.clipping for each in trainings}
    job.folder.add(CLIPPING, {name: counts.to_json() for name, counts in known.items() if counts is not None})


def _models(plans: Iterable[Mapping[str, Source]]) -> list[Model]:
    return [source for plan in plans for source in plan.values() if not isinstance(source, Inherited)]


def _cost(job: Job, store: ModelStore, source: Source) -> tuple[int, int]:
    """Multiply-adds and parameters at inference; of an ensemble those of all members."""
    if isinstance(source, Inherited):
        cost = job.space.cost(source.architecture)
        return cost.macs, cost.parameters
    return store.macs(source), parameters_of(store.module(source))
