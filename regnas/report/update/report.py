"""Write the report of an update."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from regnas.report import tuning
from regnas.report.diagnostics import for_page
from regnas.report.diagnostics_plots import first_in_detail, methods_side_by_side
from regnas.report.kit.documents import encode_document, write_document
from regnas.report.kit.figures import picture, svg, write_picture
from regnas.report.kit.formatting import percent
from regnas.report.kit.pages import inline, page
from regnas.report.tuning import tuning_rows
from regnas.report.update.curves import SweepResult
from regnas.report.update.epoch_plots import flips_by_epoch, flips_by_epoch_in_words
from regnas.report.update.front_plot import error_against_flips
from regnas.report.update.pair_maps import pairwise_maps
from regnas.report.update.results import UpdateResult
from regnas.report.update.sweep_plot import sweep_curve
from regnas.report.update.tables import update_markdown
from regnas.report.update.texts import (
    counterpart,
    coverage,
    legend,
    mark_titles,
    noise_floor,
    swept,
    times,
    with_bounds,
    with_spread,
)
from regnas.report.update.verdicts import update_verdict

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def write_update_report(results: UpdateResult, folder: Path) -> None:
    """Write update.json, update.md, the figures and, last, index.html; the same results give the same bytes."""
    figures = {name: picture(draw) for name, draw in _drawings(results).items()}
    html = _page(results, {name: drawn.svg for name, drawn in figures.items()})

    write_document(folder / "update.json", results.to_json() + "\n")
    write_document(folder / "update.md", update_markdown(results))
    if results.tuning:
        write_document(folder / "chosen.toml", tuning.chosen_toml(results.tuning))
    for name, drawn in figures.items():
        write_picture(folder / name, drawn)
    write_document(folder / "index.html", html)


def html_text(results: UpdateResult) -> str:
    """Return the page of the report."""
    html = _page(results, {name: svg(draw) for name, draw in _drawings(results).items()})
    return encode_document(html).decode()


def _drawings(results: UpdateResult) -> dict[str, Callable[[], Figure]]:
    """Return functions that draw the figures of the page, by the names of their files."""
    drawings: dict[str, Callable[[], Figure]] = {"error-against-flips": partial(error_against_flips, results)}
    drawings |= {sweep_name(sweep): partial(sweep_curve, sweep) for sweep in results.sweeps}
    if results.is_chain:
        drawings["pairwise"] = partial(pairwise_maps, results)
    if results.diagnostics:
        drawings["flip-diagnostics"] = partial(first_in_detail, results.diagnostics)
        if len(results.diagnostics.methods) > 1:
            drawings["diagnostics-by-method"] = partial(methods_side_by_side, results.diagnostics)
    if results.by_epoch:
        drawings["by-epoch"] = partial(flips_by_epoch, results.by_epoch)
    return drawings


def sweep_name(sweep: SweepResult) -> str:
    """Return a file name such as ``sweep-bcwi.alpha``.

    The names come from a configuration. They must not lead out of the folder, so other characters are replaced.
    """
    return f"sweep-{_UNSAFE.sub('_', sweep.method)}.{_UNSAFE.sub('_', sweep.key)}"


def _page(results: UpdateResult, figures: Mapping[str, str]) -> str:
    filters: dict[str, Callable[..., Any]] = {
        "percent": percent,
        "swept": swept,
        "sweep_name": sweep_name,
        "times": times,
        "with_bounds": with_bounds,
        "with_spread": with_spread,
    }
    verdict, *details = update_verdict(results)
    return page(
        "regnas.report.update",
        "update.html.j2",
        filters,
        results=results,
        titles=mark_titles(results),
        counterpart=counterpart(results),
        coverage=coverage(results),
        verdict=verdict,
        details=details,
        noise_floor=noise_floor(results),
        legend=legend(results),
        tuning=tuning_rows(results.tuning),
        tuning_title=tuning.TITLE,
        tuning_explanation=tuning.EXPLANATION,
        tuning_header=tuning.HEADER,
        facts=results.facts,
        diagnostics=for_page(results.diagnostics, len(results.seeds)),
        by_epoch=flips_by_epoch_in_words(results.by_epoch) if results.by_epoch else "",
        figures={name: inline(document, name) for name, document in figures.items()},
    )
