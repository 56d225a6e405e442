"""Measure how many images batch-norm statistics need before the choice of images does not matter.

    python benchmarks/calibration.py RUN [RUN ...]

RUN is a finished run folder of ``regnas run`` (for the members of its family, and the ranking of candidates) or of
``regnas update`` (for the untreated new model). For each number of training images, several random sets are drawn. The
share of predictions on the report split that differ between two networks that are calibrated on different sets is
written to calibration.json and calibration.md beside this file, one entry per data set.
"""

from __future__ import annotations

import argparse
import copy
import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import nn

from regnas.data import Split, Splits
from regnas.family.family import load_family
from regnas.family.updated import model_name
from regnas.flips import Predictions, negative_flip_rate
from regnas.runs.config import parse_config
from regnas.runs.folder import RunFolder
from regnas.runs.job import prepare
from regnas.runs.supernet_stage import train_supernet
from regnas.runs.tables import is_update
from regnas.runtime.randomness import generator
from regnas.search.evaluation import CalibrationImages, Evaluator
from regnas.space import Architecture
from regnas.training import Prepared, calibrate, logits_on
from regnas.updates.config import parse_update
from regnas.updates.job import load_splits

HERE = Path(__file__).parent
COUNTS = (512, 2048, 4096, 8192, 16384, 32768)
DRAWS = 4
CANDIDATES = 60
CPU = torch.device("cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="finished run folders")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = HERE / "calibration.json"
    entries = json.loads(path.read_text()) if path.exists() else {}
    for run in options.runs:
        folder = RunFolder.open(run, reads_only=True)
        table = folder.facts["configuration"]
        look = of_update if is_update(table) else of_family
        entries[folder.facts["name"]] = look(folder, table)
    path.write_text(json.dumps(entries, indent=1) + "\n")
    (HERE / "calibration.md").write_text(markdown(entries))
    print(markdown(entries))


def of_update(folder: RunFolder, table: dict[str, Any]) -> dict[str, Any]:
    splits = load_splits(parse_update(folder.facts["name"], table).values)
    seed = table["seeds"][0]
    return {"changed": changed_answers({"new": load_family(folder.path)[model_name("none", seed)]}, splits)}


def of_family(folder: RunFolder, table: dict[str, Any]) -> dict[str, Any]:
    config = parse_config(folder.facts["name"], table)
    splits = config.values.data.load()
    family = load_family(folder.family)
    job = prepare(config, folder, None, ())
    supernet = train_supernet(job)  # it is in the folder, and only loaded
    trials = {trial.architecture for name in job.studies.names() for trial in job.studies.open(name).trials()}
    candidates = sorted(trials, key=lambda each: each.id)[:: max(1, len(trials) // CANDIDATES)]
    return {
        "changed": changed_answers({name: family[name] for name in family}, splits),
        "ranking": rankings(supernet, candidates, family.members[0].architecture, splits, job.device),
    }


def changed_answers(networks: dict[str, nn.Module], splits: Splits) -> list[dict[str, float]]:
    """Return, for each number of images, the mean and largest share of predictions that differ between two draws."""
    rows = []
    for count in (each for each in COUNTS if each < len(splits.train)):
        shares = []
        for network in networks.values():
            answers = [answers_of(network, splits, drawn(splits.train, count, draw)) for draw in range(DRAWS)]
            shares += [float(np.mean(one != other)) for one, other in combinations(answers, 2)]
        rows.append({"images": count, "mean": float(np.mean(shares)), "largest": max(shares)})
    return rows


def drawn(split: Split, count: int, draw: int) -> Split:
    chosen = generator("calibration", count, draw).permutation(len(split))[:count]
    return split.part("drawn", np.sort(chosen))


def answers_of(network: nn.Module, splits: Splits, images: Split) -> np.ndarray:
    copied = copy.deepcopy(network).to(memory_format=torch.channels_last)
    calibrate(copied, Prepared(images.images[:], splits.preprocessing, CPU))
    return logits_on(copied, splits.report, splits.preprocessing, CPU).argmax(dim=1).numpy()


def rankings(
    supernet: nn.Module, candidates: list[Architecture], smallest: Architecture, splits: Splits, device: torch.device
) -> list[dict[str, float]]:
    """Rank candidates by Top-1 - NFR against the smallest member, with fewer images and with all of them."""

    def rewards(count: int, draw: int | None) -> np.ndarray:
        train = splits.train if draw is None else drawn(splits.train, count, draw)
        evaluator = Evaluator.in_process(
            supernet,
            replace(splits, train=train),
            CalibrationImages(count, count),
            device,  # type: ignore[arg-type]
        )
        reference = evaluator.predict(smallest)
        return np.array([reward(reference, each) for each in evaluator.predict_each(candidates)])

    def reward(reference: Predictions, new: Predictions) -> float:
        return new.accuracy - negative_flip_rate(reference, new)

    everything = rewards(len(splits.train), None)
    rows = []
    for count in (each for each in COUNTS if each < len(splits.train)):
        fewer = [rewards(count, draw) for draw in range(2)]
        rows.append(
            {
                "images": count,
                "kendall_tau": float(np.mean([kendalltau(each, everything).statistic for each in fewer])),
                "same_best": float(np.mean([each.argmax() == everything.argmax() for each in fewer])),
                "candidates": len(candidates),
            }
        )
    return rows


def markdown(entries: dict[str, Any]) -> str:
    lines = [
        "# Calibration",
        "",
        "`python benchmarks/calibration.py RUN ...`: the same network with batch-norm statistics of different random",
        f"sets of training images ({DRAWS} draws). Share of answers on the report split that differ between two draws,",
        "in percent.",
        "",
        "| run | images | mean | largest |",
        "|---|---|---|---|",
    ]
    for name, entry in entries.items():
        lines += [
            f"| {name} | {row['images']:,} | {100 * row['mean']:.2f} | {100 * row['largest']:.2f} |"
            for row in entry["changed"]
        ]
    lines += [
        "",
        "So a part of the training images is not enough for 0.1 %, and networks that are exported or reported are",
        "calibrated on all of them, up to 50,000: nothing is drawn.",
    ]
    ranked = {name: entry["ranking"] for name, entry in entries.items() if "ranking" in entry}
    if ranked:
        lines += [
            "",
            "Candidates of a search, by Top-1 - NFR on the search split, with fewer images and with all of them. The",
            "ranking is not the same even with nine tenths of the images, so a search calibrates on all of them unless",
            "`search.calibration_images` says otherwise:",
            "",
            "| run | images | candidates | Kendall's tau | the same best one |",
            "|---|---|---|---|---|",
        ]
        for name, rows in ranked.items():
            lines += [
                f"| {name} | {row['images']:,} | {row['candidates']} | {row['kendall_tau']:.3f} | "
                f"{100 * row['same_best']:.0f} % |"
                for row in rows
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
