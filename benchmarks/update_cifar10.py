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
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from regnas.report import update_markdown

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
    (HERE / "update_cifar10.md").write_text(markdown(result))
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


# What PCT and ELODI report: in NFR, or in the error rate of the new model, the first method is below the second.
NFR_ORDERS = (
    ("FD-LM below no treatment", "focal_distillation_lm", "none"),
    ("FD-KL below no treatment", "focal_distillation_kl", "none"),
    ("ELODI below no treatment", "elodi", "none"),
    ("ELODI below FD-LM", "elodi", "focal_distillation_lm"),
    ("ELODI below FD-KL", "elodi", "focal_distillation_kl"),
    ("the ensemble paragon below ELODI", "ensemble", "elodi"),
    ("the ensemble paragon below FD-LM", "ensemble", "focal_distillation_lm"),
    ("the ensemble paragon below FD-KL", "ensemble", "focal_distillation_kl"),
    ("the ensemble paragon below KD", "ensemble", "knowledge_distillation"),
)
ERROR_ORDERS = (
    ("ELODI's error rate not above no treatment's", "elodi", "none"),
    ("FD-LM's error rate above no treatment's", "none", "focal_distillation_lm"),
)


def architecture_orders(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims of PCT and ELODI, each with the numbers behind it."""
    nfr = {method["label"]: method["pairs"][0]["nfr"] for method in results["methods"]}
    errors = {method["label"]: method["error_rates"][-1] for method in results["methods"]}
    naive = next(method for method in results["methods"] if method["label"] == "naive")["pairs"][0]["nfr_difference"]
    low, high = (100 * bound for bound in naive["interval"])
    floor = 100 * results["noise_floor"]["nfr"]["mean"]
    close = {
        "claim": "NFR: naive close to no treatment (by less than a tenth of the noise floor)",
        "holds": 100 * abs(naive["mean"]) < floor / 10,
        "numbers": f"{100 * naive['mean']:+.2f} [{low:.2f}, {high:.2f}], floor {floor:.2f}",
    }
    return [
        *(below(f"NFR: {claim}", nfr, one, other) for claim, one, other in NFR_ORDERS),
        *(below(f"ER: {claim}", errors, one, other) for claim, one, other in ERROR_ORDERS),
        close,
    ]


def below(claim: str, measures: dict[str, Any], one: str, other: str) -> dict[str, Any]:
    first, second = measures[one], measures[other]
    agreeing = sum(low <= high for low, high in zip(first["values"], second["values"], strict=True))
    means = f"{100 * first['mean']:.2f} and {100 * second['mean']:.2f}"
    return {
        "claim": claim,
        "holds": first["mean"] <= second["mean"],
        "numbers": f"{means}; in {agreeing} of {len(first['values'])} seeds",
    }


def data_orders(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The claim of BCWI, at the alpha that the search split chose: fewer flips than fine-tuning at equal accuracy."""
    (sweep,) = results["sweeps"]
    points = {point["value"]: point for point in sweep["points"]}
    fine_tuned, chosen = points[0.0], points[sweep["chosen"]]
    difference = chosen["error_rate_difference"]
    low, high = (100 * bound for bound in difference["interval"])
    numbers = (
        f"alpha {sweep['chosen']:g}: NFR {100 * chosen['nfr']['mean']:.2f} instead of "
        f"{100 * fine_tuned['nfr']['mean']:.2f}, error rate {100 * difference['mean']:+.2f} [{low:.2f}, {high:.2f}]"
    )
    holds = chosen["nfr"]["mean"] < fine_tuned["nfr"]["mean"] and difference["interval"][0] <= 0
    return [{"claim": "BCWI: fewer flips than fine-tuning at equal accuracy", "holds": holds, "numbers": numbers}]


NOTES = """\
Three orders do not come out:

- **ELODI's error rate is above no treatment's** and its NFR just above FD-KL's. Most likely ten epochs are too few
  for the squared loss on logits: on the search split with m = 2, ELODI was 2.0 points behind no
  treatment after 6 epochs (a larger network) and level after 10. On the digits preset, which the networks come close to
  learning, both orders hold (README). FD-KL pays for its NFR with 5.6 points of error, ELODI with 1.
- **Naive is not close to no treatment**: it flips 1.05 points less at an error rate that is not higher. Samples that
  the old model has right count twice, which at this length of training may simply be more training on them.
- FD-LM with the paper's weight gives up all of the new model's gain: with 10 classes it is ten times as steep as FD-KL,
  and the learning rate is too high for it.
"""


def orders_table(result: dict[str, Any]) -> str:
    rows = [
        f"| {each['claim']} | {'yes' if each['holds'] else '**no**'} | {each['numbers']} |" for each in result["orders"]
    ]
    return "\n".join(["| what the papers report | here | in percent |", "|---|---|---|", *rows])


def markdown(result: dict[str, Any]) -> str:
    seconds = sum(study["seconds"] for study in result["studies"])
    head = (
        "# Update methods on CIFAR-10\n\n"
        f"`{result['command']}`, {result['cores']} cores, {seconds / 60:.0f} minutes.\n\n"
        f"{orders_table(result)}\n\n{NOTES}"
    )
    studies = (update_markdown(study["results"]) for study in result["studies"])
    return "\n\n".join([head, *(re.sub(r"^#", "##", text, flags=re.MULTILINE) for text in studies)])


if __name__ == "__main__":
    main()
