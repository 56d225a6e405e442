"""Compute the numbers of the report from predictions.

Intervals and p-values are those of ``regnas.flips``, so ``regnas compare`` gives the same values for the same
prediction files: Clopper-Pearson for a rate, Tango for a difference of accuracies, the exact McNemar test with Holm's
correction over the pairs of a method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from regnas.flips import (
    LEVEL,
    Predictions,
    accuracy_difference_interval,
    accuracy_interval,
    align,
    backward_error_compatibility,
    backward_trust_compatibility,
    count_clusters,
    diagnose,
    flip_table_from_correctness,
    mean_nfr,
    mean_nfr_difference_interval,
    mean_nfr_interval,
    pairs_of,
    relative_negative_flip_rate,
    shared_groups,
)
from regnas.report.diagnostics import FlipDiagnostics, diagnostics_of
from regnas.report.family.contents import ReportContents, ReportedMethod
from regnas.report.family.results import FamilyComparison, MemberResult, MethodResult, PairResult
from regnas.report.family.verdicts import summary, verdict


def compare(contents: ReportContents) -> FamilyComparison:
    """Compute every number of the report."""
    # All methods at once, so that a method with other samples is refused before anything is computed.
    aligned = align([each for method in contents.methods for each in method.predictions])
    count = len(contents.members)
    predictions = [aligned[start : start + count] for start in range(0, len(aligned), count)]
    groups = shared_groups(aligned)
    # A method that was saved without clusters has the same samples, and therefore the same clusters.
    predictions = [tuple(each.changed(groups=groups) for each in mine) for mine in predictions]
    samples, clusters = len(aligned[0]), count_clusters(groups, len(aligned[0]))
    family, *baselines = (
        _method(contents, method, mine, predictions[0])
        for method, mine in zip(contents.methods, predictions, strict=True)
    )
    return FamilyComparison(
        title=contents.title,
        samples=samples,
        clusters=clusters,
        members=contents.members,
        budgets=contents.budgets,
        interval_level=LEVEL,
        methods=(family, *(replace(method, verdict=verdict(method)) for method in baselines)),
        tuning=contents.tuning,
        summary=summary(family, samples, clusters),
        diagnostics=_diagnostics(contents),
        polishing=contents.polishing,
    )


def _method(
    contents: ReportContents, method: ReportedMethod, predictions: Sequence[Predictions], family: Sequence[Predictions]
) -> MethodResult:
    members = contents.members
    is_family = method is contents.family
    # The table gets the names of the members, because predictions of two members may have the same name.
    table = flip_table_from_correctness(members, np.stack([each.correct for each in predictions]))
    statistics = pairs_of(predictions)
    has_pairs = len(members) > 1  # a single network has nothing to flip against
    compared = has_pairs and not is_family
    return MethodResult(
        name=method.name,
        title=method.title,
        description=method.description,
        verdict=None,
        training_macs=method.training_macs,
        models=tuple(
            _member(contents, method, index, predictions[index], None if is_family else family[index])
            for index in range(len(members))
        ),
        pairs=tuple(
            PairResult.of(
                members[small],
                members[large],
                statistics[small, large],
                relative_nfr=relative_negative_flip_rate(predictions[small], predictions[large]),
                btc=backward_trust_compatibility(predictions[small], predictions[large]),
                bec=backward_error_compatibility(predictions[small], predictions[large]),
            )
            for small, large in combinations(range(len(members)), 2)
        ),
        nfr_matrix=tuple(map(tuple, table.nfr.tolist())),
        mean_nfr=mean_nfr(predictions) if has_pairs else None,
        mean_nfr_interval=mean_nfr_interval(predictions, level=LEVEL) if has_pairs else None,
        mean_nfr_difference=mean_nfr(predictions) - mean_nfr(family) if compared else None,
        mean_nfr_difference_interval=(
            mean_nfr_difference_interval(predictions, family, level=LEVEL) if compared else None
        ),
    )


def _member(
    contents: ReportContents, method: ReportedMethod, index: int, model: Predictions, family: Predictions | None
) -> MemberResult:
    return MemberResult(
        name=contents.members[index],
        macs=method.macs[index],
        parameters=method.parameters[index],
        architecture=method.architectures[index].id,
        top1=model.accuracy,
        top1_interval=accuracy_interval(model, level=LEVEL),
        top1_difference=None if family is None else model.accuracy - family.accuracy,
        top1_difference_interval=None if family is None else accuracy_difference_interval(model, family, level=LEVEL),
    )


def _diagnostics(contents: ReportContents) -> FlipDiagnostics | None:
    """Return the diagnostics from the smallest to the largest member; None for a single member."""
    if len(contents.members) < 2:
        return None
    methods = [
        (method.name, method.title, diagnose([(method.predictions[0], method.predictions[-1])]))
        for method in contents.methods
    ]
    return diagnostics_of(contents.members[0], contents.members[-1], methods)
