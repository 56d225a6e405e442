"""Measure the result of each search algorithm by number of candidates, and of each order of finding a family.

    regnas train cifar10 --out runs/cifar10        # or any other run folder with a trained supernet
    python benchmarks/search_algorithms.py runs/cifar10 --candidates 100 --seeds 5

Algorithms: the search for the medium member above the small one (found once, by accuracy), by the run's own reward on
the search split. Every algorithm gets the same seeds and the same number of candidates. A seed decides all its draws.
Orders: whole families by the run's settings. Choices on the search split are measured on the report split.

Every candidate is recorded in RUN/search_algorithms, so that a killed benchmark continues. The result is
benchmarks/search_algorithms.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regnas.flips import flip_table
from regnas.runs.config import parse_config
from regnas.runs.folder import RunFolder
from regnas.runs.job import Job, prepare
from regnas.runs.search_stage import open_evaluator
from regnas.runs.supernet_stage import train_supernet
from regnas.runtime.machine import describe_machine
from regnas.search import ALGORITHMS, FamilySearch, Study, Tier, TopOne, best, search
from regnas.search.evaluation import Evaluator, ExecutorChoice
from regnas.space import Architecture, SearchSpace
from regnas.training import logits_on, predictions_from

CHECKPOINTS = (20, 40, 60, 80, 100, 150, 200)
RESULTS = Path(__file__).with_suffix(".json")


def algorithms(job: Job, evaluator: Evaluator, candidates: int, seeds: int, place: Path) -> dict[str, Any]:
    names = list(job.budgets)
    open_study = partial(_study, place, job.space)
    first = Tier(names[0], job.space, job.budgets[names[0]], TopOne())
    small = best(search(first, ALGORITHMS["evolution"](), evaluator, open_study("small"), candidates, (0, "small")))
    references = {names[0]: evaluator.predict(small.architecture)}
    reward = job.config.values.search.reward
    tier = Tier(names[1], job.space.above(small.architecture), job.budgets[names[1]], reward, references)
    results: dict[str, Any] = {}
    for name in sorted(ALGORITHMS):
        curves, chosen = [], []
        for seed in range(seeds):
            study = open_study(f"{name}/{seed}")
            trials = search(tier, ALGORITHMS[name](), evaluator, study, candidates, (seed, name, "algorithms"))
            curves.append([max(trial.reward for trial in trials[:count]) for count in checkpoints(candidates)])
            members = {names[0]: small.architecture, names[1]: best(trials).architecture}
            chosen.append(on_report_split(job, evaluator, members))
        results[name] = {
            "best_reward": [spread(column) for column in zip(*curves, strict=True)],
            "report_split": {
                "top1": spread([each["top1"][1] for each in chosen]),
                "nfr": spread([each["mean_nfr"] for each in chosen]),
            },
        }
        print(name, json.dumps(results[name]), flush=True)
    return results


def checkpoints(candidates: int) -> list[int]:
    return [count for count in CHECKPOINTS if count <= candidates]


def spread(values: list[float]) -> dict[str, Any]:
    """Return the mean and the spread over the seeds."""
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.mean(values), "standard_deviation": deviation, "values": list(values)}


def orders(job: Job, evaluator: Evaluator, seeds: int, place: Path) -> dict[str, Any]:
    settings = job.config.values.search
    results: dict[str, Any] = {}
    for order in ("smallest_first", "joint", "front"):
        found = []
        for seed in range(seeds):
            family = FamilySearch(
                space=job.space,
                budgets=job.budgets,
                reward=settings.reward,
                order=order,  # type: ignore[arg-type]
                algorithm=ALGORITHMS["nsga2"]() if order == "front" else settings.algorithm,
                candidates=settings.candidates,
                evaluator=evaluator,
                open_study=partial(_study, place / f"{order}-{seed}", job.space),
                key=(seed, "orders"),
            )
            members = family.family()
            searched = [replace(evaluator.predict(own), model=name) for name, own in members.items()]
            found.append((summary(flip_table(searched).to_json()), on_report_split(job, evaluator, members)))
        results[order] = {
            split: {
                "mean_top1": spread([statistics.mean(each[index]["top1"]) for each in found]),
                "mean_nfr": spread([each[index]["mean_nfr"] for each in found]),
                "worst_nfr": spread([each[index]["worst_nfr"] for each in found]),
            }
            for index, split in enumerate(("search_split", "report_split"))
        }
        print(order, json.dumps(results[order]), flush=True)
    return results


def on_report_split(job: Job, evaluator: Evaluator, members: Mapping[str, Architecture]) -> dict[str, Any]:
    report = job.splits.report
    predicted = []
    for name, architecture in members.items():
        logits = logits_on(evaluator.network(architecture), report, job.splits.preprocessing, job.device)
        predicted.append(predictions_from(name, logits, report, keep_logits=False))
    return summary(flip_table(predicted).to_json())


def summary(table: dict[str, Any]) -> dict[str, Any]:
    nfr = table["nfr"]
    pairs = [nfr[i][j] for i in range(len(nfr)) for j in range(i + 1, len(nfr))]
    return {"top1": table["accuracy"], "mean_nfr": statistics.mean(pairs), "worst_nfr": max(pairs)}


def _study(place: Path, space: SearchSpace, name: str) -> Study:
    place.mkdir(parents=True, exist_ok=True)
    return Study(f"sqlite:///{place / 'study.db'}", name, space)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    facts = RunFolder.open(arguments.run).facts
    config = parse_config(facts["name"], facts["configuration"])
    torch.set_num_threads(config.values.machine.threads or torch.get_num_threads())
    device = torch.device("cpu")
    kept = arguments.run / "search_algorithms"
    with tempfile.TemporaryDirectory() as temporary:
        folder = RunFolder.create(Path(temporary), config.name, config.table, describe_machine(device), "overwrite")
        folder.supernet = arguments.run / "supernet"
        job = prepare(config, folder, ExecutorChoice(), ())
        evaluator = open_evaluator(job, train_supernet(job))
        results = {
            "algorithms": algorithms(job, evaluator, arguments.candidates, arguments.seeds, kept),
            "orders": orders(job, evaluator, arguments.seeds, kept),
        }
        evaluator.close()
    settings = f"--candidates {arguments.candidates} --seeds {arguments.seeds}"
    document = {
        "command": f"python benchmarks/search_algorithms.py RUN {settings}",
        "run": {"name": config.name, "search": config.table["search"], "budgets": config.table["budgets"]},
        "machine": describe_machine(device),
        "candidates": checkpoints(arguments.candidates),
        "results": results,
    }
    RESULTS.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
