"""The stages of ``regnas run`` from top to bottom: from a configuration to a report.

Every stage leaves its result in the run folder, and is skipped or continued if it finds a result there. So a command
for one stage is the run up to that stage, and to resume is to run again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Literal, get_args

from torch import nn

from regnas.family.export import current_family, export_formats, missing_formats, refresh
from regnas.family.family import Family, load_family
from regnas.family.polishing import Polished
from regnas.report.family.contents import ReportedMethod
from regnas.report.family.results import FamilyComparison
from regnas.runs.baseline_stage import search_baselines, train_baselines
from regnas.runs.budgets import insert_added
from regnas.runs.config import Config, LoadedConfig
from regnas.runs.export_stage import Exported, export_family, polishing_interrupted, weights_license
from regnas.runs.folder import RunFolder
from regnas.runs.job import Job, PolishRequest, predict_report, prepare
from regnas.runs.report_stage import report, reported_family
from regnas.runs.search_stage import add_later_members, evaluator_here, open_evaluator, polish_family, search_family
from regnas.runs.supernet_stage import supernet_training_macs, train_supernet
from regnas.runtime.processes import SINGLE, Processes
from regnas.runtime.progress import planned_stages
from regnas.search.evaluation import Evaluator, ExecutorChoice
from regnas.space import Architecture

log = logging.getLogger("regnas")

RunStage = Literal["train", "search", "export", "baselines", "report"]
STAGES: tuple[RunStage, ...] = get_args(RunStage)


def run_stages(
    config: LoadedConfig[Config],
    folder: RunFolder,
    until: RunStage = "report",
    executor: ExecutorChoice | None = None,
    added_budgets: Sequence[str] = (),
    polish: PolishRequest | None = None,
    processes: Processes = SINGLE,
    tune: bool = False,
) -> FamilyComparison | None:
    """Go through the stages up to ``until``; return the comparison of the report, or None if it was not reached.

    ``tune`` chooses the keys of baselines that are "auto" again, even if the configuration has values for them. If
    several processes train the supernet together, only the main process continues after that.
    """
    job = processes.in_turn(lambda: prepare(config, folder, executor, added_budgets, polish, processes))
    with planned_stages(_stages_until(until, polishes=job.polishing is not None)):
        with folder.timed("train"):
            supernet = train_supernet(job)
        folder.keep("supernet_trained", True)
        if tune:
            folder.keep("tune", True)
        processes.leave()
        if until == "train" or not processes.is_main:
            return None
        return _build_family(job, supernet, until)


def _build_family(job: Job, supernet: nn.Module, until: RunStage) -> FamilyComparison | None:
    """Go through the stages after the supernet's training."""
    with ExitStack() as workers:
        evaluator = workers.enter_context(closing(open_evaluator(job, supernet)))
        with job.folder.timed("search"):
            search, members = search_family(job, evaluator)
        if until == "search":
            return None
        polished = polish_family(job, supernet, members)
        with job.folder.timed("export"):
            members = add_later_members(job, search, members, supernet, polished)
            changed = polished is not None and polished.weights is not None
            kept = evaluator_here(job, supernet, polished.weights) if polished and changed else evaluator
            exported = export_family(job, kept.network, members, polished)
        if job.polishing is not None:
            job.folder.keep("polished", job.polishing.to_json())
        if until == "export":
            return None
        with job.folder.timed("baselines"):
            methods = [_report_family(job, exported, members, polished)]
            if changed:
                methods.append(_report_unpolished(job, evaluator, members))
            searched = search_baselines(job, search, members)
            workers.close()  # no further search follows, and idle workers would hold memory during the trainings
            trained = train_baselines(job, members)
            baselines = {**searched, **trained.reported}
            methods += [baselines[label] for label in job.config.values.baselines]
        if until == "baselines":
            return None
        with job.folder.timed("report"):
            return report(job, methods, polished, trained.tuning)


def _stages_until(until: RunStage, polishes: bool) -> list[str]:
    stages: list[str] = list(STAGES[: STAGES.index(until) + 1])
    if polishes and "export" in stages:
        stages.insert(stages.index("export"), "polish")
    return stages


def _report_family(
    job: Job, exported: Exported, members: Mapping[str, Architecture], polished: Polished | None
) -> ReportedMethod:
    return reported_family(
        job,
        "family",
        "REG-NAS family",
        "Sub-networks of one supernet, each containing the smaller ones, searched for accuracy and few flips.",
        members,
        exported.predictions_for(job),
        supernet_training_macs(job) + (polished.training_macs if polished else 0),
    )


def _report_unpolished(job: Job, evaluator: Evaluator, members: Mapping[str, Architecture]) -> ReportedMethod:
    predictions = {
        name: predict_report(job, f"unpolished-{name}", evaluator.network(architecture))
        for name, architecture in members.items()
    }
    return reported_family(
        job,
        "unpolished",
        "Before polishing",
        "The same members with the weights of the supernet before polishing.",
        members,
        predictions,
        supernet_training_macs(job),
    )


def export_files(config: LoadedConfig[Config], folder: RunFolder, formats: Sequence[str]) -> Family:
    """Write the family in further formats beside safetensors; search it first if it does not exist."""
    family = current_family(folder.family)
    budgets = insert_added(config.values.budgets, folder.facts.get("added_budgets", {}))
    if family is None or list(family) != list(budgets):
        run_stages(config, folder, "export")
        family = load_family(folder.family)
    family = refresh(family, weights_license(folder))
    missing = missing_formats(family, formats)
    if missing:
        splits = config.values.data.load()
        folder.check_data(splits.summary())
        with planned_stages(["export"]), folder.timed("export"):
            family = export_formats(family, splits, missing)
    if polishing_interrupted(folder, family):
        log.warning("polishing was interrupted; the exported members are those from before it")
    return family
