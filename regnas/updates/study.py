"""Run an update, from a configuration to a report.

Every trained network is kept by its content. To resume is to run again: networks that exist are only loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from regnas.data import Preprocessing
from regnas.family.images import transform_of
from regnas.family.updated import write_updated
from regnas.flips import diagnose
from regnas.networks import parameters_of
from regnas.report.diagnostics import FlipDiagnostics, diagnostics_of
from regnas.report.update.methods import FINE_TUNING, UNTREATED
from regnas.report.update.report import write_update_report
from regnas.report.update.results import UpdateResult
from regnas.runs.config import LoadedConfig
from regnas.runs.folder import RunFolder
from regnas.runs.tables import describe
from regnas.runtime.files import write_sealed_list
from regnas.runtime.memory import LazyMapping
from regnas.runtime.progress import track
from regnas.updates.config import UpdateConfig
from regnas.updates.epochs import BY_EPOCH, evaluate_by_epoch, remembered_by_epoch, watched_variants, watching
from regnas.updates.job import UpdateJob, check_stages, load_splits, open_stores, prepare
from regnas.updates.methods.none import NoTreatment
from regnas.updates.models import (
    ClippedTraining,
    Model,
    ModelStore,
    collect_clipping,
    copy_metrics,
    describe_clipping,
    make_all,
    methods_of,
    network_of,
    single_labels_of,
    training_macs,
    trainings_in,
    weights_in,
)
from regnas.updates.planning import Variant, describe_scenario, plan_all, plan_noise_floor
from regnas.updates.results import Outcome, summarize
from regnas.updates.study_tuning import TUNE, add_costs, tune_methods
from regnas.updates.sweeps import SWEEPS, evaluate_sweep, plan_sweep, remembered_sweeps


def run_update(
    config: LoadedConfig[UpdateConfig],
    folder: RunFolder,
    sweeps: Sequence[str] = (),
    by_epoch: Sequence[str] = (),
    tune: bool = False,
) -> UpdateResult:
    """Train, predict, compare and write the report; return the results.

    ``tune`` chooses the keys of methods that are "auto" again, and ignores earlier choices in the configuration.
    """
    swept = remembered_sweeps(folder, sweeps)
    job = prepare(config, folder)
    _check_labels([model for each in plan_all(config, job.chain) for model in each.plan], job.stores[job.seeds[0]])
    if tune:
        folder.keep(TUNE, True)
    with folder.timed("tune"):
        job, choices = tune_methods(job)
    config = job.config
    variants = plan_all(config, job.chain)
    plain = NoTreatment().plan(job.chain)
    floor = plan_noise_floor(job.chain, plain)
    followed = remembered_by_epoch(folder, config.values, by_epoch)
    watched = watched_variants(config.values, variants, followed)
    if followed:
        write_sealed_list(folder.path / BY_EPOCH, followed)
    job = watching(job, watched)
    curves = {sweep: plan_sweep(job, sweep) for sweep in swept.values()}
    if swept:  # after planning, because an impossible sweep on record would make every later call fail
        write_sealed_list(folder.path / SWEEPS, list(swept))
    wanted = [model for variant in variants for model in variant.plan]
    wanted += [*plain, *floor]
    wanted += [model for curve in curves.values() for plan in curve.values() for model in plan]
    with folder.timed("train"):
        methods = methods_of([("no treatment", plain), *((each.label, each.plan) for each in variants)])
        make_all(job.stores, dict.fromkeys(job.seeds, wanted), config.values.machine.workers, methods)
        copy_metrics(job.stores, wanted, methods, folder.metrics)
    with folder.timed("predict"):
        outcomes = [outcome_of(job, variant, plain) for variant in track(variants, "predict", len(variants))]
        clipped = _collect_clipping(job, {"no treatment": plain, **{each.label: each.plan for each in variants}})
        results = summarize(
            title=config.name,
            scenario=describe_scenario(job.chain),
            models=[stage.name for stage in job.chain.stages],
            seeds=job.seeds,
            plain=[job.predict(seed, plain) for seed in job.seeds],
            floor=[job.predict(seed, floor) for seed in job.seeds],
            outcomes=outcomes,
            sweeps=[evaluate_sweep(job, sweep, curve, plain) for sweep, curve in curves.items()],
            facts=_facts(job) | {"Clipped steps": describe_clipping(clipped)},
            fine_tuned=next((each.predictions for each in outcomes if each.name == FINE_TUNING), None),
        )
        rows = dict(zip((outcome.label for outcome in outcomes), results.titles, strict=True))
        results = replace(
            results,
            tuning=add_costs(job, choices),
            diagnostics=_diagnostics(job, outcomes, rows),
            by_epoch=evaluate_by_epoch(job, watched, rows),
            clipping=tuple(each.result for each in clipped),
        )
    with folder.timed("report"):
        export_networks(job, variants)
        write_update_report(results, folder.report)
    return results


def check_update(config: LoadedConfig[UpdateConfig]) -> tuple[str, int]:
    """Check everything that can be checked without training.

    Returns:
        The scenario in words, and the number of trainings per seed.
    """
    values = config.values
    stores = open_stores(values, load_splits(values), {})
    check_stages(values.chain, stores[values.seeds[0]])
    plain = NoTreatment().plan(values.chain)
    wanted = [*plain, *plan_noise_floor(values.chain, plain)]
    wanted += [model for variant in plan_all(config, values.chain) for model in variant.plan]
    _check_labels(wanted, stores[values.seeds[0]])
    return describe_scenario(values.chain), len(trainings_in(wanted))


def _check_labels(models: Sequence[Model], store: ModelStore) -> None:
    """Refuse a recipe that mixes images for a training that needs the labels of single images."""
    for model in trainings_in(models):
        recipe = model.recipe(store)
        section = "training" if recipe.augmentations == store.training.augmentations else "fine_tuning"
        recipe.check_labels(single_labels_of(model), section)


def outcome_of(job: UpdateJob, variant: Variant, plain: tuple[Model, ...]) -> Outcome:
    """Predict with the models of a method, keep the predictions, and count the cost."""
    store = job.stores[job.seeds[0]]
    predictions, ends = [], []
    for seed in job.seeds:
        with_logits = job.predict_logits(seed, variant.plan)
        for stage, predicted in zip(job.chain.stages, with_logits, strict=True):
            predicted.save(job.folder.predictions / f"seed-{seed}" / variant.label / f"{stage.name}.npz")
        ends.append((with_logits[0], with_logits[-1]))
        predictions.append(job.predict(seed, variant.plan))
    untreated = training_macs(store, plain[1:], without=plain[:1])
    treated = training_macs(store, variant.plan[1:], without=variant.plan[:1])
    return Outcome(
        name=variant.name,
        label=variant.label,
        title=variant.title,
        description=variant.description,
        predictions=predictions,
        parameters=parameters_of(store.module(variant.plan[-1])),
        training_cost=treated / untreated,
        counterpart=variant.counterpart,
        diagnostics=diagnose(ends),
    )


def export_networks(job: UpdateJob, variants: Sequence[Variant]) -> None:
    """Write the new model of every method that ends in one network, ready to be shipped."""
    name, configured = list(job.config.values.models.items())[-1]
    release = job.chain.stages[-1].release
    models = {
        (variant.label, seed): model
        for variant in variants
        if network_of(model := variant.plan[-1]) == release.network and weights_in(model) == model
        for seed in job.seeds
    }
    networks = LazyMapping(models, lambda key: job.stores[key[1]].module(models[key]))
    known = job.splits.classes[: release.share.classes_of(len(job.splits.classes))]
    reading = _read_by(configured.statistics, job.splits.preprocessing)
    data = job.splits.summary() | {"classes": list(known), "preprocessing": reading.to_json()}
    plans = {variant.label: variant.plan[-1:] for variant in variants}
    predictions = {(label, seed): job.predict(seed, plans[label])[0] for label, seed in networks}
    table = job.config.table["models"][name]["network"]
    write_updated(job.folder.path / "models", networks, table, data, predictions)


def _read_by(normalization: Preprocessing | None, data: Preprocessing) -> Preprocessing:
    """Return how a network reads images: with its own statistics if it has some, and the transform of the data."""
    if normalization is None:
        return data
    transform = transform_of(data)
    return normalization if transform_of(normalization) == transform else replace(normalization, transform=transform)


def _diagnostics(job: UpdateJob, outcomes: Sequence[Outcome], rows: Mapping[str, str]) -> FlipDiagnostics | None:
    """Return the diagnostics from the oldest to the newest model over all seeds; no treatment comes first."""
    ordered = sorted(outcomes, key=lambda outcome: outcome.name != UNTREATED)
    methods = [(each.label, rows[each.label], each.diagnostics) for each in ordered]
    return diagnostics_of(job.chain.stages[0].name, job.chain.stages[-1].name, methods)


def _collect_clipping(job: UpdateJob, plans: Mapping[str, Sequence[Model]]) -> list[ClippedTraining]:
    """Return every training under the first method that needs it; shared trainings belong to no treatment."""
    return [each for seed in job.seeds for each in collect_clipping(job.stores[seed], plans)]


def _facts(job: UpdateJob) -> dict[str, str]:
    values = job.config.values
    samples = ", ".join(f"{split.name} {len(split):,}" for split in job.splits.all)
    tables = job.config.table["models"]
    networks = "; ".join(
        f"{name}: {describe(tables[name], 'network')}{_describe_release(tables[name])}" for name in values.models
    )
    recipe = f"{values.training.epochs} epochs, learning rate {values.training.learning_rate:g}"
    tuning = values.fine_tuning or values.training
    return {
        "Data": f"{describe(job.config.table, 'data')}: {samples}",
        "Data digest": job.splits.digest[:16],
        "Models": networks,
        "Training": recipe,
        "Fine-tuning": f"{tuning.epochs} epochs, learning rate {tuning.learning_rate:g}",
        "Seeds": ", ".join(map(str, values.seeds)),
        **job.folder.conditions(),
    }


def _describe_release(release: Mapping[str, Any]) -> str:
    return f", normalization {release['normalization']}" if "normalization" in release else ""
