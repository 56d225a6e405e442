"""Write the parts of the page beyond the main tables: the trade-off, four members, shared weights, ablations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.cifar10 import cells
from regnas.report.kit.formatting import percent, signed_percent, training_cost
from regnas.report.kit.markdown import plain

Results = Mapping[str, Any]
Rows = Mapping[str, Mapping[str, Any]]


def further(found: Results, rows: Rows) -> list[str]:
    return [*_tradeoff(found), *_four(found, rows), *_sharing(found), *_ablation(found, rows)]


def _tradeoff(found: Results) -> list[str]:
    tradeoff = found["tradeoff"]
    if tradeoff is None:
        return []
    table = [
        [
            f"{row['ratio']:g}",
            cells.rate(row["top1"]),
            cells.rate(row["mean_nfr"]),
            *([f"{value:.2f}" for value in row["paper"]] if row["paper"] else [cells.NOTHING] * 2),
        ]
        for row in tradeoff["rows"]
    ]
    header = ["l2 / l1", "Top-1 of the largest", "mean NFR", "paper: Top-1", "paper: NFR"]
    return [
        "## Weighing accuracy against flips",
        "R2 = l1 · Top-1 - l2 · NFR (REG-NAS supplement, table 1; its numbers are of ImageNet). Expected: both fall as "
        "the ratio grows.",
        cells.table(header, table),
        "\n".join(f"- {_order(name, tradeoff[key])}" for name, key in (("Top-1", "top1"), ("NFR", "mean_nfr"))),
    ]


def _order(name: str, order: Mapping[str, Any]) -> str:
    if order["spearman"] is None:
        return f"{name} is the same at all ratios."
    correlation = f"{order['spearman']:+.3f}"
    if order["interval"] is not None:
        correlation += f" {cells.plain_bounds(order['interval'])}"
    text = f"{name}: rank correlation with the ratio {correlation} (paper {order['paper_spearman']:+.3f})"
    if order["holds"]:
        return f"{text}; no neighbors break the order."
    breaks = ", ".join(
        f"{one['from']:g} to {one['to']:g} ({signed_percent(one['change'])} {cells.bounds(one['interval'])})"
        for one in order["breaks"]
    )
    return f"{text}; it rises from {breaks}."


def _four(found: Results, rows: Rows) -> list[str]:
    if not found["four"]:
        return []
    parts = [
        "## Four members",
        "NFR from each smaller network (row) to each larger one (column), and Top-1 (REG-NAS supplement, table 3).",
    ]
    for name in found["four"]:
        row = rows[name]
        members = row["members"]
        cell = {(pair["reference"], pair["new"]): cells.rate(pair["nfr"]) for pair in row["pairs"]}
        table = [
            [reference, *(cell.get((reference, new), "") for new in members[1:]), cells.rate(top1)]
            for reference, top1 in zip(members, row["top1"], strict=True)
        ]
        mean = f"**{plain(row['title'])}**: mean NFR {cells.rate(row['mean_nfr'])}, seeds {cells.seeds(row['seeds'])}."
        parts += [mean, cells.table(["NFR", *members[1:], "Top-1"], table)]
    return parts


def _sharing(found: Results) -> list[str]:
    sharing = found["sharing"]
    if sharing is None:
        return []
    parts = [
        "## Shared weights",
        "![Gap in Top-1 against NFR, independent networks and sub-networks of a supernet](sharing.svg)",
        "Every pair of networks of a family is a point (REG-NAS supplement, figure 1). Lines by least squares of the "
        "flips on the gap; intervals by a bootstrap over families.",
    ]
    if not sharing["differences"]:
        return [*parts, "The two clouds have no gap in common, so that nothing can be compared."]
    table = []
    for one in sharing["differences"]:
        line = [percent(one["gap"])]
        for key in ("nfr", "relative_nfr"):
            values = one[key]
            between = cells.NOTHING if values["interval"] is None else cells.bounds(values["interval"])
            line += [percent(values["independent"]), percent(values["supernet"])]
            line += [f"{signed_percent(values['difference'])} {between}"]
        table.append(line)
    columns = ("independent", "supernet", "difference")
    header = ["gap in Top-1", *(f"{name} {column}" for name in ("NFR", "relative NFR") for column in columns)]
    return [*parts, cells.table(header, table)]


def _ablation(found: Results, rows: Rows) -> list[str]:
    if not found["ablation"]:
        return []
    table = []
    for one in found["ablation"]:
        row, against = rows[one["row"]], rows.get(str(one["against"]))
        table.append(
            [
                row["title"],
                cells.rate(row["top1"][-1]),
                cells.rate(row["mean_nfr"]),
                training_cost(row["training_macs"]),
                against["title"] if against else f"{one['against'] or 'nothing'} (not recorded)",
                cells.difference(one["largest_top1"]),
                cells.difference(one["mean_nfr"]),
                cells.seeds(one["seeds"]),
            ]
        )
    header = ["row", "Top-1 of the largest", "mean NFR", "training", "against"]
    header += ["difference in Top-1", "difference in NFR", "common seeds"]
    text = "Differences to the row under `against`, in points, paired by seed and sample."
    return ["## Ablations", text, cells.table(header, table, words=("against",))]
