"""The comparison as a table for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from regnas.report.family.results import FamilyComparison, MemberResult, MethodResult, PairResult
from regnas.report.kit.formatting import p_value, percent, percent_interval, signed_percent, training_cost
from regnas.report.kit.markdown import markdown_table, plain
from regnas.report.tuning import EXPLANATION, HEADER, TITLE, tuning_rows
from regnas.space import format_macs

# The pairs of three members fit beside their accuracies into 100 columns; those of four do not.
MOST_PAIRS_IN_TERMINAL = 3
MOST_MEMBERS_IN_TERMINAL = 5


def terminal_table(comparison: FamilyComparison) -> Table:
    """Return a table with one row per method: Top-1 of each member, NFR of each pair, mean NFR with its interval.

    With many members, only the smallest and the largest are shown, without pairs; ``flips.md`` has all of them.
    """
    methods = comparison.methods
    level = f"{100 * comparison.interval_level:.0f} %"
    pairs = methods[0].pairs if len(methods[0].pairs) <= MOST_PAIRS_IN_TERMINAL else ()
    members = list(range(len(comparison.members)))
    members = members if len(members) <= MOST_MEMBERS_IN_TERMINAL else [members[0], members[-1]]
    # Texts, never strings: rich would take "[red]" in a name for markup.
    title = Text(f"{comparison.title}: Top-1 and negative flips in percent")
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Method", max_width=26)
    for member in members:
        table.add_column(Text(f"Top-1\n{comparison.members[member]}"), justify="right", max_width=12)
    for pair in pairs:
        table.add_column(Text(f"{pair.reference}\n→ {pair.new}"), justify="right", max_width=12)
    if methods[0].pairs:
        table.add_column(Text(f"mean NFR\n[{level}]"), justify="right", no_wrap=True)
    for method in methods:
        cells = [Text(method.title)]
        cells += [Text(percent(method.models[member].top1)) for member in members]
        cells += [Text(percent(pair.nfr)) for pair in method.pairs[: len(pairs)]]
        if method.pairs:
            cells.append(Text(_with_interval(method.mean_nfr, method.mean_nfr_interval)))
        table.add_row(*cells)
    return table


def markdown(comparison: FamilyComparison) -> str:
    """Return the content of ``flips.md``: the summary, the pairs of each method, and what the intervals cover."""
    parts = [f"# {plain(comparison.title)}", plain(comparison.summary)]
    verdicts = [f"- {plain(method.verdict)}" for method in comparison.methods if method.verdict]
    if verdicts:
        parts.append("\n".join(verdicts))
    if comparison.polishing is not None:
        parts += ["## Polishing", "\n".join(f"- {plain(line)}" for line in comparison.polishing.lines())]
    parts += ["## Methods", _summary_table(comparison), _training(comparison)]
    for method in comparison.methods:
        parts += [f"## {plain(method.title)}", plain(method.description), _models_table(method)]
        if method.pairs:
            parts.append(_pairs_table(method))
    if comparison.tuning:
        parts += [f"## {TITLE}", EXPLANATION, markdown_table(HEADER, tuning_rows(comparison.tuning))]
    parts += ["## Intervals", coverage(comparison)]
    return "\n\n".join(part for part in parts if part) + "\n"


def coverage(comparison: FamilyComparison) -> str:
    """Explain what the intervals cover and what they leave out."""
    level, samples, clusters = comparison.interval_level, comparison.samples, comparison.clusters
    by_cluster, votes = (" (clusters)", ", one vote per cluster") if clusters < samples else ("", "")
    originals = f"the {clusters:,} originals of the test set" if clusters < samples else f"the {samples:,} test samples"
    return (
        f"Brackets hold {100 * level:.0f} % intervals over samples{by_cluster}: how much the numbers depend on the "
        f"choice of {originals}. A rate has the interval of Clopper and Pearson, a difference of accuracies that of "
        "Tango, a mean over pairs a paired bootstrap that is never narrower than these closed forms. p-values are of "
        f"the exact McNemar test{votes}, corrected for the pairs of a method (Holm). The intervals do not cover the "
        "training: another seed gives other networks, and only repeated runs show how much these differ."
    )


def _summary_table(comparison: FamilyComparison) -> str:
    has_pairs = bool(comparison.methods[0].pairs)
    header = ["Method", *(f"Top-1 {member} (%)" for member in comparison.members)]
    header += ["mean NFR (%)", "mean NFR − family (points)"] if has_pairs else []
    rows = []
    for method in comparison.methods:
        row = [method.title]
        row += [_with_interval(model.top1, model.top1_interval) for model in method.models]
        if has_pairs:
            row += [_with_interval(method.mean_nfr, method.mean_nfr_interval), nfr_difference(method)]
        rows.append(row)
    return markdown_table(header, rows)


def nfr_difference(method: MethodResult) -> str:
    """Return the mean NFR minus that of the family with its interval; a dash for the family."""
    if method.mean_nfr_difference is None or method.mean_nfr_difference_interval is None:
        return "–"
    bounds = percent_interval(method.mean_nfr_difference_interval)
    return f"{signed_percent(method.mean_nfr_difference)} {bounds}"


def top1_difference(model: MemberResult) -> str:
    """Return Top-1 minus that of the family's member with its interval; a dash for the family."""
    if model.top1_difference is None or model.top1_difference_interval is None:
        return "–"
    return f"{signed_percent(model.top1_difference)} {percent_interval(model.top1_difference_interval)}"


def accuracy_difference(pair: PairResult) -> str:
    """Return the accuracy of the larger member minus that of the smaller one, with its interval."""
    return f"{signed_percent(pair.accuracy_difference)} {percent_interval(pair.accuracy_difference_interval)}"


def _training(comparison: FamilyComparison) -> str:
    known = [method for method in comparison.methods if method.training_macs]
    costs = (f"{plain(method.title)} {training_cost(method.training_macs)}" for method in known)
    return f"Multiply-adds spent on training: {', '.join(costs)}." if known else ""


def _models_table(method: MethodResult) -> str:
    header = ["Member", "MACs", "Parameters", "Architecture", "Top-1 (%)", "Top-1 − family (points)"]
    rows = [
        [
            model.name,
            format_macs(model.macs),
            f"{model.parameters:,}",
            model.architecture,
            _with_interval(model.top1, model.top1_interval),
            top1_difference(model),
        ]
        for model in method.models
    ]
    return markdown_table(header, rows)


def _pairs_table(method: MethodResult) -> str:
    header = ["Reference", "New", "NFR (%)", "PFR (%)", "relative NFR", "BTC (%)", "BEC (%)"]
    header += ["Top-1 gain (points)", "McNemar p", "corrected"]
    rows = []
    for pair in method.pairs:
        row = [pair.reference, pair.new, _with_interval(pair.nfr, pair.nfr_interval), percent(pair.pfr)]
        row += [f"{pair.relative_nfr:.3f}", percent(pair.btc), percent(pair.bec), accuracy_difference(pair)]
        rows.append([*row, p_value(pair.mcnemar_p), p_value(pair.mcnemar_p_corrected)])
    return markdown_table(header, rows)


def _with_interval(rate: float | None, bounds: Sequence[float] | None) -> str:
    if rate is None or bounds is None:
        return "–"
    return f"{percent(rate)} {percent_interval(bounds)}"
