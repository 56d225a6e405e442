"""What was chosen on the search split, for tables: a row per key that is "auto"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regnas.report.kit.formatting import percent

TITLE = "Chosen on the search split"
EXPLANATION = (
    "Keys that the configuration leaves to regnas. Of the values that are as accurate as no treatment within one "
    "standard error, the one with the fewest flips is chosen; the grid is extended while the choice lies at its end. "
    "The report split has no part in it. Cost: what training the whole grid took, as a multiple of training without "
    "treatment."
)
HEADER = ("Key", "Chosen", "Tried: error rate / NFR on the search split (%)", "Cost")


def tuning_rows(tuning: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [
        [f"{choice['label']}.{choice['key']}", f"{choice['value']:g}{_note(choice)}", _tried(choice), _cost(choice)]
        for choice in tuning
    ]


def chosen_toml(tuning: Sequence[Mapping[str, Any]]) -> str:
    """The choices as the ``[chosen]`` tables of a configuration."""
    by_label: dict[str, list[str]] = {}
    for choice in tuning:
        by_label.setdefault(choice["label"], []).append(f"{choice['key']} = {float(choice['value'])}")
    return "\n".join("\n".join([f"[chosen.{label}]", *lines, ""]) for label, lines in by_label.items())


def _tried(choice: Mapping[str, Any]) -> str:
    if not choice["tried"]:
        return "chosen by an earlier run, from the configuration"
    return ", ".join(
        f"{each['value']:g}: {percent(each['error_rate'])} / {percent(each['nfr'])}" for each in choice["tried"]
    )


def _note(choice: Mapping[str, Any]) -> str:
    if not choice["eligible"]:
        return " (none was as accurate as no treatment)"
    return " (the end of the grid)" if choice["at_edge"] and choice["tried"] else ""


def _cost(choice: Mapping[str, Any]) -> str:
    return f"{choice['cost']:.1f}x" if choice["tried"] else "–"
