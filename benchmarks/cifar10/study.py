"""Train, search and record every row of the study on CIFAR-10.

    python benchmarks/cifar10/study.py --images CIFAR10 --runs RUNS
    python benchmarks/cifar10/tables.py --runs RUNS

CIFAR10 is a folder with train/<class>/*.jpg and test/<class>/*.jpg. The whole study takes about five hours on one core.
Existing results are not computed again, so it can be killed at any time. --only and --seed do a part of it, for several
processes side by side once the families of seed 0 are found. tables.py makes the tables and figures from the rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is not installed with regnas

from benchmarks.cifar10.baselines import ENSEMBLE, INDEPENDENT, LONG, baseline_rows, elodi, focal_kl, focal_lm
from benchmarks.cifar10.recording import Study
from benchmarks.cifar10.searching import search_rows
from benchmarks.cifar10.weights import FURTHER, ablation_rows, pc_training_row, polished_rows, sharing_rows

BASELINES = [INDEPENDENT, focal_lm(1), focal_lm(0.1), elodi(0.8), ENSEMBLE]
FURTHER_BASELINES = [focal_kl(1)]

Stage = Callable[[Study, int], None]
STAGES: dict[str, tuple[Stage, tuple[int, ...]]] = {
    "families": (lambda study, seed: search_rows(study, seed, "families"), (0, 1)),
    "pc_training": (pc_training_row, (0, 1)),
    "polishing": (polished_rows, (0, 1)),
    "baselines": (lambda study, seed: baseline_rows(study, seed, BASELINES), (0, 1)),
    "further_baselines": (lambda study, seed: baseline_rows(study, seed, FURTHER_BASELINES), (0,)),
    "long": (lambda study, seed: baseline_rows(study, seed, [LONG]), (0,)),
    "sharing": (sharing_rows, (0, 1)),
    "tradeoff": (lambda study, seed: search_rows(study, seed, "tradeoff"), (0,)),
    "four": (lambda study, seed: search_rows(study, seed, "four"), (0,)),
    "ablation": (lambda study, seed: ablation_rows(study, seed, list(FURTHER)), (0,)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, required=True, help="folder with train/ and test/")
    parser.add_argument("--runs", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--only", choices=list(STAGES), action="append", help="a stage; several with --only again")
    parser.add_argument("--seed", type=int, help="one seed of the stages")
    options = parser.parse_args()
    study = Study(options.images, options.runs)
    for name in options.only or STAGES:
        stage, seeds = STAGES[name]
        for seed in seeds if options.seed is None else (options.seed,):
            stage(study, seed)


if __name__ == "__main__":
    main()
