"""The decision between polished and unpolished weights as a value: for the report, the manifest and the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regnas.flips import LEVEL
from regnas.report.kit.formatting import percent, percent_interval, signed_percent
from regnas.report.kit.json_values import JsonResult

Verdict = Literal["better", "worse", "undecided"]
Reason = Literal["hand", "limit", "interval"]


@dataclass(frozen=True)
class Change:
    """A number before and after polishing; the difference has a paired 95 % interval."""

    before: float
    after: float
    interval: tuple[float, float]

    @property
    def difference(self) -> float:
        return self.after - self.before

    def __str__(self) -> str:
        return (
            f"{percent(self.before)} -> {percent(self.after)}, {signed_percent(self.difference)} "
            f"{percent_interval(self.interval)}"
        )


@dataclass(frozen=True)
class Comparison:
    """A point on the line compared with the unpolished weights; ``mean_nfr`` is None for a single member."""

    top1: Change
    mean_nfr: Change | None
    reward: Change

    @property
    def verdict(self) -> Verdict:
        low, high = self.reward.interval
        return "better" if low > 0 else "worse" if high < 0 else "undecided"


@dataclass(frozen=True)
class Decision(JsonResult):
    """Which weights the members have, and why.

    Attributes:
        alpha: the chosen point on the line; None if the unpolished weights stay.
        compared: the point that was compared with the unpolished weights.
        reason: "hand" if the user named the point, "limit" if ``search.max_nfr`` decided, otherwise "interval".
        held_out: whether the images of the comparison were held out of the search.
        images, originals: their numbers in the comparison; variants of one original are one cluster.
        comparison: the differences with their intervals.
    """

    alpha: float | None
    compared: float
    reason: Reason
    held_out: bool
    images: int
    originals: int
    comparison: Comparison
    level: float = LEVEL

    @property
    def verdict(self) -> Verdict:
        return self.comparison.verdict

    @property
    def kept(self) -> str:
        """The weights that the members have."""
        return "the unpolished weights stay" if self.alpha is None else f"alpha {self.alpha:g} chosen"

    def lines(self) -> list[str]:
        """Return the decision and its numbers as sentences."""
        found = self.comparison
        flips = "" if found.mean_nfr is None else f"; mean NFR {found.mean_nfr}"
        lines = [
            f"polishing: {self.kept} {self._why}",
            f"alpha {self.compared:g} against the unpolished weights, in percent: mean Top-1 {found.top1}{flips}",
            f"measured on {self._images}",
        ]
        if self.reason == "interval" and self.verdict == "undecided":
            lines.append(
                f"warning: {self.images:,} images are too few to tell which weights are better. To decide, enlarge the "
                "search split (search_fraction of the data, for example) or polish.held_out."
            )
        return lines

    @property
    def _images(self) -> str:
        originals = f" of {self.originals:,} originals" if self.originals < self.images else ""
        if self.held_out:
            return f"{self.images:,} images{originals} that were held out of the search"
        return (
            f"{self.images:,} images{originals} of the search split; the same images chose the architectures, which "
            "favors the unpolished weights"
        )

    @property
    def _why(self) -> str:
        if self.reason == "hand":
            return "by hand"
        if self.reason == "limit":
            return "by the limit search.max_nfr"
        change = self.comparison.reward
        found = f"difference of rewards {signed_percent(change.difference)} {percent_interval(change.interval)}"
        return {
            "better": f"because it is significantly better ({found})",
            "worse": f"because they are significantly better ({found})",
            "undecided": f"because it is not significantly worse ({found})",
        }[self.verdict]
