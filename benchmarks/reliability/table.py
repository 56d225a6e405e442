"""Write the table of docs/reliability.md from the JSON files: ``python -m benchmarks.reliability.table``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->"
NAMES = ("kills", "signals", "full_disk", "fuzzing", "bit_flips", "search_workers", "shared_database", "guided")
LOAD = "load"  # figures of time and memory: {"rows": [{...}, ...]}
HEADER = "| campaign | attacks | goal | failures | hours | commit |\n|---|---:|---:|---:|---:|---|\n"


def table_of(folder: Path = HERE) -> str:
    """Return the counts of all campaigns, and the figures of the load, as Markdown."""
    return HEADER + "".join(_row(name, _read(folder, name)) for name in NAMES) + _load(_read(folder, LOAD))


def published(page: Path = PAGE) -> str:
    """Return what the page has between the markers."""
    return page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def write(folder: Path = HERE, page: Path = PAGE) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(before + BEGIN + table_of(folder) + END + rest.partition(END)[2], encoding="utf-8")


def _row(name: str, record: dict[str, Any] | None) -> str:
    if record is None:
        return f"| {name} | not run | | | | |\n"
    commits = ", ".join(record["commits"])
    counts = f"{record['attacks']:,} | {record['goal']:,} | {record['failures']:,}"
    return f"| {name} | {counts} | {record['seconds'] / 3600:.1f} | {commits} |\n"


def _load(content: dict[str, Any] | None) -> str:
    if content is None:
        return f"\n{LOAD}: not run\n"
    columns = list(content["rows"][0])
    lines = [columns, ["---"] * len(columns), *([str(row[key]) for key in columns] for row in content["rows"])]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _read(folder: Path, name: str) -> dict[str, Any] | None:
    path = folder / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


if __name__ == "__main__":
    write()
