"""From predictions to the numbers of the report: the content of ``flips.json``.

Rates are fractions. Differences are the method minus the family, so that a positive difference of NFR speaks for the
family and a positive difference of Top-1 for the method. Intervals and p-values are those of ``regnas.flips``, so that
``regnas compare`` gives the same for the same prediction files: Clopper-Pearson for a rate, Tango for a difference of
accuracies, the exact McNemar test with Holm's correction over the pairs of a method.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from regnas.flips import (
    LEVEL,
    PairStatistics,
    Predictions,
    accuracy_difference_interval,
    accuracy_interval,
    align,
    backward_error_compatibility,
    backward_trust_compatibility,
    count_clusters,
    flip_table_from_correctness,
    mean_nfr_difference_interval,
    mean_nfr_interval,
    mean_nfr_values,
    pairs_of,
    relative_negative_flip_rate,
    shared_groups,
)
from regnas.report.family.contents import ReportContents, ReportedFamily
from regnas.report.family.verdicts import summary, verdict

Comparison = dict[str, Any]  # JSON


def compare(contents: ReportContents) -> Comparison:
    """Every number of the report."""
    # All methods at once, so that one predicted on other samples is refused before anything is computed.
    aligned = align([each for method in contents.methods for each in method.predictions])
    count = len(contents.members)
    predictions = [aligned[start : start + count] for start in range(0, len(aligned), count)]
    groups = shared_groups(aligned)
    # A method that was saved without clusters has the same samples, and so the same clusters.
    predictions = [tuple(each.changed(groups=groups) for each in mine) for mine in predictions]
    samples, clusters = len(aligned[0]), count_clusters(groups, len(aligned[0]))
    methods = [
        _method(contents, method, mine, predictions[0])
        for method, mine in zip(contents.methods, predictions, strict=True)
    ]
    comparison = {
        "title": contents.title,
        "samples": samples,
        "clusters": clusters,
        "members": list(contents.members),
        "budgets": list(contents.budgets),
        "interval_level": LEVEL,
        "methods": methods,
        "tuning": list(contents.tuning),
    }
    for each in methods[1:]:
        each["verdict"] = verdict(each)
    comparison["summary"] = summary(comparison)
    return comparison


def _method(
    contents: ReportContents,
    method: ReportedFamily,
    predictions: tuple[Predictions, ...],
    family: tuple[Predictions, ...],
) -> dict[str, Any]:
    members = contents.members
    is_family = method is contents.family
    # The names of the members: two methods, or two members trained alike, may have predictions of the same name.
    table = flip_table_from_correctness(members, np.stack([each.correct for each in predictions]))
    statistics = pairs_of(predictions)
    return {
        "name": method.name,
        "title": method.title,
        "description": method.description,
        "verdict": None,
        "training_macs": method.training_macs,
        "models": [
            {
                "name": name,
                "macs": method.macs[index],
                "parameters": method.parameters[index],
                "architecture": method.architectures[index].id,
                **_top1(predictions[index], None if is_family else family[index]),
            }
            for index, name in enumerate(members)
        ],
        "pairs": [
            {"reference": members[small], "new": members[large]}
            | _pair(predictions[small], predictions[large], statistics[small, large])
            for small, large in combinations(range(len(members)), 2)
        ],
        "nfr_matrix": table.nfr.tolist(),  # row: reference, column: new; below the diagonal going back to a smaller one
        **_mean_nfr(predictions, None if is_family else family),
    }


def _top1(model: Predictions, family: Predictions | None) -> dict[str, Any]:
    difference = None if family is None else model.accuracy - family.accuracy
    bounds = None if family is None else list(accuracy_difference_interval(model, family, level=LEVEL))
    return {
        "top1": model.accuracy,
        "top1_interval": list(accuracy_interval(model, level=LEVEL)),
        "top1_difference": difference,
        "top1_difference_interval": bounds,
    }


def _pair(reference: Predictions, new: Predictions, found: PairStatistics) -> Comparison:
    return {
        "nfr": found.nfr,
        "nfr_interval": list(found.nfr_interval),
        "pfr": found.pfr,
        "relative_nfr": relative_negative_flip_rate(reference, new),
        "btc": backward_trust_compatibility(reference, new),
        "bec": backward_error_compatibility(reference, new),
        "accuracy_difference": found.accuracy_difference,
        "accuracy_difference_interval": list(found.accuracy_difference_interval),
        "mcnemar_p": found.mcnemar_p,
        "mcnemar_p_corrected": found.mcnemar_p_corrected,
    }


def _mean_nfr(predictions: tuple[Predictions, ...], family: tuple[Predictions, ...] | None) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(
        ("mean_nfr", "mean_nfr_interval", "mean_nfr_difference", "mean_nfr_difference_interval")
    )
    if len(predictions) < 2:  # a single network has nothing to flip against
        return values
    mean = float(mean_nfr_values(predictions).mean())
    values |= {"mean_nfr": mean, "mean_nfr_interval": list(mean_nfr_interval(predictions, level=LEVEL))}
    if family is not None:
        bounds = mean_nfr_difference_interval(predictions, family, level=LEVEL)
        difference = mean - float(mean_nfr_values(family).mean())
        values |= {"mean_nfr_difference": difference, "mean_nfr_difference_interval": list(bounds)}
    return values
