"""Results as compact HTML tables for notebooks: no style of their own, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from regnas.comparison.comparison import Comparison
from regnas.comparison.gating import Verdict
from regnas.report.comparison.gate_tables import LIMITS, gate_headline, limit_rows
from regnas.report.comparison.tables import MARKDOWN_PAIRS, headline, left_out_pairs, pair_rows

MOST_PAIRS = 20


def comparison_table(comparison: Comparison) -> str:
    """Return the forward pairs as a table, at most 20 of them."""
    shown = comparison.forward[:MOST_PAIRS]
    return _table(headline(comparison), MARKDOWN_PAIRS, pair_rows(shown), left_out_pairs(comparison, len(shown)))


def verdict_table(verdict: Verdict) -> str:
    """Return the limits as a table."""
    return _table(gate_headline(verdict), LIMITS, limit_rows(verdict.checks))


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    note = f"<p>{escape(below)}</p>" if below else ""
    return (
        f"<div><p><strong>{escape(title)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}</div>"
    )
