"""The report of an update: its files, the page last."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from regnas.report import tuning
from regnas.report.diagnostics import diagnostics_markdown, for_page
from regnas.report.diagnostics_plots import first_in_detail, methods_side_by_side
from regnas.report.kit.figures import Picture, picture, write_picture
from regnas.report.kit.formatting import percent
from regnas.report.kit.pages import inline, page
from regnas.report.tuning import tuning_rows
from regnas.report.update.epoch_plots import flips_by_epoch, flips_by_epoch_in_words
from regnas.report.update.plots import error_against_flips, pairwise_maps, sweep_curve
from regnas.report.update.tables import is_chosen, update_markdown
from regnas.report.update.values import (
    Results,
    counterpart,
    coverage,
    is_chain,
    legend,
    marked_titles,
    mean_nfr,
    noise_floor,
    swept,
    times,
    untreated,
    with_bounds,
    with_spread,
)
from regnas.report.update.verdicts import update_verdict
from regnas.runtime.files import write_bytes

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def write_update_report(results: Results, folder: Path) -> None:
    """Write update.json, update.md, the figures and, last, index.html; the same results give the same bytes."""
    figures = {"error-against-flips": picture(lambda: error_against_flips(results))}
    for sweep in results["sweeps"]:
        figures[sweep_name(sweep)] = picture(partial(sweep_curve, sweep))
    if is_chain(results):
        figures["pairwise"] = picture(lambda: pairwise_maps(results))
    figures |= _diagnostic_figures(results)
    html = _page(results, {name: drawn.svg for name, drawn in figures.items()})

    _write(folder / "update.json", json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    _write(folder / "update.md", update_markdown(results) + diagnostics_markdown(results.get("diagnostics")))
    if results["tuning"]:
        _write(folder / "chosen.toml", tuning.chosen_toml(results["tuning"]))
    for name, drawn in figures.items():
        write_picture(folder / name, drawn)
    _write(folder / "index.html", html)


def _diagnostic_figures(results: Results) -> dict[str, Picture]:
    """Which samples flip, and when in the training; results of earlier versions do not have them."""
    figures = {}
    diagnostics, courses = results.get("diagnostics"), results.get("by_epoch")
    if diagnostics:
        figures["flip-diagnostics"] = picture(lambda: first_in_detail(diagnostics))
        if len(diagnostics["methods"]) > 1:
            figures["diagnostics-by-method"] = picture(lambda: methods_side_by_side(diagnostics))
    if courses:
        figures["by-epoch"] = picture(lambda: flips_by_epoch(courses))
    return figures


def sweep_name(sweep: Mapping[str, Any]) -> str:
    """``sweep-bcwi.alpha``: names come from a configuration and must not lead out of the folder."""
    return f"sweep-{_UNSAFE.sub('_', sweep['method'])}.{_UNSAFE.sub('_', sweep['key'])}"


def _page(results: Results, figures: Mapping[str, str]) -> str:
    filters: dict[str, Callable[..., Any]] = {
        "percent": percent,
        "mean_nfr": mean_nfr,
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
        chain=is_chain(results),
        titles=marked_titles(results),
        counterpart=counterpart(results),
        coverage=coverage(results),
        untreated=untreated(results),
        verdict=verdict,
        details=details,
        noise_floor=noise_floor(results),
        legend=legend(results),
        is_chosen=is_chosen,
        tuning=tuning_rows(results["tuning"]),
        tuning_title=tuning.TITLE,
        tuning_explanation=tuning.EXPLANATION,
        tuning_header=tuning.HEADER,
        facts=results["facts"],
        diagnostics=for_page(results.get("diagnostics"), len(results["seeds"])),
        by_epoch=flips_by_epoch_in_words(results["by_epoch"]) if results.get("by_epoch") else "",
        figures={name: inline(document, name) for name, document in figures.items()},
    )


def _write(path: Path, text: str) -> None:
    # Names may hold bytes that are no text; they must not cost us the report. In JSON they become its own escapes.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))
