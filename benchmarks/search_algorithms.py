"""What each search algorithm reaches for how many candidates, and each order of finding a family, on one supernet.

    regnas train cifar10 --out runs/cifar10        # or any other run folder with a trained supernet
    python benchmarks/search_algorithms.py runs/cifar10 --candidates 80 --seeds 3 > benchmarks/search_algorithms.json

Algorithms: the search for the medium member above the small one (found once, by accuracy), by the run's own reward on
the search split. Every algorithm gets the same seeds and the same number of candidates; a seed decides all its draws.
Orders: whole families by the run's settings; chosen on the search split, reported on the report split.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regnas.config import parse_config
from regnas.evaluation import Evaluator
from regnas.flips import flip_table
from regnas.pipeline import Job, open_evaluator, prepare, train_supernet
from regnas.run_folder import RunFolder
from regnas.runtime.machine import describe_machine
from regnas.search import ALGORITHMS, FamilySearch, Study, Tier, TopOne, best, search
from regnas.training import logits_on, predictions_from

CHECKPOINTS = (20, 40, 60, 80, 100, 150, 200)


def algorithms(job: Job, evaluator: Evaluator, candidates: int, seeds: int, place: Path) -> dict[str, Any]:
    names = list(job.budgets)
    open_study = partial(_study, place, job.space)
    settings = job.config.values.search
    first = Tier(names[0], job.space, job.budgets[names[0]], TopOne())
    small = best(search(first, ALGORITHMS["evolution"](), evaluator, open_study("small"), candidates, (0, "small")))
    references = {names[0]: evaluator.predict(small.architecture)}
    tier = Tier(names[1], job.space.above(small.architecture), job.budgets[names[1]], settings.reward, references)
    results: dict[str, Any] = {}
    for name in sorted(ALGORITHMS):
        curves, spent = [], []
        for seed in range(seeds):
            before, forward = time.perf_counter(), evaluator.forward_seconds
            study = open_study(f"{name}/{seed}")
            trials = search(tier, ALGORITHMS[name](), evaluator, study, candidates, (seed, name, "algorithms"))
            spent.append(time.perf_counter() - before - (evaluator.forward_seconds - forward))
            curves.append([max(trial.reward for trial in trials[:count]) for count in checkpoints(candidates)])
        results[name] = {
            "best_reward": dict(zip(map(str, checkpoints(candidates)), zip(*curves, strict=True), strict=True)),
            "mean": [statistics.mean(column) for column in zip(*curves, strict=True)],
            "seconds_beside_forward_passes": statistics.median(spent),
        }
    return results


def checkpoints(candidates: int) -> list[int]:
    return [count for count in CHECKPOINTS if count <= candidates]


def orders(job: Job, evaluator: Evaluator, place: Path) -> dict[str, Any]:
    settings = job.config.values.search
    results = {}
    for order in ("smallest_first", "joint", "front"):
        family = FamilySearch(
            space=job.space,
            budgets=job.budgets,
            reward=settings.reward,
            order=order,  # type: ignore[arg-type]
            algorithm=ALGORITHMS["nsga2"]() if order == "front" else settings.algorithm,
            candidates=settings.candidates,
            evaluator=evaluator,
            open_study=partial(_study, place / order, job.space),
            key=(0, "orders"),
        )
        members = family.family()
        report = [
            predictions_from(
                name,
                logits_on(evaluator.network(own), job.splits.report, job.splits.preprocessing, job.device),
                job.splits.report,
                keep_logits=False,
            )
            for name, own in members.items()
        ]
        searched = [replace(evaluator.predict(own), model=name) for name, own in members.items()]
        results[order] = {
            "search_split": summary(flip_table(searched).to_json()),
            "report_split": summary(flip_table(report).to_json()),
        }
    return results


def summary(table: dict[str, Any]) -> dict[str, Any]:
    nfr = table["nfr"]
    pairs = [nfr[i][j] for i in range(len(nfr)) for j in range(i + 1, len(nfr))]
    return {"top1": table["accuracy"], "mean_nfr": statistics.mean(pairs), "worst_nfr": max(pairs)}


def _study(place: Path, space: Any, name: str) -> Study:
    place.mkdir(parents=True, exist_ok=True)
    return Study(f"sqlite:///{place / 'study.db'}", name, space)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--candidates", type=int, default=80)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-orders", action="store_true")
    arguments = parser.parse_args()
    facts = RunFolder.open(arguments.run).facts
    config = parse_config(facts["name"], facts["configuration"])
    device = torch.device("cpu")
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        folder = RunFolder.create(place / "run", config.name, config.table, describe_machine(device), "overwrite")
        folder.supernet = arguments.run / "supernet"
        job = prepare(config, folder, None, ())
        evaluator = open_evaluator(job, train_supernet(job))
        results = {"algorithms": algorithms(job, evaluator, arguments.candidates, arguments.seeds, place)}
        if not arguments.no_orders:
            results["orders"] = orders(job, evaluator, place)
        evaluator.close()
    print(
        json.dumps(
            {
                "command": " ".join(sys.argv),
                "machine": describe_machine(device),
                "seconds": time.perf_counter() - begun,
                "candidates": checkpoints(arguments.candidates),
                "results": results,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
