"""The whole update study, from a configuration to a report.

Every trained network is kept by its content, so that resuming is running again: what is there is only loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regnas.config import LoadedConfig, describe
from regnas.data import Split, Splits, in_random_class_order
from regnas.errors import ConfigurationError
from regnas.flips import Predictions
from regnas.methods import Chain, Method, Stage
from regnas.methods.none import NoTreatment
from regnas.models import Model, Training, Workshop, all_parts, make_all, network_of, training_macs, weights_in
from regnas.networks import parameters_of
from regnas.report import write_update_report
from regnas.run_folder import RunFolder
from regnas.runtime.files import read_json, write_json
from regnas.runtime.machine import choose_device
from regnas.runtime.progress import track
from regnas.training import predictions_from
from regnas.update_config import Sweep, UpdateConfig
from regnas.update_results import Outcome, SweepPoint, summarise, summarise_sweep
from regnas.updated import write_updated

# What decides the bits of a training, of all that a run remembers of its machine.
DECISIVE_VERSIONS = ("regnas", "torch", "numpy")
SWEEPS = "sweeps.json"

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class Variant:
    """A method with one kind of references."""

    label: str
    title: str
    description: str
    plan: tuple[Model, ...]  # one model for every release


@dataclass(frozen=True)
class UpdateJob:
    """What all steps share."""

    config: LoadedConfig[UpdateConfig]
    folder: RunFolder
    splits: Splits
    shops: Mapping[int, Workshop]  # by seed
    chain: Chain
    evaluated_on: dict[str, Split] = field(default_factory=dict)  # by the name of the whole split
    known: dict[tuple[int, Model, str], Predictions] = field(default_factory=dict)  # many methods share models

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.config.values.seeds

    def on_old_classes(self, split: Split) -> Split:
        """The samples of the classes that the first release knows: all others have nothing to compare with."""
        return replace(self.chain.stages[0].release.share, samples=1.0).of(split, len(self.splits.classes), seed=0)


def run_update(config: LoadedConfig[UpdateConfig], folder: RunFolder, sweeps: Sequence[str] = ()) -> dict[str, Any]:
    """Train, predict, compare; the results, which are also in the report."""
    swept = remembered_sweeps(folder, sweeps)
    job = prepare(config, folder)
    variants = plan_all(config, job.chain)
    plain = NoTreatment().plan(job.chain)
    floor = noise_floor_models(job.chain, plain)
    curves = {sweep: plan_sweep(job, sweep) for sweep in swept.values()}
    if swept:  # and all can be planned: a bad one would be in the way for good
        write_json(folder.path / SWEEPS, list(swept))
    wanted = [model for variant in variants for model in variant.plan]
    wanted += [*plain, *floor]
    wanted += [model for curve in curves.values() for plan in curve.values() for model in plan]
    with folder.timed("train"):
        make_all(job.shops, dict.fromkeys(job.seeds, wanted), config.values.machine.workers)
    with folder.timed("predict"):
        outcomes = [outcome_of(job, variant, plain) for variant in track(variants, "predict", len(variants))]
        results = summarise(
            title=config.name,
            scenario=describe_scenario(job.chain),
            models=[stage.name for stage in job.chain.stages],
            seeds=job.seeds,
            plain=[predict(job, seed, plain) for seed in job.seeds],
            floor=[predict(job, seed, floor) for seed in job.seeds],
            outcomes=outcomes,
            sweeps=[evaluate_sweep(job, sweep, curve, plain) for sweep, curve in curves.items()],
            facts=_facts(job),
        )
    with folder.timed("report"):
        export_networks(job, variants)
        write_update_report(results, folder.report)
    return results


def prepare(config: LoadedConfig[UpdateConfig], folder: RunFolder) -> UpdateJob:
    """Load the data and build every network once, before anything is trained."""
    log.info("data: %s", describe(config.table, "data"))
    splits = load_splits(config.values)
    folder.check_data(splits.summary())
    conditions = folder.facts["machine"] | {"threads": folder.facts["threads"]}
    conditions["versions"] = {name: folder.facts["versions"][name] for name in DECISIVE_VERSIONS}
    shops = open_shops(config.values, splits, conditions)
    chain = Chain(tuple(Stage(name, release) for name, release in config.values.models.items()))
    for stage in chain.stages:
        check_stage(stage, shops[config.values.seeds[0]])
    return UpdateJob(config, folder, splits, shops, chain)


def check_update(config: LoadedConfig[UpdateConfig]) -> tuple[str, int]:
    """Everything that can be checked without training: the scenario in words, and the trainings it takes a seed."""
    splits = load_splits(config.values)
    shops = open_shops(config.values, splits, {})
    chain = Chain(tuple(Stage(name, release) for name, release in config.values.models.items()))
    for stage in chain.stages:
        check_stage(stage, shops[config.values.seeds[0]])
    variants = plan_all(config, chain)
    plain = NoTreatment().plan(chain)
    wanted = [*plain, *noise_floor_models(chain, plain), *(model for variant in variants for model in variant.plan)]
    return describe_scenario(chain), sum(isinstance(model, Training) for model in all_parts(wanted))


def load_splits(values: UpdateConfig) -> Splits:
    """The data; where some release knows a part of the classes, that part is a random one.

    But for a model that is there already: its outputs are the first classes in the data's own order.
    """
    splits, releases = values.data.load(), values.models.values()
    given = any(release.checkpoint or not release.trained for release in releases)
    if any(release.classes < 1 for release in releases) and not given:
        return in_random_class_order(splits, seed=0)
    return splits


def open_shops(values: UpdateConfig, splits: Splits, conditions: Mapping[str, Any]) -> dict[int, Workshop]:
    return {
        seed: Workshop(
            splits=splits,
            training=values.training,
            fine_tuning=values.fine_tuning or values.training,
            device=choose_device(values.machine.device),
            calibration_images=values.calibration_images,
            folder=Path(values.cache).expanduser(),
            seed=seed,
            conditions=conditions,
        )
        for seed in values.seeds
    }


def plan_all(config: LoadedConfig[UpdateConfig], chain: Chain) -> list[Variant]:
    """Every method, and in a chain of three or more every targeted one with each kind of references."""
    values = config.values
    variants, problems = [], []
    for label, method in values.methods.items():
        kinds = values.references if method.targeted and len(chain.stages) > 2 else ("chain",)
        for kind in kinds:
            suffix = f" ({kind})" if len(chain.stages) > 2 and method.targeted else ""
            try:
                plan = method.plan(replace(chain, references=kind))
            except ConfigurationError as error:
                problems.append(f"{config.name}: {error}")
                break
            name = f"{label}-{kind}" if suffix else label
            variants.append(Variant(name, f"{method.title}{suffix}", _first_line(method), plan))
    labels = [variant.label for variant in variants]
    problems += [
        f"{config.name}: two methods would be called {label} in the report: rename one of them"
        for label in dict.fromkeys(labels)
        if labels.count(label) > 1
    ]
    if problems:
        raise ConfigurationError(*problems)
    return variants


def noise_floor_models(chain: Chain, plain: tuple[Model, ...]) -> tuple[Model, ...]:
    """Two trainings of the newest release that differ in chance alone."""
    stage = chain.stages[-1]
    return stage.train(plain[-2], 0), stage.train(plain[-2], 1)


def predict(job: UpdateJob, seed: int, models: Sequence[Model], split: Split | None = None) -> list[Predictions]:
    """What models answer for the old classes of the report split."""
    whole = split or job.splits.report
    if whole.name not in job.evaluated_on:
        job.evaluated_on[whole.name] = job.on_old_classes(whole)
    chosen, shop = job.evaluated_on[whole.name], job.shops[seed]
    for model in models:
        if (seed, model, chosen.name) not in job.known:
            logits = shop.logits(model, chosen)
            predictions = predictions_from(shop.identity(model)[:12], logits, chosen, keep_logits=True)
            job.known[seed, model, chosen.name] = predictions
    return [job.known[seed, model, chosen.name] for model in models]


def outcome_of(job: UpdateJob, variant: Variant, plain: tuple[Model, ...]) -> Outcome:
    """Predict with a method's models, keep the predictions and the new networks, and say what it all cost."""
    shop = job.shops[job.seeds[0]]
    predictions = []
    for seed in job.seeds:
        predictions.append(predict(job, seed, variant.plan))
        for stage, predicted in zip(job.chain.stages, predictions[-1], strict=True):
            predicted.save(job.folder.predictions / f"seed-{seed}" / variant.label / f"{stage.name}.npz")
    untreated = training_macs(shop, plain[1:], without=plain[:1])
    treated = training_macs(shop, variant.plan[1:], without=variant.plan[:1])
    return Outcome(
        label=variant.label,
        title=variant.title,
        description=variant.description,
        predictions=predictions,
        parameters=parameters_of(shop.module(variant.plan[-1])),
        training_cost=treated / untreated,
    )


def export_networks(job: UpdateJob, variants: Sequence[Variant]) -> None:
    """The new model of every method that ends in one network, for whoever ships it."""
    name, release = list(job.config.values.models.items())[-1]
    networks = {
        (variant.label, seed): job.shops[seed].module(model)
        for variant in variants
        if network_of(model := variant.plan[-1]) == release.network and weights_in(model) == model
        for seed in job.seeds
    }
    known = job.splits.classes[: release.share.classes_of(len(job.splits.classes))]
    data = job.splits.summary() | {"classes": list(known)}
    write_updated(job.folder.path / "models", networks, job.config.table["models"][name]["network"], data)


def remembered_sweeps(folder: RunFolder, asked: Sequence[str]) -> dict[str, Sweep]:
    """Those that were asked for now or before, by their texts, so that a later report does not lose a curve."""
    path = folder.path / SWEEPS
    texts = [*(read_json(path) if path.exists() else []), *asked]
    sweeps = {str(sweep): (text, sweep) for text, sweep in ((text, Sweep.parse(text)) for text in texts)}
    return dict(sweeps.values())


def plan_sweep(job: UpdateJob, sweep: Sweep) -> dict[float, tuple[Model, ...]]:
    variants: dict[float, Method] = sweep.variants(job.config.values.methods)
    return {value: method.plan(job.chain) for value, method in variants.items()}


def evaluate_sweep(
    job: UpdateJob, sweep: Sweep, curve: Mapping[float, tuple[Model, ...]], plain: tuple[Model, ...]
) -> dict[str, Any]:
    """Measures of the newest model at each value, on the report split and on the search split."""
    search = job.splits.search
    points = [
        SweepPoint(
            value,
            [predict(job, seed, (plan[0], plan[-1])) for seed in job.seeds],
            [predict(job, seed, (plan[0], plan[-1]), search) for seed in job.seeds],
        )
        for value, plan in track(curve.items(), f"sweep {sweep}", len(curve))
    ]
    untreated = [predict(job, seed, plain[-1:], search)[0] for seed in job.seeds]
    method = next(iter(sweep.variants(job.config.values.methods).values()))
    return summarise_sweep(sweep.label, method.title.partition(" (")[0], sweep.key, points, untreated)


def describe_scenario(chain: Chain) -> str:
    """What changes along the chain, in words."""
    releases = [stage.release for stage in chain.stages]
    changes = ["same architecture" if len({release.network for release in releases}) == 1 else "other architecture"]
    for key, what in (("samples", "more samples"), ("classes", "more classes")):
        shares = [getattr(release, key) for release in releases]
        if len(set(shares)) > 1:
            changes.append(f"{what} ({' → '.join(f'{share:.0%}' for share in shares)})")
    if any(release.start == "previous" for release in releases):
        changes.append("fine-tuned from the old weights")
    if len(releases) > 2:
        changes.append(f"a chain of {len(releases)}")
    return ", ".join(changes)


def check_stage(stage: Stage, shop: Workshop) -> None:
    """A network that cannot be built, or a file that cannot be read, is found before hours of training."""
    release = stage.release
    classes = release.share.classes_of(shop.classes)
    try:
        if stage.given:
            shop.module(stage.given)
        else:
            shop.fresh(release.network, classes, stage.name)
    except ValueError as error:
        raise ConfigurationError(f"models.{stage.name}.network: {error}") from None


def _first_line(method: Method) -> str:
    return (type(method).__doc__ or "").splitlines()[0]


def _facts(job: UpdateJob) -> dict[str, str]:
    facts, values = job.folder.facts, job.config.values
    samples = ", ".join(f"{split.name} {len(split):,}" for split in job.splits.all)
    networks = "; ".join(f"{name}: {describe(job.config.table['models'][name], 'network')}" for name in values.models)
    recipe = f"{values.training.epochs} epochs, learning rate {values.training.learning_rate:g}"
    tuning = values.fine_tuning or values.training
    return {
        "Data": f"{describe(job.config.table, 'data')}: {samples}",
        "Data digest": job.splits.digest[:16],
        "Models": networks,
        "Training": recipe,
        "Fine-tuning": f"{tuning.epochs} epochs, learning rate {tuning.learning_rate:g}",
        "Seeds": ", ".join(map(str, values.seeds)),
        "Machine": f"{facts['machine']['platform']}, {facts['machine']['device']}, {facts['threads']} threads",
        "Versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
