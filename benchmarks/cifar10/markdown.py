"""Write the page of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.cifar10 import cells
from benchmarks.cifar10.choices import method_title
from benchmarks.cifar10.further import further
from regnas.report.kit.formatting import percent, training_cost
from regnas.report.kit.markdown import plain
from regnas.space import format_macs

Results = Mapping[str, Any]
Row = Mapping[str, Any]


def markdown(found: Results, notes: str) -> str:
    """Return the page, without parts that were not recorded; ``notes`` are included unchanged."""
    rows = {row["row"]: row for row in found["rows"]}
    family = [rows[name] for name in found["family"]]
    parts = [_head(found), *_bars(found)]
    if family:
        parts += [*_accuracy(family), *_flips(family), *_costs(family)]
    parts += [*_choices(found, rows), *_front(found), *further(found, rows)]
    if notes.strip():
        parts += ["## What was tried", f"<!-- notes.md begins -->\n{notes.strip()}\n<!-- notes.md ends -->"]
    return "\n\n".join([*parts, *_rows(found)]) + "\n"


def _head(found: Results) -> str:
    machine, samples = found["machine"], found["samples"]
    versions = ", ".join(f"{package} {version}" for package, version in machine["versions"].items())
    commands = "\n".join(found["commands"])
    return (
        "# Families of networks on CIFAR-10\n\n"
        f"```\n{commands}\n```\n\n"
        f"{machine['platform']}, {machine['cores']} cores, Python {machine['python']}, {versions}; "
        f"seeds {cells.seeds(found['seeds'])}. All numbers: [results.json](results.json).\n\n"
        f"Rates are in percent, on the report split ({samples['report']:,} samples), mean over the seeds. `±` is the "
        "standard deviation over seeds: what other trainings would change. `[ ]` is the 95 % interval of a paired "
        f"bootstrap over samples ({found['resamples']:,} resamples, the same for all rows and seeds): what other "
        "samples would change of these trainings. Choices are made on the search split "
        f"({samples['search']:,} samples) alone. NFR: the smaller network is right and the larger one wrong; PFR: the "
        "reverse; relative NFR: NFR / (Top-1 of the smaller × error rate of the larger), 100 % where the two err "
        "independently."
    )


def _bars(found: Results) -> list[str]:
    rows = [[bar["bar"], _limit(bar), _found(bar), bar["verdict"], bar["note"]] for bar in found["bars"]]
    best = f"The best regnas row is {plain(found['best'])}: " if found["best"] else "The best regnas row would be "
    text = (
        f"{best}of congruent training, polishing and interpolation at all their settings the one with the highest "
        "reward on the search split, among those that train for no more than ELODI if any does. At matched Top-1 the "
        "lowest of regnas' points and lines on the report split counts, which flatters regnas a little."
    )
    return ["## Bars", text, cells.table(["bar", "limit", "measured", "verdict", "of"], rows, words=("verdict", "of"))]


def _limit(bar: Row) -> str:
    if bar["limit"] is None:
        return cells.NOTHING
    sign = "≤" if bar["direction"] == "at most" else "≥"
    return f"{sign} {100 * bar['limit']:+.2f} points" if bar["unit"] == "points" else f"{sign} {bar['limit']:.3f}"


def _found(bar: Row) -> str:
    if bar["measured"] is None:
        return cells.NOTHING
    measure = {"mean": bar["measured"], "interval": bar["interval"], "spread": None}
    if bar["interval"] is None:
        return f"{bar['measured']:.3f}"
    return cells.difference(measure) if bar["unit"] == "points" else cells.ratio(measure)


def _accuracy(family: Sequence[Row]) -> list[str]:
    members = family[0]["members"]
    header = ["method", *(f"Top-1 {member}" for member in members), *(f"gain {member}" for member in members[1:])]
    rows = [
        [row["title"], *map(cells.rate, row["top1"]), *(cells.difference(gain) for gain in row["gains"])]
        for row in family
    ]
    return ["## Accuracy", "The gain is over the next smaller network.", cells.table(header, rows)]


def _flips(family: Sequence[Row]) -> list[str]:
    pairs = [f"{pair['reference']} → {pair['new']}" for pair in family[0]["pairs"]]
    negative = [
        [
            row["title"],
            *(cells.rate(pair["nfr"]) for pair in row["pairs"]),
            cells.rate(row["mean_nfr"]),
            cells.ratio(row["nfr_of_independent"]),
        ]
        for row in family
    ]
    others = [
        [row["title"], *(cells.short_rate(pair[key]) for key in ("pfr", "relative_nfr") for pair in row["pairs"])]
        for row in family
    ]
    header = ["method", *(f"{name} {pair}" for name in ("PFR", "relative NFR") for pair in pairs)]
    return [
        "## Flips",
        cells.table(["method", *(f"NFR {pair}" for pair in pairs), "mean NFR", "mean NFR / independent"], negative),
        cells.table(header, others),
    ]


def _costs(family: Sequence[Row]) -> list[str]:
    header = ["method", *(f"MACs {member}" for member in family[0]["members"])]
    header += ["training", "of independent", "search", "wall time a seed", "seeds"]
    rows = [
        [
            row["title"],
            *map(format_macs, row["macs"]),
            training_cost(row["training_macs"]),
            cells.times(row["training_of_independent"]),
            training_cost(row["search_macs"]) if row["search_macs"] else cells.NOTHING,
            cells.duration(sum(row["seconds"]) / len(row["seconds"])),
            cells.seeds(row["seeds"]),
        ]
        for row in family
    ]
    text = "MACs: multiply-adds of one image; training and search: of the whole family, mean over seeds."
    return ["## Cost", text, cells.table(header, rows)]


def _choices(found: Results, rows: Mapping[str, Row]) -> list[str]:
    if not found["choices"]:
        return []
    table = [
        [
            method_title(choice["method"]),
            rows[choice["chosen"]]["setting"],
            ", ".join(f"{rows[one['row']]['setting']}: {percent(one['search_reward'])}" for one in choice["settings"]),
        ]
        for choice in found["choices"]
    ]
    text = (
        "The tables above show a method at the setting with the highest mean Top-1 minus mean NFR on the search split "
        "(R2, both weights 1, mean over seeds)."
    )
    rewards = "setting: reward on the search split"
    return ["## Settings", text, cells.table(["method", "chosen", rewards], table, words=(rewards,))]


def _front(found: Results) -> list[str]:
    if not found["front"]:
        return []
    parts = ["## Fronts", "![Error rate of the larger network against mean NFR, all rows and settings](front.svg)"]
    picked = {choice["chosen"] for choice in found["choices"]}
    if found["matched"]:
        table = [
            [
                f"{one['title']}{' (chosen)' if one['row'] in picked else ''}",
                cells.rate(one["top1"]),
                cells.rate(one["nfr"]),
                cells.rate(one["matched_nfr"]) if one["reached"] else "not reached",
                cells.ratio(one["ratio"]),
                " to ".join(one["by"]) or cells.NOTHING,
            ]
            for one in found["matched"]
        ]
        header = ["baseline", "Top-1 of the larger", "mean NFR", "regnas at this Top-1", "ratio", "by"]
        text = (
            "At matched Top-1: the lowest mean NFR of regnas' rows (REG-NAS, congruent training, polished, "
            "interpolated, all settings) where the larger networks are at least as accurate as the baseline's. Between "
            "neighboring settings of a method lies a straight line."
        )
        parts += [text, cells.table(header, table, words=("by",))]
    return parts


def _rows(found: Results) -> list[str]:
    table = [
        [
            row["row"],
            row["group"],
            cells.seeds(row["seeds"]),
            ", ".join(f"{seconds:,.0f}" for seconds in row["seconds"]),
            row["title"],
        ]
        for row in found["rows"]
    ]
    total = sum(sum(row["seconds"]) for row in found["rows"])
    header = ["row", "group", "seeds", "seconds of each seed", "what it is"]
    return ["## All rows", f"Wall time in all: {cells.duration(total)}.", cells.table(header, table, words=header)]
