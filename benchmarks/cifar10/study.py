"""What a family is worth on CIFAR-10: trains and records every row of the study.

    python benchmarks/cifar10/study.py --images CIFAR10 --runs RUNS STAGE ...
"""

from __future__ import annotations

import argparse
from pathlib import Path

from baselines import ENSEMBLE, INDEPENDENT, baseline_rows, elodi, focal_kl, focal_lm
from recording import Study
from searching import search_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("stage", nargs="+")
    options = parser.parse_args()
    study = Study(options.images, options.runs)
    for stage in options.stage:
        if stage in ("families", "tradeoff", "four"):
            search_rows(study, f"plain-{options.seed}", options.seed, stage)
        elif stage == "baselines":
            baseline_rows(study, options.seed, [INDEPENDENT, focal_lm(1), elodi(0.8), ENSEMBLE], options.workers)
        elif stage == "more":
            baseline_rows(study, options.seed, [focal_lm(0.1), focal_kl(1), elodi(0.3)], options.workers)


if __name__ == "__main__":
    main()
