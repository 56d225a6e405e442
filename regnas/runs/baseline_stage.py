"""The fourth stage of a run: tune, train and predict the baselines, on the same data at the same architectures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from regnas.components.builder import auto_keys
from regnas.components.registry import summary_of
from regnas.flips import Predictions
from regnas.networks import parameters_of
from regnas.report.family.contents import ReportedMethod
from regnas.report.tuning import Choice
from regnas.runs.baselines import AccuracyOnly, Baseline, Family, Independent, SubNetwork, plan_members
from regnas.runs.folder import CLIPPING
from regnas.runs.job import Job, predict_report
from regnas.runs.report_stage import reported_family
from regnas.runs.supernet_stage import supernet_training_macs
from regnas.runtime.progress import track
from regnas.search import FamilySearch
from regnas.space import Architecture
from regnas.training import predictions_from
from regnas.updates.methods import Method
from regnas.updates.models import Model, ModelStore, collect_clipping, copy_metrics, make_all, methods_of, training_macs
from regnas.updates.tuning import BySeed, Tuner, resolve


@dataclass(frozen=True)
class TrainedBaselines:
    """The trained baselines by label, and the choices for keys that are "auto"."""

    reported: Mapping[str, ReportedMethod]
    tuning: Sequence[Choice]


def search_baselines(job: Job, search: FamilySearch, members: Mapping[str, Architecture]) -> dict[str, ReportedMethod]:
    """Search the supernet for accuracy alone, if the configuration asks for it, and predict the report split."""
    smallest = next(iter(members.values()))
    return {
        label: _report_inherited(job, search, label, baseline, search.accuracy_only(smallest))
        for label, baseline in job.config.values.baselines.items()
        if isinstance(baseline, AccuracyOnly)
    }


def _report_inherited(
    job: Job, search: FamilySearch, label: str, baseline: Baseline, members: Mapping[str, Architecture]
) -> ReportedMethod:
    """Predict with sub-networks that have the weights of the supernet."""
    predictions = {
        member: predict_report(job, f"{label}-{member}", search.evaluator.network(architecture))
        for member, architecture in track(members.items(), f"predict {label}", len(members))
    }
    return reported_family(
        job, label, baseline.title, summary_of(baseline), members, predictions, supernet_training_macs(job)
    )


def train_baselines(job: Job, members: Mapping[str, Architecture]) -> TrainedBaselines:
    """Tune and train the baselines, and predict the report split with them."""
    values = job.config.values
    family = {name: SubNetwork(values.supernet, architecture) for name, architecture in members.items()}
    trials = _Trials(job, _store(job), family)
    methods = {label: each for label, each in values.baselines.items() if not isinstance(each, AccuracyOnly)}
    methods, choices = resolve(
        methods,
        auto_keys(job.config.table.get("baselines", {})),
        values.chosen,
        Tuner(trials.predict, lambda _: trials.predict([Independent()])[0], trials.training_macs),
        again=bool(job.folder.facts.get("tune")),
    )
    plans = {label: plan_members(method, family) for label, method in methods.items()}
    trials.make([(label, plan.values()) for label, plan in plans.items()])
    _note_clipping(job, trials.store, plans)
    entries = [(label, member) for label, plan in plans.items() for member in plan]
    predictions = {
        (label, member): predict_report(job, f"{label}-{member}", trials.store.module(plans[label][member]))
        for label, member in track(entries, "predict baselines", len(entries))
    }
    reported = {
        label: ReportedMethod(
            name=label,
            title=method.title,
            description=summary_of(method),
            predictions=tuple(predictions[label, member] for member in members),
            architectures=tuple(members.values()),
            macs=tuple(trials.store.macs(model) for model in plans[label].values()),  # of an ensemble, of all members
            parameters=tuple(parameters_of(trials.store.module(model)) for model in plans[label].values()),
            training_macs=training_macs(trials.store, plans[label].values()),
        )
        for label, method in methods.items()
    }
    tuning = [replace(choice, cost=trials.relative_cost(choice.training_macs)) for choice in choices]
    return TrainedBaselines(reported, tuning)


@dataclass(frozen=True)
class _Trials:
    """Methods along the members of a family, measured on the search split."""

    job: Job
    store: ModelStore
    family: Family
    known: dict[Model, Predictions] = field(default_factory=dict)  # many methods share models

    def make(self, plans: Sequence[tuple[str, Iterable[Model]]]) -> None:
        """Train the models of the plans, each with the name of its method."""
        seed, workers = self.store.seed, self.job.config.values.machine.workers
        models = [model for _, plan in plans for model in plan]
        methods = methods_of(plans)
        make_all({seed: self.store}, {seed: models}, workers, methods)
        copy_metrics({seed: self.store}, models, methods, self.job.folder.metrics)

    def predict(self, methods: Sequence[Method]) -> list[BySeed]:
        """Train the models of the methods, and return their predictions on the search split."""
        plans = [(f"tuning {method.title}", self._plan(method)) for method in methods]
        self.make(plans)
        return [[[self._predicted(model) for model in plan]] for _, plan in plans]

    def training_macs(self, methods: Sequence[Method]) -> int:
        """Return the multiply-adds of training the models of the methods."""
        return training_macs(self.store, [model for method in methods for model in self._plan(method)])

    def relative_cost(self, macs: int) -> float:
        """Divide by the cost of independent training; return 0 for 0 without computing that cost."""
        return macs / self.training_macs([Independent()]) if macs else 0.0

    def _plan(self, method: Method) -> list[Model]:
        return list(plan_members(method, self.family).values())

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
        loggers=job.trainer.loggers,
    )


def _note_clipping(job: Job, store: ModelStore, plans: Mapping[str, Mapping[str, Model]]) -> None:
    trainings = collect_clipping(store, {label: list(plan.values()) for label, plan in plans.items()})
    known = {f"{each.method}, {each.training}": each.clipping for each in trainings}
    job.folder.add(CLIPPING, {name: counts.to_json() for name, counts in known.items() if counts is not None})
