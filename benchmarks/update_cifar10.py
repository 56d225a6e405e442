"""Do the orders that the papers report come out on CIFAR-10 with small networks?

    python benchmarks/update_cifar10.py --images CIFAR10 --runs RUNS

runs the presets ``update_cifar10`` (a larger architecture) and ``update_cifar10_data`` (fine-tuning on more data, with
the curve of BCWI), about an hour and a half on two cores, and writes update_cifar10.json and update_cifar10.md beside
this file. CIFAR10 is a folder with train/<class>/*.jpg and test/<class>/*.jpg. What was interrupted is resumed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SWEEP = "bcwi.alpha=0:1:0.1"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=Path, required=True, help="folder with train/ and test/")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    options = parser.parse_args()
    data = run("update_cifar10_data", options, "--sweep", SWEEP)
    architecture = run("update_cifar10", options)
    result = {
        "command": "python benchmarks/update_cifar10.py --images CIFAR10 --runs RUNS",
        "cores": os.cpu_count(),
        "studies": [architecture, data],
        "orders": [*architecture_orders(architecture["results"]), *data_orders(data["results"])],
    }
    (HERE / "update_cifar10.json").write_text(json.dumps(result, indent=1) + "\n")
    texts = [
        (options.runs / name / "report" / "update.md").read_text() for name in ("update_cifar10", "update_cifar10_data")
    ]
    (HERE / "update_cifar10.md").write_text(markdown(result, texts))
    print(orders_table(result))


def run(preset: str, options: argparse.Namespace, *arguments: str) -> dict[str, Any]:
    folder = options.runs / preset
    images = f'data={{ name = "image_folder", path = "{options.images.resolve()}", size = 32 }}'
    command = [sys.executable, "-m", "regnas", "update", preset, "--set", images, "--out", str(folder), "--resume"]
    subprocess.run([*command, *arguments], check=True)
    facts = json.loads((folder / "run.json").read_text())
    results = json.loads((folder / "report" / "update.json").read_text())
    results["facts"]["Data"] = "CIFAR-10 from an image folder: " + results["facts"]["Data"].rpartition(": ")[2]
    return {"preset": preset, "seconds": round(sum(facts["timings"].values())), "results": results}


def architecture_orders(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims of PCT and ELODI, each with the numbers behind it."""
    nfr = {method["label"]: method["pairs"][0]["nfr"]["mean"] for method in results["methods"]}
    error = {method["label"]: method["error_rates"][-1]["mean"] for method in results["methods"]}
    change = {method["label"]: method["pairs"][0]["nfr_difference"] for method in results["methods"]}
    single = [name for name in nfr if name not in ("ensemble", "bayesian_update")]
    floor = results["noise_floor"]["nfr"]["mean"]
    return [
        order(
            "FD-LM below no treatment in NFR",
            nfr["focal_distillation_lm"] < nfr["none"],
            nfr,
            "focal_distillation_lm",
            "none",
        ),
        order(
            "FD-KL below no treatment in NFR",
            nfr["focal_distillation_kl"] < nfr["none"],
            nfr,
            "focal_distillation_kl",
            "none",
        ),
        order(
            "the ensemble paragon lowest in NFR (of all that answer for themselves)",
            all(nfr["ensemble"] <= nfr[name] for name in single),
            nfr,
            "ensemble",
            min(single, key=nfr.__getitem__),
        ),
        order(
            "ELODI below FD-LM in NFR",
            nfr["elodi"] < nfr["focal_distillation_lm"],
            nfr,
            "elodi",
            "focal_distillation_lm",
        ),
        order(
            "ELODI below FD-KL in NFR",
            nfr["elodi"] < nfr["focal_distillation_kl"],
            nfr,
            "elodi",
            "focal_distillation_kl",
        ),
        order("ELODI above the ensemble paragon in NFR", nfr["elodi"] >= nfr["ensemble"], nfr, "elodi", "ensemble"),
        order("ELODI's error rate not above no treatment's", error["elodi"] <= error["none"], error, "elodi", "none"),
        order(
            "naive close to no treatment (NFR within a tenth of the noise floor)",
            abs(change["naive"]["mean"]) <= floor / 10,
            nfr,
            "naive",
            "none",
        ),
    ]


def data_orders(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The claim of BCWI: fewer flips than the fine-tuned model at equal accuracy, at the alpha chosen for search."""
    (sweep,) = results["sweeps"]
    points = {point["value"]: point for point in sweep["points"]}
    fine_tuned, chosen = points[0.0], points.get(sweep["chosen"])
    if chosen is None:
        return [
            {"claim": "BCWI at the alpha chosen on the search split", "holds": False, "numbers": "no alpha qualifies"}
        ]
    text = f"alpha {sweep['chosen']:g}: {measures(chosen)}; fine-tuned: {measures(fine_tuned)}"
    holds = (
        chosen["nfr"]["mean"] < fine_tuned["nfr"]["mean"]
        and chosen["error_rate"]["mean"] <= fine_tuned["error_rate"]["mean"]
    )
    return [
        {
            "claim": "BCWI lowers the NFR of a fine-tuned model at an error rate not above it",
            "holds": holds,
            "numbers": text,
        }
    ]


def measures(point: dict[str, Any]) -> str:
    return f"NFR {100 * point['nfr']['mean']:.2f} and ER {100 * point['error_rate']['mean']:.2f}"


def order(claim: str, holds: bool, values: dict[str, float], one: str, other: str) -> dict[str, Any]:
    return {
        "claim": claim,
        "holds": holds,
        "numbers": f"{one} {100 * values[one]:.2f}, {other} {100 * values[other]:.2f}",
    }


def orders_table(result: dict[str, Any]) -> str:
    rows = [
        f"| {each['claim']} | {'yes' if each['holds'] else '**no**'} | {each['numbers']} |" for each in result["orders"]
    ]
    return "\n".join(["| what the papers report | here | in percent |", "|---|---|---|", *rows])


def markdown(result: dict[str, Any], texts: list[str]) -> str:
    seconds = sum(study["seconds"] for study in result["studies"])
    head = (
        "# Update methods on CIFAR-10\n\n"
        f"`{result['command']}`, {result['cores']} cores, {seconds / 60:.0f} minutes.\n\n{orders_table(result)}\n"
    )
    return "\n\n".join([head, *(text.replace("\n# ", "\n## ").replace("# ", "## ", 1) for text in texts)])


if __name__ == "__main__":
    main()
