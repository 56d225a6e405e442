"""Publish the study on CIFAR-10: tables, figures and whether its bars are met.

    python benchmarks/cifar10/tables.py --runs RUNS

reads the predictions that study.py recorded under RUNS/rows and writes results.json, README.md and the figures
(front, sharing; SVG and PNG) beside this file. notes.md, if it exists, becomes a part of README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is not installed with regnas

from benchmarks.cifar10.markdown import markdown
from benchmarks.cifar10.plots import front_figure, sharing_figure
from benchmarks.cifar10.results import results
from benchmarks.cifar10.rows import read_rows
from regnas.errors import RegnasError
from regnas.report.kit.figures import picture, write_picture
from regnas.runtime.files import write_text

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="folder of the study, with rows/ in it")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for what is written; beside this file")
    options = parser.parse_args()
    try:
        found = publish(options.runs, options.out)
    except RegnasError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    for bar in found["bars"]:
        print(f"{bar['verdict']:36} {bar['bar']}")
    print(options.out / "README.md")


def publish(runs: Path, out: Path) -> dict[str, Any]:
    """Write all files, and last the page, which names the others."""
    found = results(read_rows(runs))
    notes = out / "notes.md"
    page = markdown(found, notes.read_text() if notes.exists() else "")
    write_text(out / "results.json", json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    if found["front"]:
        write_picture(out / "front", picture(lambda: front_figure(found["front"])))
    if found["sharing"]:
        write_picture(out / "sharing", picture(lambda: sharing_figure(found["sharing"])))
    write_text(out / "README.md", page)
    return found


if __name__ == "__main__":
    main()
