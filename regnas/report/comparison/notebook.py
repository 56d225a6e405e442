"""Comparisons and verdicts as tables for notebooks."""

from __future__ import annotations

from regnas.comparison.comparison import Comparison
from regnas.comparison.gating import Verdict
from regnas.report.comparison.gate_tables import LIMITS, gate_headline, limit_rows
from regnas.report.comparison.tables import MARKDOWN_PAIRS, headline, left_out_pairs, pair_rows
from regnas.report.kit.notebook import html_table

MOST_PAIRS = 20


def comparison_table(comparison: Comparison) -> str:
    """Return the forward pairs as a table, at most 20 of them."""
    shown = comparison.forward[:MOST_PAIRS]
    return html_table(headline(comparison), MARKDOWN_PAIRS, pair_rows(shown), left_out_pairs(comparison, len(shown)))


def verdict_table(verdict: Verdict) -> str:
    """Return the limits as a table."""
    return html_table(gate_headline(verdict), LIMITS, limit_rows(verdict.checks))
