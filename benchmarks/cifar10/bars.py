"""Decide the goals of the study (bars) by the measurements: met, missed, or not measured.

The measured number decides. If its interval crosses the limit, the verdict says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cifar10.cells import difference
from benchmarks.cifar10.matched import ROUNDING, Curve, at_matched_top1
from benchmarks.cifar10.measures import Estimate, Measures
from benchmarks.cifar10.rows import Row

ABSENT = "not measured"


@dataclass(frozen=True, eq=False)
class Bar:
    """A goal: ``measured`` is at most (``below``) or at least the ``limit``; without a limit, it is for information."""

    name: str
    limit: float | None
    measured: float | None
    interval: Sequence[float | None] | None
    note: str
    below: bool = True
    unit: str = "ratio"
    not_reached: bool = False  # there is nothing to measure because regnas fell short, which is a miss

    @property
    def met(self) -> bool | None:
        if self.not_reached:
            return False
        if self.measured is None or self.limit is None:
            return None
        above = self.measured - self.limit
        return above <= ROUNDING if self.below else above >= -ROUNDING

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "for information"
        if self.met is None:
            return ABSENT
        if self.not_reached:
            return "missed (Top-1 not reached)"
        return ("met" if self.met else "missed") + (" (interval crosses the limit)" if self._crosses() else "")

    def _crosses(self) -> bool:
        if self.interval is None or self.limit is None:
            return False
        low, high = self.interval
        return low is not None and low <= self.limit and (high is None or high >= self.limit)

    def to_json(self) -> dict[str, Any]:
        return {
            "bar": self.name,
            "unit": self.unit,
            "direction": "at most" if self.below else "at least",
            "limit": self.limit,
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "met": self.met,
            "verdict": self.verdict,
            "note": self.note,
        }


def bars(best: Measures | None, chosen: Mapping[str, Measures], regnas: Sequence[Curve]) -> list[Bar]:
    """Return all bars; ``chosen`` has for each method the measures of the setting that the search split chose."""
    elodi, distilled = chosen.get("elodi"), chosen.get("focal_distillation_lm")
    return [
        _flips("NFR of the best regnas row / independent training", 1 / 3, best, chosen.get("independent")),
        _match("NFR at matched Top-1 / focal distillation (LM)", 0.55, distilled, regnas, elodi),
        _match("NFR at matched Top-1 / ELODI", 0.75, elodi, regnas, elodi),
        _flips("NFR of the best regnas row / plain REG-NAS", 0.6, best, chosen.get("regnas")),
        _flips("NFR of the best regnas row / polishing without congruence", None, best, chosen.get("polished_plain")),
        _top1(best, chosen.get("independent")),
        _compute(best, elodi),
    ]


def _flips(name: str, limit: float | None, best: Measures | None, other: Measures | None) -> Bar:
    ratio = best.mean_nfr().over(other.mean_nfr()) if best is not None and other is not None else None
    if best is None or other is None or ratio is None:
        return Bar(name, limit, None, None, ABSENT)
    return Bar(name, limit, ratio.value, ratio.bounds, f"{best.row.name} / {other.row.name}")


def _match(name: str, limit: float, baseline: Measures | None, regnas: Sequence[Curve], elodi: Measures | None) -> Bar:
    if baseline is None or not regnas:
        return Bar(name, limit, None, None, ABSENT)
    matched = at_matched_top1(regnas, baseline)
    top1 = f"Top-1 of {baseline.row.name}: {100 * baseline.larger_top1().value:.2f} %"
    if matched.nfr is None:
        highest = 100 * max(float(curve.top1[0].max()) for curve in regnas)
        return Bar(name, limit, None, None, f"{top1}, at most {highest:.2f} % by regnas", not_reached=True)
    if matched.ratio is None:
        return Bar(name, limit, None, None, f"{baseline.row.name} has no flips")
    note = f"{' to '.join(row.name for row in matched.rows)}; {top1}"
    if elodi is not None and any(row.training_macs > elodi.row.training_macs for row in matched.rows):
        note += "; trained for more than ELODI"
    return Bar(name, limit, matched.ratio.value, matched.ratio.bounds, note)


def _top1(best: Measures | None, independent: Measures | None) -> Bar:
    name, limit = "Top-1 of each member - independent training of the same architecture, worst member", -0.005
    if best is None or independent is None:
        return Bar(name, limit, None, None, ABSENT, below=False, unit="points")
    differences = member_differences(best, independent)
    known = [estimate for _, estimate in differences if estimate is not None]
    note = ", ".join(f"{member} {_points(estimate)}" for member, estimate in differences)
    if len(known) < len(differences):  # the missing member may be the worst one
        return Bar(name, limit, None, None, note, below=False, unit="points")
    worst = min(known, key=lambda estimate: estimate.value)
    return Bar(name, limit, worst.value, worst.bounds, note, below=False, unit="points")


def member_differences(best: Measures, independent: Measures) -> list[tuple[str, Estimate | None]]:
    """Return, per member, Top-1 minus that of the independent network of the same architecture, over common seeds.

    None if no seed trained this architecture independently.
    """
    differences: list[tuple[str, Estimate | None]] = []
    for index, member in enumerate(best.row.members):
        seeds = [seed for seed in best.seeds if _same_architecture(best.row, independent.row, seed, member)]
        if not seeds:
            differences.append((member, None))
            continue
        other = independent.row.members.index(member)
        own = best.only(seeds).member_top1(index)
        differences.append((member, own.minus(independent.only(seeds).member_top1(other))))
    return differences


def _same_architecture(row: Row, other: Row, seed: int, member: str) -> bool:
    if seed not in other.seeds or member not in other.members:
        return False
    own, theirs = row.families[row.seeds.index(seed)], other.families[other.seeds.index(seed)]
    return own.architectures[row.members.index(member)] == theirs.architectures[other.members.index(member)]


def _points(estimate: Estimate | None) -> str:
    if estimate is None:
        return "of another architecture in every seed"
    seeds = len(estimate.by_seed)
    return f"{difference(estimate.to_json())} ({seeds} {'seed' if seeds == 1 else 'seeds'})"


def _compute(best: Measures | None, elodi: Measures | None) -> Bar:
    name = "training compute of the best regnas row / ELODI"
    if best is None or elodi is None or elodi.row.training_macs == 0:
        return Bar(name, 1.0, None, None, ABSENT)
    with_search = (best.row.training_macs + best.row.search_macs) / elodi.row.training_macs
    note = f"{best.row.name} / {elodi.row.name}; {with_search:.2f} with its search"
    return Bar(name, 1.0, best.row.training_macs / elodi.row.training_macs, None, note)
