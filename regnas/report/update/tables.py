"""The methods of an update as tables, for the terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regnas.report.diagnostics import diagnostics_markdown
from regnas.report.kit.formatting import percent
from regnas.report.kit.markdown import markdown_table, plain
from regnas.report.tuning import EXPLANATION, HEADER, TITLE, tuning_rows
from regnas.report.update.curves import SweepResult
from regnas.report.update.methods import MethodResult
from regnas.report.update.results import UpdateResult
from regnas.report.update.texts import (
    counterpart,
    legend,
    mark_titles,
    noise_floor,
    swept,
    times,
    with_bounds,
    with_spread,
)
from regnas.report.update.verdicts import update_verdict

Header = Sequence[str]
Rows = Sequence[Sequence[str]]

PAIRS = "NFR from each model (row) to each later one (column)"


def update_terminal_table(results: UpdateResult) -> Group:
    """Return the methods, the noise floor and the meaning of the columns, then the pairs of a chain and the sweeps."""
    title = f"{results.title}: error rates and negative flips in percent"
    parts: list[RenderableType] = [_terminal(title, *method_rows(results)), Text("")]
    parts += [Text(noise_floor(results)), Text(_legend(results))]
    if results.is_chain:
        parts += [Text(""), _terminal(f"{PAIRS}, in percent", *_pairs(results))]
    for sweep in results.sweeps:
        parts += [Text(""), _terminal(f"{sweep.title}: {sweep.key}", *_sweep(sweep))]
    return Group(*parts)


def update_markdown(results: UpdateResult) -> str:
    """Return the content of ``update.md``."""
    headline, *others = update_verdict(results)
    parts = [f"# {plain(results.title)}", plain(results.scenario), f"**{plain(headline)}**"]
    parts += ["\n".join(f"- {plain(sentence)}" for sentence in others)]
    parts += ["## Methods", markdown_table(*method_rows(results)), plain(noise_floor(results)), plain(_legend(results))]
    described = zip(results.titles, results.methods, strict=True)
    parts.append("\n".join(f"- {plain(_add_title(title, method.description))}" for title, method in described))
    if results.is_chain:
        parts += ["## Pairs", f"{PAIRS}, in percent.", markdown_table(*_pairs(results))]
    for sweep in results.sweeps:
        parts += [f"## {plain(sweep.title)}: {plain(sweep.key)}", markdown_table(*_sweep(sweep))]
    if results.tuning:
        parts += [f"## {TITLE}", EXPLANATION, markdown_table(HEADER, tuning_rows(results.tuning))]
    if results.facts:
        facts = "\n".join(f"- {plain(name)}: {plain(value)}" for name, value in results.facts.items())
        parts += ["## Facts", facts]
    return "\n\n".join(parts) + "\n" + diagnostics_markdown(results.diagnostics)


def method_rows(results: UpdateResult) -> tuple[Header, Rows]:
    """Return the header and the rows of the main table."""
    chain = results.is_chain
    errors = [f"ER {model}\n(%)" for model in results.models]
    if chain:
        header = ["Method", *errors, "mean NFR\n(%)", f"mean NFR -\n{counterpart(results)} [95 %]", "training\ncost"]
    else:
        flips = ["NFR\n(%)", "relative\nNFR (%)", f"NFR - {counterpart(results)}\n[95 %]"]
        header = ["Method", *errors, *flips, "parameters", "training\ncost"]
    named = zip(mark_titles(results), results.methods, strict=True)
    return header, [_method(title, method, chain) for title, method in named]


def _method(title: str, method: MethodResult, chain: bool) -> list[str]:
    row = [f"★ {title}" if method.on_front else title, *(with_spread(each) for each in method.error_rates)]
    if chain:
        row += [with_spread(method.mean_nfr), with_bounds(method.mean_nfr_difference)]
    else:
        [pair] = method.pairs
        row += [with_spread(pair.nfr), with_spread(pair.relative_nfr), with_bounds(pair.nfr_difference)]
        row.append(f"{method.parameters:,}")
    return [*row, times(method.training_cost)]


def _pairs(results: UpdateResult) -> tuple[Header, Rows]:
    rows = []
    for title, method in zip(results.titles, results.methods, strict=True):
        for place, (reference, cells) in enumerate(zip(results.models, results.nfr_matrix(method), strict=False)):
            written = ["" if cell is None else with_spread(cell) for cell in cells]
            rows.append([title if place == 0 else "", reference, *written])
    return ["Method", "reference", *results.models[1:]], rows


def _sweep(sweep: SweepResult) -> tuple[Header, Rows]:
    header = [sweep.key, "ER\n(%)", "NFR\n(%)", "relative\nNFR (%)"]
    rows = []
    for point in sweep.points:
        value = f"{swept(point.value)} (chosen)" if sweep.is_chosen(point) else swept(point.value)
        measures = [with_spread(each) for each in (point.error_rate, point.nfr, point.relative_nfr)]
        searched = [percent(point.search_error_rate), percent(point.search_nfr)]
        rows.append([value, *measures, *searched])
    return [*header, "search split\nER (%)", "search split\nNFR (%)"], rows


def _add_title(title: str, description: str) -> str:
    """Return the description, with the title in front unless it begins with the name of the method."""
    return description if description.startswith(f"{title.partition(' (')[0]}:") else f"{title}: {description}"


def _legend(results: UpdateResult) -> str:
    return ". ".join(f"{name}: {meaning}" for name, meaning in legend(results)) + "."


def _terminal(title: str, header: Header, rows: Rows) -> Table:
    # Texts, never strings: rich would take "[red]" in a name for markup.
    table = Table(title=Text(title), box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    for place, name in enumerate(header):
        side: Literal["left", "right"] = "right" if place else "left"
        widest = 26 if place == 0 else 12 if name.startswith("ER ") else None  # models may have long names
        interval = "NFR -" in name
        table.add_column(Text(name), justify=side, max_width=widest, no_wrap=interval, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_narrow(cell) if place else cell) for place, cell in enumerate(row)))
    return table


def _narrow(numbers: str) -> str:
    """Remove spaces from numbers for narrow terminals: ``1.20 ± 0.10`` -> ``1.20±0.10``; also from intervals."""
    return re.sub(r"(?<=\d) ?([±,]) (?=-?\d)", r"\1", numbers)
