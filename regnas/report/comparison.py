"""From predictions to the numbers of the report: the content of ``flips.json``.

Rates are fractions. Differences are the method minus the family, so that a positive difference of NFR speaks for the
family and a positive difference of Top-1 for the method. All intervals are paired bootstraps over clusters.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from regnas.flips import (
    Predictions,
    accuracy_difference_interval,
    accuracy_interval,
    align,
    backward_error_compatibility,
    backward_trust_compatibility,
    flip_table_from_correctness,
    mcnemar_exact,
    mean_nfr_difference_interval,
    mean_nfr_interval,
    mean_nfr_values,
    negative_flip_rate,
    nfr_interval,
    positive_flip_rate,
    relative_negative_flip_rate,
)
from regnas.report.contents import Method, ReportContents
from regnas.report.verdicts import summary, verdict

Comparison = dict[str, Any]  # JSON

LEVEL = 0.95


def compare(contents: ReportContents) -> Comparison:
    """Every number of the report."""
    # All methods at once, so that one predicted on other samples is refused before anything is computed.
    aligned = align([each for method in contents.methods for each in method.predictions])
    count = len(contents.members)
    predictions = [aligned[start : start + count] for start in range(0, len(aligned), count)]
    samples, clusters = len(aligned[0]), _clusters(aligned)
    methods = [
        _method(contents, method, mine, predictions[0], clustered=clusters < samples)
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
    }
    for each in methods[1:]:
        each["verdict"] = verdict(each)
    comparison["summary"] = summary(comparison)
    return comparison


def _method(
    contents: ReportContents,
    method: Method,
    predictions: tuple[Predictions, ...],
    family: tuple[Predictions, ...],
    clustered: bool,
) -> dict[str, Any]:
    members = contents.members
    is_family = method is contents.family
    # The names of the members: two methods, or two members trained alike, may have predictions of the same name.
    table = flip_table_from_correctness(members, np.stack([each.correct for each in predictions]))
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
            _pair(members[small], members[large], predictions[small], predictions[large], clustered)
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


def _pair(reference_name: str, new_name: str, reference: Predictions, new: Predictions, clustered: bool) -> Comparison:
    return {
        "reference": reference_name,
        "new": new_name,
        "nfr": negative_flip_rate(reference, new),
        "nfr_interval": list(nfr_interval(reference, new, level=LEVEL)),
        "pfr": positive_flip_rate(reference, new),
        "relative_nfr": relative_negative_flip_rate(reference, new),
        "btc": backward_trust_compatibility(reference, new),
        "bec": backward_error_compatibility(reference, new),
        # The exact test takes samples for independent; on variants of one original its p would be too small.
        "mcnemar_p": None if clustered else mcnemar_exact(reference, new),
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


def _clusters(aligned: tuple[Predictions, ...]) -> int:
    known = [each.groups for each in aligned if each.groups is not None]
    return len(np.unique(known[0])) if known else len(aligned[0])
