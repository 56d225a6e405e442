"""The last stage of a run: write the report from the results of the stages before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from regnas.family.polishing import Polished
from regnas.flips import Predictions
from regnas.report.family.contents import ReportContents, ReportedMethod, SearchHistory
from regnas.report.family.report import write_report
from regnas.report.family.results import FamilyComparison
from regnas.report.tuning import Choice
from regnas.runs.folder import CLIPPING
from regnas.runs.job import Job, imported_weights
from regnas.runs.tables import describe
from regnas.space import Architecture, format_macs
from regnas.training import Clipping
from regnas.updates.models import ClippedTraining, describe_clipping


def reported_family(
    job: Job,
    name: str,
    title: str,
    description: str,
    members: Mapping[str, Architecture],
    predictions: Mapping[str, Predictions],
    training: int,
) -> ReportedMethod:
    """Describe sub-networks of the supernet for the report."""
    costs = [job.space.cost(architecture) for architecture in members.values()]
    return ReportedMethod(
        name=name,
        title=title,
        description=description,
        predictions=tuple(predictions.values()),
        architectures=tuple(members.values()),
        macs=tuple(cost.macs for cost in costs),
        parameters=tuple(cost.parameters for cost in costs),
        training_macs=training,
    )


def report(
    job: Job, methods: Sequence[ReportedMethod], polished: Polished | None, tuning: Sequence[Choice] = ()
) -> FamilyComparison:
    """Write the report; the first of the methods is the family. Return its comparison."""
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
        polishing=None if polished is None else polished.decision,
    )
    return write_report(contents, job.folder.report)


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
        "Search": f"{values.search.candidates} candidates per budget, {describe(job.config.table['search'], 'reward')}"
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


def _clipped_facts(job: Job) -> dict[str, str]:
    noted = job.folder.facts.get(CLIPPING, {})
    trainings = [ClippedTraining(name, Clipping.from_json(counts)) for name, counts in noted.items()]
    return {"Clipped steps": describe_clipping(trainings)} if trainings else {}
