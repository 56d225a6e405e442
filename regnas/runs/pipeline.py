"""The whole job, from a configuration to a report.

Every stage leaves its result in the run folder and is skipped, or continued, when it finds it there. So a stage on its
own is the job up to that stage, and resuming is running again.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from regnas.family.export import (
    Origin,
    current_family,
    export_formats,
    missing_formats,
    refresh,
    retire_family,
    write_family,
    write_member,
)
from regnas.family.family import Family, load_family
from regnas.family.manifest import NOT_STATED
from regnas.family.polishing import Polished, Polisher
from regnas.flips import Predictions
from regnas.report.family.contents import ReportContents, ReportedMethod, SearchHistory
from regnas.report.family.report import write_report
from regnas.report.family.results import FamilyComparison
from regnas.runs.baseline_stage import baseline_methods
from regnas.runs.budgets import insert_added
from regnas.runs.config import Config, LoadedConfig, describe
from regnas.runs.folder import CLIPPING, RunFolder
from regnas.runs.job import Job, PolishRequest, imported_weights, predict_report, prepare
from regnas.runs.supernet_stage import supernet_training_macs, train_supernet
from regnas.runtime.files import digest_of
from regnas.runtime.processes import SINGLE, Processes
from regnas.search import FamilySearch
from regnas.search.evaluation import Evaluator, ExecutorChoice, SupernetWeights
from regnas.space import Architecture, format_macs
from regnas.training import Clipping, Trainer
from regnas.updates.models import ClippedTraining, clipped_steps

Stage = Literal["train", "search", "export", "baselines", "report"]
STAGES: tuple[Stage, ...] = get_args(Stage)
FAMILY = "family"

log = logging.getLogger("regnas")


def run(
    config: LoadedConfig[Config],
    folder: RunFolder,
    last: Stage = "report",
    executor: ExecutorChoice | None = None,
    added_budgets: Sequence[str] = (),
    polish: PolishRequest | None = None,
    processes: Processes = SINGLE,
    tune: bool = False,
) -> FamilyComparison | None:
    """Go through the stages up to ``last``; the comparison of the report, where it came to that.

    ``tune`` chooses the keys of baselines that are "auto" again, whatever the configuration has for them. Of several
    processes, which train the supernet together, only the leader goes on after that.
    """
    job = processes.in_turn(lambda: prepare(config, folder, executor, added_budgets, polish, processes))
    with folder.timed("train"):
        supernet = train_supernet(job)
    folder.keep("supernet_trained", True)
    if tune:
        folder.keep("tune", True)
    processes.leave()
    if last == "train" or not processes.is_main:
        return None
    with closing(open_evaluator(job, supernet)) as evaluator:
        with folder.timed("search"):
            search, architectures = search_family(job, evaluator)
        if last == "search":
            return None
        polished = polish_family(job, supernet, architectures)
        with folder.timed("export"), _members_of(job, supernet, evaluator, polished) as members:
            export_family(job, members, architectures, polished)
        if last == "export":
            return None
        with folder.timed("baselines"):
            methods = [family_method(job, architectures, polished)]
            if polished is not None and polished.weights is not None:
                methods.append(unpolished_method(job, evaluator, architectures))
            baselines, tuning = baseline_methods(job, search, architectures)
            methods += baselines
        if last == "baselines":
            return None
    with folder.timed("report"):
        return report(job, methods, polished, tuning)


def open_evaluator(job: Job, supernet: nn.Module) -> Evaluator:
    weights = SupernetWeights.of(supernet, job.config.values.supernet, job.splits.input_shape, job.classes)
    return Evaluator.on_executor(job.executor, weights, job.splits, job.calibration_images, job.device)


def search_family(job: Job, evaluator: Evaluator) -> tuple[FamilySearch, dict[str, Architecture]]:
    """The members by the configuration's budgets, and then those that were added to them."""
    values = job.config.values
    search = FamilySearch(
        space=job.space,
        budgets=values.budgets,
        reward=values.search.reward,
        order=values.search.order,
        algorithm=values.search.algorithm,
        candidates=values.search.candidates,
        evaluator=evaluator,
        open_study=job.studies.open,
        key=(values.seed, "search"),
        max_nfr=values.search.max_nfr,
        old=job.old,
    )
    architectures = search.family()
    search = replace(search, budgets=job.budgets)
    for name in job.folder.facts["added_budgets"]:
        architectures = search.add(architectures, name)
    return search, architectures


def polish_family(job: Job, supernet: nn.Module, architectures: Mapping[str, Architecture]) -> Polished | None:
    """Train the shared weights further for the members alone, where the run has settings for it; see polishing.py."""
    settings = job.polishing
    if settings is None:
        return None
    values = job.config.values
    recipe = replace(
        values.training.one_after_another(job.folder.processes),  # the supernet's steps, by one process
        epochs=settings.epochs,
        learning_rate=settings.learning_rate,
    )
    log.info("polish the members: %s epochs", settings.epochs)
    polisher = Polisher(
        settings=settings,
        trainer=Trainer(recipe, job.splits.train, job.splits.preprocessing, job.device),
        space=job.space,
        reward=values.search.reward,
        start=lambda: copy.deepcopy(supernet),
        evaluator=lambda weights: _evaluator_here(job, _with_weights(supernet, weights)),
        key=(values.seed, "polish"),
        max_nfr=values.search.max_nfr,
        old=job.old,
        folder=job.folder.polish / digest_of(job.folder.facts["polish"]["settings"])[:12],
    )
    with job.folder.timed("polish"):
        polished = polisher.polish(architectures, job.alpha)
    job.folder.add(CLIPPING, {f"polish, {end}": counts.to_json() for end, counts in polished.ends.clipping.items()})
    log.info("polished: %s", polished.summary)
    return polished


def _with_weights(supernet: nn.Module, weights: Mapping[str, Tensor] | None) -> nn.Module:
    if weights is None:
        return supernet
    changed = copy.deepcopy(supernet)
    changed.load_state_dict(dict(weights))
    return changed


def _evaluator_here(job: Job, supernet: nn.Module) -> Evaluator:
    """Of a few members: workers would take longer to start than they have to do."""
    return open_evaluator(replace(job, executor=ExecutorChoice()), supernet)


@contextmanager
def _members_of(job: Job, supernet: nn.Module, evaluator: Evaluator, polished: Polished | None) -> Iterator[Evaluator]:
    """What runs the members as they are exported: the search's evaluator, unless they were polished."""
    if polished is None or polished.weights is None:
        yield evaluator
        return
    with closing(_evaluator_here(job, _with_weights(supernet, polished.weights))) as own:
        yield own


def export_family(
    job: Job, evaluator: Evaluator, architectures: Mapping[str, Architecture], polished: Polished | None = None
) -> Family:
    """Each member on its own, what it predicts, and the manifest last; an export that is whole is left as it is."""
    folder, license = job.folder.family, _weights_license(job.folder)
    exported = current_family(folder)
    trade = None if polished is None else polished.to_json()
    if (
        exported
        and {member.name: member.architecture for member in exported.members} == architectures
        and exported.manifest.polish == trade
    ):
        return refresh(exported, license)
    retire_family(folder)
    origin = Origin(
        supernet=job.config.table["supernet"],
        input_shape=job.splits.input_shape,
        classes=job.splits.classes,
        preprocessing=job.splits.preprocessing,
        data={"digest": job.splits.digest, "report": job.splits.report.digest},
        weights_license=license,
        polish=trade,
    )
    budgets = {**job.config.table["budgets"], **job.folder.facts["added_budgets"]}
    members, predictions = [], []
    for name, architecture in architectures.items():
        network = evaluator.network(architecture)
        predictions.append(predict_report(job, name, network))
        cost = job.space.cost(architecture)
        members.append(write_member(folder, origin, network, architecture, str(budgets[name]), cost, predictions[-1]))
        log.info("export %s: %s", name, members[-1])
    return write_family(folder, origin, members, predictions, partial(predict_report, job))


def export_files(config: LoadedConfig[Config], folder: RunFolder, formats: Sequence[str]) -> Family:
    """The family in the run folder, searched first where that is missing, in further formats beside safetensors."""
    family = current_family(folder.family)
    if family is None or list(family) != list(
        insert_added(config.values.budgets, folder.facts.get("added_budgets", {}))
    ):
        run(config, folder, "export")
        family = load_family(folder.family)
    family = refresh(family, _weights_license(folder))
    missing = missing_formats(family, formats)
    if missing:
        splits = config.values.data.load()
        folder.check_data(splits.summary())
        with folder.timed("export"):
            family = export_formats(family, splits, missing)
    return family


def family_method(job: Job, architectures: Mapping[str, Architecture], polished: Polished | None) -> ReportedMethod:
    exported = load_family(job.folder.family)
    # laid out as the evaluator has them, or the last bits of the logits would not be those of the export
    networks = {name: exported[name].to(job.device).to(memory_format=torch.channels_last) for name in exported}
    return _method(
        job,
        FAMILY,
        "REG-NAS family",
        "Sub-networks of one supernet, each containing the smaller ones, searched for accuracy and few flips.",
        architectures,
        {name: predict_report(job, name, network) for name, network in networks.items()},
        supernet_training_macs(job) + (polished.training_macs if polished else 0),
    )


def unpolished_method(job: Job, evaluator: Evaluator, architectures: Mapping[str, Architecture]) -> ReportedMethod:
    return _method(
        job,
        "unpolished",
        "Before polishing",
        "The same members with the weights that the supernet had when they were chosen.",
        architectures,
        {
            name: predict_report(job, f"unpolished-{name}", evaluator.network(architecture))
            for name, architecture in architectures.items()
        },
        supernet_training_macs(job),
    )


def report(
    job: Job, methods: list[ReportedMethod], polished: Polished | None, tuning: Sequence[Mapping[str, Any]] = ()
) -> FamilyComparison:
    chosen = {
        f"{method.name}/{member}": architecture
        for method in methods
        for member, architecture in zip(job.budgets, method.architectures, strict=True)
    }
    recorded = job.studies.names()
    histories = [
        SearchHistory(name, tuple(job.studies.open(name).trials()), architecture.id)
        for name, architecture in chosen.items()
        if name in recorded
    ]
    contents = ReportContents(
        title=job.config.name,
        members=tuple(job.budgets),
        budgets=tuple(str(budget) for budget in job.budgets.values()),
        methods=tuple(methods),
        searches=tuple(histories),
        report_split=job.splits.report,
        classes=job.splits.classes,
        facts=_facts(job, polished),
        tuning=tuple(tuning),
    )
    return write_report(contents, job.folder.report)


def _clipped_facts(job: Job) -> dict[str, str]:
    noted = job.folder.facts.get(CLIPPING, {})
    trainings = [ClippedTraining(name, Clipping.from_json(counts)) for name, counts in noted.items()]
    return {"Clipped steps": clipped_steps(trainings)} if trainings else {}


def _facts(job: Job, polished: Polished | None) -> dict[str, str]:
    values = job.config.values
    samples = ", ".join(f"{split.name} {len(split):,}" for split in job.splits.all)
    return {
        "Data": f"{describe(job.config.table, 'data')}: {samples}",
        "Data digest": job.splits.digest[:16],
        "Supernet": describe(job.config.table, "supernet"),
        "Space": " to ".join(format_macs(macs) for macs in job.space.macs_range) + " MACs",
        **_training_facts(job),
        **_clipped_facts(job),
        "Search": f"{values.search.candidates} candidates a budget, {describe(job.config.table['search'], 'reward')}"
        f"{values.search.flips_counted}",
        **({} if polished is None else {"Polishing": polished.summary}),
        "Seed": str(values.seed),
        **job.folder.conditions(),
    }


def _training_facts(job: Job) -> dict[str, str]:
    epochs, imported = job.config.values.training.epochs, imported_weights(job.config, job.splits)
    training = f"{epochs} epochs for the supernet and for every network trained alone"
    if imported is None:
        return {"Training": training}
    return {
        "Weights": f"{imported.name}, imported from {imported.origin} (sha256 {imported.sha256[:16]})",
        "Training": training if epochs else "none: the supernet is used as it was imported",
    }


def _weights_license(folder: RunFolder) -> str:
    return str(folder.facts.get("weights_license", NOT_STATED))


def _method(
    job: Job,
    name: str,
    title: str,
    description: str,
    architectures: Mapping[str, Architecture],
    predictions: Mapping[str, Predictions],
    training_macs: int,
) -> ReportedMethod:
    costs = [job.space.cost(architecture) for architecture in architectures.values()]
    return ReportedMethod(
        name=name,
        title=title,
        description=description,
        predictions=tuple(predictions.values()),
        architectures=tuple(architectures.values()),
        macs=tuple(cost.macs for cost in costs),
        parameters=tuple(cost.parameters for cost in costs),
        training_macs=training_macs,
    )
