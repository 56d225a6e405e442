"""Turn the recorded rows into one JSON value, from which the page and the figures are made.

Rates are fractions. A measure is ``{"mean", "interval", "spread", "values"}``: the mean over seeds, its 95 % interval
over samples, the standard deviation over seeds (None for one seed), and the value of each seed.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from statistics import fmean
from typing import Any

from benchmarks.cifar10.bars import bars, member_differences
from benchmarks.cifar10.choices import REGNAS, best_regnas, by_method, chosen, search_reward
from benchmarks.cifar10.matched import Curve, at_matched_top1, curves
from benchmarks.cifar10.measures import RESAMPLES, Measures, measure
from benchmarks.cifar10.rows import Recorded, Row
from benchmarks.cifar10.sharing import sharing
from benchmarks.cifar10.tradeoff import tradeoff
from regnas.errors import ArtifactError
from regnas.updates.results import pareto_front

COMMANDS = (
    "python benchmarks/cifar10/study.py --images CIFAR10 --runs RUNS",
    "python benchmarks/cifar10/tables.py --runs RUNS",
)
PACKAGES = ("regnas", "torch", "torchvision", "numpy", "scipy")


def results(recorded: Recorded, resamples: int = RESAMPLES) -> dict[str, Any]:
    measured = measure(recorded, resamples)
    family = by_method(recorded.of_group("family"))
    _same_members([row for rows in family.values() for row in rows])
    picked = {method: measured[chosen(rows).name] for method, rows in family.items()}
    independent, elodi = picked.get("independent"), picked.get("elodi")
    best = best_regnas(recorded.of_group("family"), elodi.row.training_macs if elodi else None)
    regnas = curves(measured)
    return {
        "commands": list(COMMANDS),
        "machine": {
            "platform": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "versions": {package: version(package) for package in PACKAGES},
        },
        "samples": {split: _samples(recorded, split) for split in ("search", "report")},
        "resamples": resamples,
        "seeds": sorted({seed for row in recorded.rows for seed in row.seeds}),
        "rows": [_row(measured[row.name], independent) for row in _ordered(recorded.rows)],
        "family": [one.row.name for one in picked.values()],
        "choices": [_choice(rows) for rows in family.values() if len(rows) > 1],
        "best": best.name if best else None,
        "bars": [bar.to_json() for bar in bars(measured[best.name] if best else None, picked, regnas)],
        "top1_minus_independent": _top1_differences(measured[best.name], independent) if best and independent else [],
        "front": _front(measured, recorded, [one.row.name for one in picked.values()]),
        "matched": _match(family, measured, regnas),
        "tradeoff": tradeoff([measured[row.name] for row in recorded.of_group("tradeoff")]),
        "four": [row.name for row in _ordered(recorded.of_group("four"))],
        "sharing": sharing([measured[row.name] for row in recorded.of_group("sharing")]),
        "ablation": [_ablation(row, measured) for row in _ordered(recorded.of_group("ablation"))],
    }


def _same_members(rows: Sequence[Row]) -> None:
    for row in rows:
        if row.members != rows[0].members:
            raise ArtifactError(
                f"{row.name} has the members {', '.join(row.members)}, but {rows[0].name} has "
                f"{', '.join(rows[0].members)}: rows of the group family share a table, so give one another group"
            )


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return [row for of_method in by_method(rows).values() for row in of_method]


def _samples(recorded: Recorded, split: str) -> int:
    return int(getattr(recorded.rows[0].families[0], split).shape[1])


def _row(one: Measures, independent: Measures | None) -> dict[str, Any]:
    """Return all facts about a row; costs are means over its seeds."""
    row, families = one.row, one.row.families
    base = independent.row.training_macs if independent else 0
    of_independent = one.mean_nfr().over(independent.mean_nfr()) if independent else None
    return {
        "row": row.name,
        "method": row.method,
        "setting": row.setting,
        "title": row.title,
        "group": row.group,
        "settings": dict(row.settings),
        "seeds": list(row.seeds),
        "members": list(row.members),
        "macs": [round(fmean(of_member)) for of_member in zip(*(family.macs for family in families), strict=True)],
        "architectures": [list(family.architectures) for family in families],
        "top1": [one.member_top1(member).to_json() for member in range(len(row.members))],
        "gains": [one.gain(member).to_json() for member in range(1, len(row.members))],
        "pairs": [
            {
                "reference": row.members[low],
                "new": row.members[high],
                "nfr": one.pair_nfr(pair).to_json(),
                "pfr": one.pair_pfr(pair).to_json(),
                "relative_nfr": one.pair_relative_nfr(pair).to_json(),
            }
            for pair, (low, high) in enumerate(one.pairs)
        ],
        "mean_top1": one.mean_top1().to_json(),
        "mean_nfr": one.mean_nfr().to_json(),
        "nfr_of_independent": of_independent.to_json() if of_independent else None,
        "search_reward": search_reward(row),
        "training_macs": round(row.training_macs),
        "training_of_independent": row.training_macs / base if base else None,
        "search_macs": round(row.search_macs),
        "seconds": [family.seconds for family in families],
    }


def _top1_differences(best: Measures, independent: Measures) -> list[dict[str, Any]]:
    return [
        {"member": member, "difference": estimate.to_json() if estimate else None}
        for member, estimate in member_differences(best, independent)
    ]


def _choice(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "method": rows[0].method,
        "chosen": chosen(rows).name,
        "settings": [{"row": row.name, "search_reward": search_reward(row)} for row in rows],
    }


def _front(measured: Mapping[str, Measures], recorded: Recorded, picked: Sequence[str]) -> list[dict[str, Any]]:
    """Return a point for each row and setting; ``on_front`` says whether it is on the Pareto front of regnas' rows."""
    rows = _ordered([*recorded.of_group("family"), *recorded.of_group("front")])
    points: list[dict[str, Any]] = [
        {
            "row": row.name,
            "method": row.method,
            "setting": row.setting,
            "title": row.title,
            "chosen": row.name in picked,
            "regnas": row.method in REGNAS,
            "error_rate": measured[row.name].larger_error().to_json(),
            "mean_nfr": measured[row.name].mean_nfr().to_json(),
        }
        for row in rows
    ]
    ours = [point for point in points if point["regnas"]]
    places = [(round(point["error_rate"]["mean"], 12), round(point["mean_nfr"]["mean"], 12)) for point in ours]
    best = {point["row"] for point, on_front in zip(ours, pareto_front(places), strict=True) if on_front}
    return [{**point, "on_front": point["row"] in best} for point in points]


def _match(
    family: Mapping[str, Sequence[Row]], measured: Mapping[str, Measures], regnas: Sequence[Curve]
) -> list[dict[str, Any]]:
    """Compare every baseline, at each of its settings, with the front of regnas."""
    if not regnas:
        return []
    return [
        {
            "row": row.name,
            "title": row.title,
            "top1": measured[row.name].larger_top1().to_json(),
            "nfr": measured[row.name].mean_nfr().to_json(),
            **at_matched_top1(regnas, measured[row.name]).to_json(),
        }
        for method, rows in family.items()
        if method not in REGNAS
        for row in rows
    ]


def _ablation(row: Row, measured: Mapping[str, Measures]) -> dict[str, Any]:
    """Return the differences to the row that the settings name, over common seeds; None without such seeds."""
    against = row.settings.get("against")
    other = measured.get(str(against))
    seeds = [seed for seed in row.seeds if other and seed in other.seeds]
    differences: dict[str, Any] = {"largest_top1": None, "mean_top1": None, "mean_nfr": None}
    if other and seeds:
        one, other = measured[row.name].only(seeds), other.only(seeds)
        largest = one.member_top1(len(row.members) - 1), other.member_top1(len(other.row.members) - 1)
        differences = {
            "largest_top1": largest[0].minus(largest[1]).to_json(),
            "mean_top1": one.mean_top1().minus(other.mean_top1()).to_json(),
            "mean_nfr": one.mean_nfr().minus(other.mean_nfr()).to_json(),
        }
    return {"row": row.name, "against": against, "seeds": seeds, **differences}
