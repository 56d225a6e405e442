"""A comparison as tables for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regnas.comparison.comparison import Breakdown, Comparison, Pair
from regnas.flips.closed_forms import LEVEL
from regnas.report.comparison.junit import Case
from regnas.report.kit.formatting import p_value, percent, percent_interval, printable, signed_percent
from regnas.report.kit.markdown import markdown_table, plain

MODELS = ("Model", "Error rate")
PAIRS = ("Reference → new", "NFR", "PFR", "Relative NFR", "Accuracy", "McNemar p", "corrected")
PARTS = ("Samples", "Flips", "NFR", "PFR")

# Parts that are shown of a class or slice table; the JSON object has them all.
MOST_ROWS = 5
MOST_MARKDOWN_ROWS = 20


def terminal(comparison: Comparison) -> Group:
    """The models, all pairs, and what regressed most between each model and the next."""
    parts = titled_table(headline(comparison), MODELS, model_rows(comparison))
    parts += titled_table(f"Flips in percent, with {100 * LEVEL:.0f} % intervals", PAIRS, pair_rows(comparison.pairs))
    for pair in comparison.successive:
        for column, breakdown in breakdowns(pair):
            title = f"{pair_title(pair)}, by {printable(column)}: what regressed most"
            rows = part_rows(breakdown)[:MOST_ROWS]
            parts += titled_table(title, (column, *PARTS), rows, left_out(breakdown, MOST_ROWS))
    return Group(*parts, *(Text(note) for note in notes(comparison)))


def markdown(comparison: Comparison) -> str:
    """The same with more of the parts."""
    sections = [
        f"# {plain(headline(comparison))}",
        markdown_table(["Model", "Error rate (%)"], model_rows(comparison)),
        markdown_table(["Reference → new", "NFR (%)", "PFR (%)", *PAIRS[3:]], pair_rows(comparison.pairs)),
    ]
    for pair in comparison.successive:
        for column, breakdown in breakdowns(pair):
            rows = part_rows(breakdown)[:MOST_MARKDOWN_ROWS]
            sections.append(f"## {plain(pair_title(pair))}, by {plain(printable(column))}")
            sections.append(markdown_table([printable(column), "Samples", "Flips", "NFR (%)", "PFR (%)"], rows))
            sections.append(left_out(breakdown, MOST_MARKDOWN_ROWS))
    sections += [plain(note) for note in notes(comparison)]
    return "\n\n".join(section for section in sections if section) + "\n"


def cases(comparison: Comparison) -> list[Case]:
    """Each model and the next as a test that passes, with its figures: limits are for the gate."""
    rows = pair_rows(comparison.successive)
    return [Case(pair, f"NFR {nfr} %, PFR {pfr} %, accuracy {gain} points") for pair, nfr, pfr, _, gain, *_ in rows]


def headline(comparison: Comparison) -> str:
    return f"{len(comparison.models)} models on {comparison.table.samples:,} samples"


def pair_title(pair: Pair) -> str:
    return f"{printable(pair.reference)} → {printable(pair.new)}"


def model_rows(comparison: Comparison) -> list[list[str]]:
    rates = zip(comparison.models, comparison.error_rates, strict=True)
    return [[printable(name), percent(error)] for name, error in rates]


def pair_rows(pairs: Sequence[Pair]) -> list[list[str]]:
    return [
        [
            pair_title(pair),
            f"{percent(pair.nfr)} {percent_interval(pair.nfr_interval)}",
            percent(pair.pfr),
            f"{pair.relative_nfr:.3f}",
            f"{signed_percent(pair.accuracy_difference)} {percent_interval(pair.accuracy_difference_interval)}",
            p_value(pair.mcnemar_p),
            p_value(pair.mcnemar_p_corrected),
        ]
        for pair in pairs
    ]


def breakdowns(pair: Pair) -> Iterator[tuple[str, Breakdown]]:
    yield "class", pair.classes
    yield from pair.slices.items()


def part_rows(breakdown: Breakdown) -> list[list[str]]:
    return [
        [
            printable(str(part.value)),
            f"{part.samples:,}",
            f"{part.negative_flips:,}",
            f"{percent(part.nfr)} {percent_interval(part.nfr_interval)}",
            percent(part.pfr),
        ]
        for part in breakdown.parts
    ]


def left_out(breakdown: Breakdown, shown: int) -> str:
    count = max(0, len(breakdown.parts) - shown) + breakdown.left_out
    return f"and {count:,} more, which regressed less" if count else ""


def notes(comparison: Comparison) -> list[str]:
    samples, clusters = comparison.table.samples, comparison.clusters
    pairs = len(comparison.pairs) // 2
    lines = [
        "NFR: the share of the samples that the reference has right and the new model wrong; PFR the opposite. "
        f"Brackets hold {100 * LEVEL:.0f} % intervals over samples; p is corrected for {pairs} "
        f"comparison{'s' * (pairs > 1)} (Holm)."
    ]
    if clusters < samples:
        lines.append(
            f"The samples come in {clusters:,} clusters (column group), which the intervals allow for; in the test "
            "each cluster has one vote."
        )
    lines += [f'Column "{printable(name)}" is no slice: {reason}.' for name, reason in comparison.left_out.items()]
    return lines


def titled_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], below: str = ""
) -> list[RenderableType]:
    """A table for the terminal. All are texts, never strings: rich would take "[red]" in a name for markup."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(header):
        table.add_column(Text(printable(name)), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return [Text(title, style="bold"), table, Text(f"{below}\n" if below else "")]
