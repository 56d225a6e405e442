"""An update as text and HTML, for the interactive Python prompt and notebooks."""

from __future__ import annotations

from regnas.report.kit.notebook import html_table
from regnas.report.update.results import UpdateResult
from regnas.report.update.tables import method_rows
from regnas.report.update.texts import noise_floor, with_bounds, with_spread
from regnas.report.update.verdicts import update_verdict


def results_table(results: UpdateResult) -> str:
    """Return the verdict and the table of the methods as HTML."""
    return html_table(f"{results.title}: {update_verdict(results)[0]}", *method_rows(results), noise_floor(results))


def results_summary(results: UpdateResult) -> str:
    """Return one line per method."""
    flips = "mean NFR" if results.is_chain else "NFR"
    lines = [
        f"  {method.label}: error rate {with_spread(method.error_rate)} %, {flips} {with_spread(method.mean_nfr)} %"
        + (f" ({with_bounds(method.mean_nfr_difference)} points)" if method.mean_nfr_difference else "")
        for method in results.methods
    ]
    seeds = f"{len(results.seeds)} seeds" if len(results.seeds) > 1 else "1 seed"
    models = " → ".join(results.models)
    return "\n".join([f"Update {results.title}, {models}, {results.samples:,} samples, {seeds}", *lines])
