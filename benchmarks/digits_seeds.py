"""Run the demo over several seeds, to measure how much of its result is due to chance.

    python benchmarks/digits_seeds.py --seeds 5 --runs /somewhere/with/space

runs the preset ``digits`` once per seed (data and splits stay the same, everything that is trained and searched
changes) and writes digits_seeds.json and digits_seeds.md beside this file. An interrupted run is resumed. Intervals
are over seeds and samples.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.flips import Predictions, load_predictions, mean_interval, mean_nfr_values

HERE = Path(__file__).parent
# The demo leaves ELODI out, because it takes as long as all other baselines together. Alpha was chosen on the search
# split.
ELODI = ("--set", 'baselines.elodi={ members = 2, alpha = "auto" }', "--set", "chosen.elodi.alpha=0.5")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    options = parser.parse_args()
    runs = [run(seed, options.runs / f"seed{seed}") for seed in range(options.seeds)]
    result = {
        "command": f"python benchmarks/digits_seeds.py --seeds {options.seeds} --runs RUNS",
        "machine": {"platform": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count()},
        "versions": runs[0]["versions"],
        "seeds": [{key: value for key, value in each.items() if key != "versions"} for each in runs],
        "summary": [summary(index, runs, options.runs) for index in range(len(runs[0]["methods"]))],
    }
    (HERE / "digits_seeds.json").write_text(json.dumps(result, indent=2) + "\n")
    (HERE / "digits_seeds.md").write_text(markdown(result))
    print(markdown(result))


def run(seed: int, folder: Path) -> dict[str, Any]:
    arguments = ["run", "digits", "--set", f"seed={seed}", *ELODI, "--out", str(folder), "--resume"]
    subprocess.run([sys.executable, "-m", "regnas", *arguments], check=True, stdout=subprocess.DEVNULL)
    facts = json.loads((folder / "run.json").read_text())
    comparison = json.loads((folder / "report" / "flips.json").read_text())
    return {
        "seed": seed,
        "seconds": round(sum(facts["timings"].values()), 1),
        "versions": facts["versions"],
        "methods": [
            {
                "name": method["name"],
                "title": method["title"],
                "top1": [model["top1"] for model in method["models"]],
                "nfr": [pair["nfr"] for pair in method["pairs"]],
                "mean_nfr": method["mean_nfr"],
                "mean_nfr_interval": method["mean_nfr_interval"],
                "training_macs": method["training_macs"],
            }
            for method in comparison["methods"]
        ],
    }


def summary(index: int, runs: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    folders = [folder / f"seed{each['seed']}" for each in runs]
    mine, family_answers = (answers(folders, runs[0]["methods"][place]["name"]) for place in (index, 0))
    methods = [each["methods"][index] for each in runs]
    family = [each["methods"][0] for each in runs]
    members = range(len(methods[0]["top1"]))
    return {
        "title": methods[0]["title"],
        "mean_nfr_interval": bounds(mine, None, flips),
        "mean_nfr_minus_family_interval": bounds(mine, family_answers, flips),
        "mean_top1_minus_family_interval": bounds(mine, family_answers, hits),
        "top1": [spread([method["top1"][member] for method in methods]) for member in members],
        "mean_nfr": spread([method["mean_nfr"] for method in methods]),
        "mean_nfr_minus_family": spread(
            [method["mean_nfr"] - own["mean_nfr"] for method, own in zip(methods, family, strict=True)]
        ),
        "mean_top1_minus_family": spread(
            [
                statistics.mean(method["top1"]) - statistics.mean(own["top1"])
                for method, own in zip(methods, family, strict=True)
            ]
        ),
    }


def answers(folders: list[Path], method: str) -> list[list[Predictions]]:
    """Return the predictions of the members of a method, by seed."""
    members = list(json.loads((folders[0] / "run.json").read_text())["configuration"]["budgets"])
    names = members if method == "family" else [f"{method}-{member}" for member in members]
    return [[load_predictions(folder / "predictions" / f"{name}.npz") for name in names] for folder in folders]


def flips(models: list[Predictions]) -> NDArray[np.float64]:
    return mean_nfr_values(models)


def hits(models: list[Predictions]) -> NDArray[np.float64]:
    return np.mean([each.correct for each in models], axis=0)


def bounds(mine: list[list[Predictions]], others: list[list[Predictions]] | None, measure: Any) -> list[float]:
    """Return the 95 % interval over seeds and samples of a mean, or of a paired difference of two means."""
    values = np.stack([measure(models) for models in mine])  # [S, N]
    if others is None:
        return list(mean_interval(values, mine[0][0].groups, "rate"))
    return list(mean_interval(values - np.stack([measure(each) for each in others]), mine[0][0].groups, "difference"))


def spread(values: list[float]) -> dict[str, float]:
    return {"mean": statistics.mean(values), "sd": statistics.stdev(values) if len(values) > 1 else 0.0}


def markdown(result: dict[str, Any]) -> str:
    def cell(value: dict[str, float], sign: str = "") -> str:
        return f"{100 * value['mean']:{sign}.2f} ± {100 * value['sd']:.2f}"

    lines = [
        "# The digits demo over seeds",
        "",
        f"`{result['command']}`; {len(result['seeds'])} seeds, mean ± standard deviation over seeds, percent, on the "
        "report split. Brackets: 95 % over seeds and samples.",
        "",
        "| method | Top-1 small | Top-1 medium | Top-1 large | mean NFR | NFR − family | mean Top-1 − family |",
        "|---|---|---|---|---|---|---|",
    ]

    def bracket(bounds: list[float]) -> str:
        return f" [{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"

    for number, row in enumerate(result["summary"]):
        cells = [cell(value) for value in row["top1"]] + [cell(row["mean_nfr"]) + bracket(row["mean_nfr_interval"])]
        cells += [
            cell(row[name], "+") + bracket(row[f"{name}_interval"]) if number else ""
            for name in ("mean_nfr_minus_family", "mean_top1_minus_family")
        ]
        lines.append(f"| {row['title']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
