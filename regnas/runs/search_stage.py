"""The second stage of a run: search the supernet for the members of the family, and polish their shared weights."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

from torch import Tensor, nn

from regnas.data import Splits
from regnas.errors import InfeasibleError
from regnas.family.polishing import Polished, Polisher
from regnas.runs.folder import CLIPPING
from regnas.runs.job import Job
from regnas.runs.later_members import POLISHED_MEMBERS, found_later, in_order, keep_found
from regnas.runs.searched_images import searched_part, searched_splits
from regnas.runtime.files import digest_of
from regnas.runtime.processes import SINGLE
from regnas.search import FamilySearch
from regnas.search.evaluation import Evaluator, ExecutorChoice, SupernetWeights
from regnas.space import Architecture

log = logging.getLogger("regnas")


def open_evaluator(job: Job, supernet: nn.Module) -> Evaluator:
    """Start the evaluator of candidates with its workers; the caller closes it."""
    return _open_evaluator(job, supernet, searched_splits(job.splits, job.images))


def evaluator_here(job: Job, supernet: nn.Module, weights: Mapping[str, Tensor] | None) -> Evaluator:
    """Return an evaluator in this process, on the whole search split, for a few members; it need not be closed.

    ``weights`` replace those of the supernet if they are given.
    """
    return _open_evaluator(replace(job, executor=ExecutorChoice()), replace_weights(supernet, weights), job.splits)


def replace_weights(supernet: nn.Module, weights: Mapping[str, Tensor] | None) -> nn.Module:
    """Return a copy of the supernet with other weights; without weights, return the supernet itself."""
    if weights is None:
        return supernet
    supernet = copy.deepcopy(supernet)
    supernet.load_state_dict(dict(weights))
    return supernet


def _open_evaluator(job: Job, supernet: nn.Module, splits: Splits) -> Evaluator:
    weights = SupernetWeights.of(supernet, job.config.values.supernet, splits.input_shape, job.classes)
    return Evaluator.on_executor(job.executor, weights, splits, job.calibration_images, job.device)


def search_family(job: Job, evaluator: Evaluator) -> tuple[FamilySearch, dict[str, Architecture]]:
    """Find the members for the budgets of the configuration, and then those that were added before polishing."""
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
        old={name: searched_part(each, job.images.searched) for name, each in job.old.items()},
    )
    members = search.family()
    search = replace(search, budgets=job.budgets)
    known = found_later(job.folder)
    for name in job.added:
        if name not in known and name not in job.added_later:
            members = _add(job, search, members, name)
    together = {name: found for name, found in known.items() if name not in job.added_later}
    return search, in_order(job.budgets, members | together)


def add_later_members(
    job: Job, search: FamilySearch, members: dict[str, Architecture], supernet: nn.Module, polished: Polished | None
) -> dict[str, Architecture]:
    """Find the members that were added after the others were polished, with the polished weights."""
    known = found_later(job.folder)
    missing = [name for name in job.added_later if name not in known]
    members = in_order(job.budgets, members | {name: known[name] for name in job.added_later if name in known})
    if not missing:
        return members
    weights = None if polished is None else polished.weights
    with closing(open_evaluator(job, replace_weights(supernet, weights))) as evaluator:
        for name in missing:
            members = _add(job, replace(search, evaluator=evaluator), members, name)
            keep_found(job.folder, name, members[name])
    return members


def _add(job: Job, search: FamilySearch, members: dict[str, Architecture], name: str) -> dict[str, Architecture]:
    """Find an added member; forget a budget without a network, which would make every later command fail."""
    try:
        return search.add(members, name)
    except InfeasibleError:
        job.folder.keep("added_budgets", {other: text for other, text in job.added.items() if other != name})
        raise


def polish_family(job: Job, supernet: nn.Module, members: Mapping[str, Architecture]) -> Polished | None:
    """Train the shared weights further for the members alone; None if the run has no settings for it."""
    if job.polishing is None:
        return None
    values, settings = job.config.values, job.polishing.settings
    recipe = settings.recipe(values.training.one_after_another(job.folder.processes))  # the supernet's steps
    polisher = Polisher(
        settings=settings,
        trainer=replace(job.trainer, recipe=recipe, processes=SINGLE),
        space=job.space,
        reward=values.search.reward,
        start=lambda: copy.deepcopy(supernet),
        evaluator=lambda weights: evaluator_here(job, supernet, weights),
        key=(values.seed, "polish"),
        images=job.images,
        max_nfr=values.search.max_nfr,
        old=job.old,
        folder=job.folder.polish / digest_of(job.polishing.table)[:12],
    )
    job.folder.keep(POLISHED_MEMBERS, list(members))
    with job.folder.timed("polish"):
        log.info("polish the members: %s epochs", settings.epochs)
        polished = polisher.polish(members, job.polishing.alpha)
    job.folder.add(CLIPPING, {f"polish, {end}": counts.to_json() for end, counts in polished.ends.clipping.items()})
    for line in polished.decision.lines():
        log.info("%s", line)
    return polished
