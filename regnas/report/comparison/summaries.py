"""Results in a few lines of plain text, for the interactive Python prompt."""

from __future__ import annotations

from regnas.comparison.comparison import Comparison, Pair
from regnas.comparison.gating import Verdict
from regnas.report.comparison.gate_tables import gate_headline, limit_rows
from regnas.report.comparison.tables import headline, pair_title
from regnas.report.kit.formatting import percent, percent_interval, signed_percent

MOST_PAIRS = 10


def pair_summary(pair: Pair) -> str:
    """Describe a pair in one line."""
    return (
        f"{pair_title(pair)}: NFR {percent(pair.nfr)} % {percent_interval(pair.nfr_interval)}, "
        f"PFR {percent(pair.pfr)} %, accuracy {signed_percent(pair.accuracy_difference)} points "
        f"{percent_interval(pair.accuracy_difference_interval)}"
    )


def comparison_summary(comparison: Comparison) -> str:
    """Describe a comparison in one line per forward pair, at most 10 of them."""
    forward = comparison.forward
    lines = [f"  {pair_summary(pair)}" for pair in forward[:MOST_PAIRS]]
    if len(forward) > MOST_PAIRS:
        lines.append(f"  and {len(forward) - MOST_PAIRS:,} more pairs")
    return "\n".join([f"Comparison of {headline(comparison)}", *lines])


def verdict_summary(verdict: Verdict) -> str:
    """Describe a verdict in one line per limit."""
    lines = [
        f"  {limit}: {status}, {found} {interval}" + (f", further samples: {further}" if further else "")
        for limit, found, interval, status, further in limit_rows(verdict.checks)
    ]
    return "\n".join([gate_headline(verdict), *lines])
