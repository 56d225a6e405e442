"""Record the rows that train every member separately, at the architectures of the first seed's REG-NAS family."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.cifar10.recording import Study, load_family
from regnas.runs.baselines import SubNetwork, plan_members
from regnas.runs.job import Job
from regnas.space import Architecture
from regnas.updates.methods import Method
from regnas.updates.methods.elodi import Elodi
from regnas.updates.methods.ensemble import EnsembleParagon
from regnas.updates.methods.focal_distillation_kl import FocalDistillationKL
from regnas.updates.methods.focal_distillation_lm import FocalDistillationLM
from regnas.updates.methods.none import NoTreatment
from regnas.updates.models import Model, ModelStore, Trained, make_all, training_macs

MEMBERS = 4


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    method: Method
    settings: dict[str, Any]
    epochs: int | None = None  # None: those of study.toml


INDEPENDENT = Row("independent", "Independent training", NoTreatment(), {})
LONG = Row("independent_long", "Independent training, 30 epochs", NoTreatment(), {"epochs": 30}, epochs=30)
ENSEMBLE = Row("ensemble", f"Ensemble paragon (m = {MEMBERS})", EnsembleParagon(MEMBERS), {})


def focal_lm(weight: float) -> Row:
    """Return FD-LM; ``weight`` is that of a sum over the ten classes, as when the rows were recorded."""
    return Row(
        f"focal_distillation_lm@{weight:g}",
        f"FD-LM chain, weight {weight:g}",
        FocalDistillationLM(weight=10 * weight),
        {"weight": weight},
    )


def focal_kl(weight: float) -> Row:
    return Row(
        f"focal_distillation_kl@{weight:g}",
        f"FD-KL chain, weight {weight:g}",
        FocalDistillationKL(weight=weight),
        {"weight": weight},
    )


def elodi(alpha: float) -> Row:
    return Row(f"elodi@{alpha:g}", f"ELODI (m = {MEMBERS}, alpha {alpha:g})", Elodi(MEMBERS, alpha), {"alpha": alpha})


def baseline_rows(study: Study, seed: int, rows: list[Row]) -> None:
    job = study.job(f"plain-{seed}", seed)
    members = load_family(study.runs / "plain-0" / "regnas.json")
    family = {name: SubNetwork(job.config.values.supernet, own) for name, own in members.items()}
    for row in rows:
        if study.has(row.name, seed):
            continue
        store = open_store(study, job, seed, row.epochs)
        plan = plan_members(row.method, family)
        began = time.monotonic()
        make_all({seed: store}, {seed: list(plan.values())}, workers=1)
        study.record(
            row.name,
            seed,
            "family",
            row.title,
            job,
            {name: store.module(model) for name, model in plan.items()},
            members,
            training_macs(store, plan.values()),
            time.monotonic() - began,
            settings=row.settings,
        )
    sharing(study, seed, job, open_store(study, job, seed), plan_members(ENSEMBLE.method, family), members)


def open_store(study: Study, job: Job, seed: int, epochs: int | None = None) -> ModelStore:
    recipe = job.config.values.training
    recipe = replace(recipe, epochs=epochs or recipe.epochs)
    return ModelStore(
        splits=job.splits,
        training=recipe,
        fine_tuning=recipe,
        device=job.device,
        calibration_images=job.calibration_images.networks,
        folder=study.runs / "trainings",
        seed=seed,
    )


def sharing(
    study: Study,
    seed: int,
    job: Job,
    store: ModelStore,
    ensemble: Mapping[str, Model],
    members: Mapping[str, Architecture],
) -> None:
    """Record the members of the ensembles as families of independent networks."""
    for chance in range(MEMBERS):
        row = f"sharing-independent-{chance}"
        networks = {name: model.members[chance] for name, model in ensemble.items()}  # type: ignore[attr-defined]
        if study.has(row, seed) or not all(store.is_kept(model) for model in networks.values()):
            continue
        modules = {name: store.module(model) for name, model in networks.items()}
        macs = training_macs(store, [model for model in networks.values() if isinstance(model, Trained)])
        study.record(row, seed, "sharing", f"Independent family {chance}", job, modules, members, macs, 0.0)
