"""A comparison as tables for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from regnas.comparison.breakdowns import Breakdown
from regnas.comparison.comparison import Comparison, Pair
from regnas.flips.closed_forms import LEVEL
from regnas.report.comparison.junit import Case
from regnas.report.kit.formatting import p_value, percent, percent_interval, signed_percent
from regnas.report.kit.markdown import markdown_table, plain
from regnas.runtime.printable import printable

MODELS = ("Model", "Error rate")
PAIRS = ("Reference → new", "NFR", "PFR", "Relative NFR", "Accuracy", "McNemar p", "Corrected p")
MARKDOWN_PAIRS = ("Reference → new", "NFR (%)", "PFR (%)", *PAIRS[3:])
PARTS = ("Samples", "Flips", "NFR", "PFR")

# Columns of the table of pairs, from wide terminals to narrow ones: the first choice that fits is printed.
LAYOUTS = (range(7), (0, 1, 2, 4, 5, 6), (0, 1, 2, 4, 6), (0, 1, 2, 4))
NARROWEST_NAME = 16  # names of models are wrapped down to this width before a column is left out
GAP = 2  # between two columns

# Rows of a class or slice table that are shown; the JSON object has all of them.
MOST_ROWS = 5
MOST_MARKDOWN_ROWS = 20
MOST_IDS = 5
MOST_PAIRS = 50  # of more pairs, those with the highest NFR are shown
MOST_DETAILED = 10  # pairs of a model and the next whose classes, slices and ids are shown


def terminal(comparison: Comparison, width: int) -> Group:
    """Return the models, the forward pairs, and the parts that regressed most between each model and the next.

    ``width`` is that of the terminal, in characters.
    """
    parts = titled_table(headline(comparison), MODELS, model_rows(comparison))
    shown = shown_pairs(comparison)
    rows = pair_rows(shown)
    layout = fitting_layout(rows, width)
    title = f"Flips in percent, with {100 * LEVEL:.0f} % intervals{highest_first(comparison)}"
    below = "\n".join(filter(None, [left_out_pairs(comparison, len(rows)), left_out_columns(layout)]))
    parts += titled_table(title, _pick(PAIRS, layout), [_pick(row, layout) for row in rows], below)
    for pair in detailed_pairs(comparison):
        for column, breakdown in breakdowns(pair):
            title = f"{pair_title(pair)}, by {printable(column)}: what regressed most"
            rows = part_rows(breakdown)[:MOST_ROWS]
            parts += titled_table(title, (column, *PARTS), rows, left_out(breakdown, MOST_ROWS))
    parts += [Text(flipped_ids(pair)) for pair in detailed_pairs(comparison) if pair.negative_flips]
    return Group(*parts, *(Text(note) for note in notes(comparison)))


def markdown(comparison: Comparison) -> str:
    """Return the comparison as Markdown, with more rows per class or slice table than in the terminal."""
    shown = shown_pairs(comparison)
    sections = [
        f"# {plain(headline(comparison))}",
        markdown_table(["Model", "Error rate (%)"], model_rows(comparison)),
        markdown_table(MARKDOWN_PAIRS, pair_rows(shown)),
        left_out_pairs(comparison, len(shown)),
    ]
    for pair in detailed_pairs(comparison):
        for column, breakdown in breakdowns(pair):
            rows = part_rows(breakdown)[:MOST_MARKDOWN_ROWS]
            sections.append(f"## {plain(pair_title(pair))}, by {plain(printable(column))}")
            sections.append(markdown_table([printable(column), "Samples", "Flips", "NFR (%)", "PFR (%)"], rows))
            sections.append(left_out(breakdown, MOST_MARKDOWN_ROWS))
    sections += [plain(flipped_ids(pair)) for pair in detailed_pairs(comparison) if pair.negative_flips]
    sections += [plain(note) for note in notes(comparison)]
    return "\n\n".join(section for section in sections if section) + "\n"


def cases(comparison: Comparison) -> list[Case]:
    """Return one passing test per pair of a model and the next, with its numbers: only a gate has limits."""
    rows = pair_rows(comparison.successive)
    return [Case(pair, f"NFR {nfr} %, PFR {pfr} %, accuracy {gain} points") for pair, nfr, pfr, _, gain, *_ in rows]


def headline(comparison: Comparison) -> str:
    """Return the numbers of models and samples in words."""
    return f"{len(comparison.models)} models on {comparison.samples:,} samples"


def shown_pairs(comparison: Comparison) -> list[Pair]:
    """Return the forward pairs; of very many, those with the highest NFR."""
    return _highest(comparison.forward, MOST_PAIRS)


def detailed_pairs(comparison: Comparison) -> list[Pair]:
    """Return the pairs of a model and the next; of many, those with the highest NFR."""
    return _highest(comparison.successive, MOST_DETAILED)


def highest_first(comparison: Comparison) -> str:
    """Return a note if a table shows only the pairs with the highest NFR, else an empty text."""
    return ": the pairs with the highest NFR" if len(comparison.forward) > MOST_PAIRS else ""


def pair_title(pair: Pair) -> str:
    """Return the names of a pair with an arrow."""
    return f"{printable(pair.reference)} → {printable(pair.new)}"


def model_rows(comparison: Comparison) -> list[list[str]]:
    """Return one row of ``MODELS`` per model."""
    rates = zip(comparison.models, comparison.error_rates, strict=True)
    return [[printable(name), percent(error)] for name, error in rates]


def pair_rows(pairs: Sequence[Pair]) -> list[list[str]]:
    """Return one row of ``PAIRS`` per pair."""
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
    """Yield the flips by class and by each slice, with the name of the column."""
    yield "class", pair.classes
    yield from pair.slices.items()


def part_rows(breakdown: Breakdown) -> list[list[str]]:
    """Return one row per class or value of a slice: its name, then ``PARTS``."""
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
    """Say how many parts a table with ``shown`` rows leaves out."""
    count = max(0, len(breakdown.parts) - shown) + breakdown.left_out
    return f"and {count:,} more, which regressed less" if count else ""


def left_out_pairs(comparison: Comparison, shown: int) -> str:
    """Say how many of the ordered pairs a table leaves out."""
    forward = len(comparison.forward)
    reverse = len(comparison.pairs) - forward
    if reverse == 1:  # two models: the other direction has the same numbers
        return ""
    more = f"{forward - shown:,} more pairs and " if forward > shown else ""
    return f"{more}{reverse:,} reverse pairs (later → earlier) are left out. JSON has all pairs."


def left_out_columns(layout: Sequence[int]) -> str:
    """Name the columns that a narrow layout leaves out."""
    names = [name for place, name in enumerate(PAIRS) if place not in layout]
    return f"Left out, because the terminal is too narrow: {', '.join(names)}." if names else ""


def fitting_layout(rows: Sequence[Sequence[str]], width: int) -> Sequence[int]:
    """Return the widest layout that a terminal of this width shows without breaking a number."""
    widths = [max(len(row[place]) for row in (PAIRS, *rows)) for place in range(len(PAIRS))]
    widths[0] = min(widths[0], NARROWEST_NAME)
    needed = [sum(widths[place] for place in layout) + GAP * (len(layout) - 1) for layout in LAYOUTS]
    return next((layout for layout, need in zip(LAYOUTS, needed, strict=True) if need <= width), LAYOUTS[-1])


def flipped_ids(pair: Pair) -> str:
    """Name the first samples that flipped from correct to wrong."""
    ids = pair.negative_flip_ids
    more = f" and {len(ids) - MOST_IDS:,} more" if len(ids) > MOST_IDS else ""
    shown = ", ".join(printable(str(each)) for each in ids[:MOST_IDS])
    return f"Samples that flipped from correct to wrong, {pair_title(pair)}: {shown}{more}"


def notes(comparison: Comparison) -> list[str]:
    """Explain the numbers, the clusters and the columns that are not slices."""
    samples, clusters = comparison.samples, comparison.clusters
    pairs = len(comparison.pairs) // 2
    lines = [
        "NFR: the share of samples that the reference predicts correctly and the new model does not. PFR: the "
        f"opposite. Brackets hold {100 * LEVEL:.0f} % intervals over samples; p is corrected for {pairs} "
        f"comparison{'s' * (pairs > 1)} (Holm)."
    ]
    if clusters < samples:
        lines.append(
            f"The samples come in {clusters:,} clusters (column group); the intervals account for them, and each "
            "cluster has one vote in the test."
        )
    reasons = comparison.left_out.items()
    lines += [f'Column "{printable(name)}" is not used as a slice: {reason}.' for name, reason in reasons]
    return lines


def titled_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], below: str = "", folding: Sequence[int] = (0,)
) -> list[RenderableType]:
    """Return a table for the terminal with a title above and a note below; only the columns ``folding`` are wrapped.

    All cells are texts, never strings: rich would take "[red]" in a name for markup.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for place, name in enumerate(header):
        justify: JustifyMethod = "right" if place else "left"
        table.add_column(Text(printable(name)), justify=justify, overflow="fold", no_wrap=place not in folding)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return [Text(title, style="bold"), table, Text(f"{below}\n" if below else "")]


def _highest(pairs: Sequence[Pair], most: int) -> list[Pair]:
    return list(pairs) if len(pairs) <= most else sorted(pairs, key=lambda pair: -pair.nfr)[:most]


def _pick(cells: Sequence[str], layout: Sequence[int]) -> list[str]:
    return [cells[place] for place in layout]
