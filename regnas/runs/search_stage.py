"""The second stage of a run: the members of the family, found in the supernet, and their shared weights, polished."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor, nn

from regnas.family.polishing import Polished, Polisher
from regnas.runs.folder import CLIPPING
from regnas.runs.job import Job
from regnas.runtime.files import digest_of
from regnas.search import FamilySearch
from regnas.search.evaluation import Evaluator, ExecutorChoice, SupernetWeights
from regnas.space import Architecture
from regnas.training import Trainer

log = logging.getLogger("regnas")


def open_evaluator(job: Job, supernet: nn.Module) -> Evaluator:
    """Start what runs candidates, with its workers; the caller closes it."""
    weights = SupernetWeights.of(supernet, job.config.values.supernet, job.splits.input_shape, job.classes)
    return Evaluator.on_executor(job.executor, weights, job.splits, job.calibration_images, job.device)


def evaluator_here(job: Job, supernet: nn.Module, weights: Mapping[str, Tensor] | None) -> Evaluator:
    """Run a few members of the supernet, with other weights if given, in this process: there is nothing to close."""
    if weights is not None:
        supernet = copy.deepcopy(supernet)
        supernet.load_state_dict(dict(weights))
    return open_evaluator(replace(job, executor=ExecutorChoice()), supernet)


def search_family(job: Job, evaluator: Evaluator) -> tuple[FamilySearch, dict[str, Architecture]]:
    """Find the members for the configuration's budgets, and then those for the budgets that were added."""
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
    members = search.family()
    search = replace(search, budgets=job.budgets)
    for name in job.added:
        members = search.add(members, name)
    return search, members


def polish_family(job: Job, supernet: nn.Module, members: Mapping[str, Architecture]) -> Polished | None:
    """Train the shared weights further for the members alone; None if the run has no settings for it."""
    if job.polishing is None:
        return None
    values, settings = job.config.values, job.polishing.settings
    recipe = replace(
        values.training.one_after_another(job.folder.processes),  # the supernet's steps, by one process
        epochs=settings.epochs,
        learning_rate=settings.learning_rate,
    )
    polisher = Polisher(
        settings=settings,
        trainer=Trainer(recipe, job.splits.train, job.splits.preprocessing, job.device),
        space=job.space,
        reward=values.search.reward,
        start=lambda: copy.deepcopy(supernet),
        evaluator=lambda weights: evaluator_here(job, supernet, weights),
        key=(values.seed, "polish"),
        max_nfr=values.search.max_nfr,
        old=job.old,
        folder=job.folder.polish / digest_of(job.polishing.table)[:12],
    )
    with job.folder.timed("polish"):
        log.info("polish the members: %s epochs", settings.epochs)
        polished = polisher.polish(members, job.polishing.alpha)
    job.folder.add(CLIPPING, {f"polish, {end}": counts.to_json() for end, counts in polished.ends.clipping.items()})
    log.info("polished: %s", polished.summary)
    return polished
