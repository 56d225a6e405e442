"""Check whether the orders that the papers report hold on CIFAR-10 and digits with small networks.

    python benchmarks/update_cifar10.py --images CIFAR10 --runs RUNS [--only STUDY ...]

runs the presets ``update_cifar10`` (a larger architecture), ``update_digits`` (more data, from scratch),
``update_cifar10_data`` and ``update_digits_data`` (fine-tuning on more data), and writes update_cifar10.json and
update_cifar10.md beside this file. Keys that are "auto" have the values that the presets keep under [chosen]; --tune
chooses all of them again on the search split. CIFAR10 is a folder with train/<class>/*.jpg and test/<class>/*.jpg.
Interrupted studies are resumed. Studies that are not in RUNS stay unchanged in update_cifar10.json. If RUNS has folders
seed0, seed1, ... of ``benchmarks/digits_seeds.py``, the orders of the search are read from those.

An order "A below B" is decided by the 95 % interval of the paired difference A - B over seeds and samples: it agrees if
the interval lies below 0, disagrees if it lies above 0, and is undecided otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regnas.flips import Predictions, load_predictions, mean_interval, mean_nfr_values
from regnas.flips.paired import Bounds
from regnas.report.kit.json_values import JsonResult
from regnas.report.tuning import Choice
from regnas.report.update.results import UpdateResult
from regnas.updates.api import open_update

HERE = Path(__file__).parent
NOTES = HERE / "update_cifar10_notes.md"
RECORD = HERE / "update_cifar10.json"
SWEEP = "bcwi.alpha=0:1:0.1"
SEARCH_TITLE = "digits, search"

BySeed = Sequence[Sequence[Predictions]]
Measure = Literal["NFR", "ER"]


@dataclass(frozen=True)
class Order:
    """A claim that the first method is below the second in a measure or, with ``close``, differs by at most that."""

    paper: str
    claim: str
    measure: Measure
    first: str
    second: str
    close: float | None = None


TRAINING = (
    Order("PCT", "KD below no treatment", "NFR", "knowledge_distillation", "none"),
    Order("PCT", "FD-KL below no treatment", "NFR", "focal_distillation_kl", "none"),
    Order("PCT", "FD-LM below no treatment", "NFR", "focal_distillation_lm", "none"),
    Order("PCT", "FD-KL below KD", "NFR", "focal_distillation_kl", "knowledge_distillation"),
    Order("PCT", "FD-LM below KD", "NFR", "focal_distillation_lm", "knowledge_distillation"),
    Order("PCT", "naive within 0.5 points of no treatment", "NFR", "naive", "none", close=0.005),
    Order("PCT", "no treatment below FD-LM", "ER", "none", "focal_distillation_lm"),
    Order("PCT", "the ensemble paragon below no treatment", "NFR", "ensemble", "none"),
    Order("PCT", "the ensemble paragon below KD", "NFR", "ensemble", "knowledge_distillation"),
    Order("PCT", "the ensemble paragon below FD-KL", "NFR", "ensemble", "focal_distillation_kl"),
    Order("PCT", "the ensemble paragon below FD-LM", "NFR", "ensemble", "focal_distillation_lm"),
    Order("ELODI", "ELODI below no treatment", "NFR", "elodi", "none"),
    Order("ELODI", "ELODI below FD-KL", "NFR", "elodi", "focal_distillation_kl"),
    Order("ELODI", "ELODI below FD-LM", "NFR", "elodi", "focal_distillation_lm"),
    Order("ELODI", "the ensemble paragon below ELODI", "NFR", "ensemble", "elodi"),
    Order("ELODI", "ELODI below no treatment", "ER", "elodi", "none"),
    Order("ELODI", "BU-CR below no treatment", "NFR", "bayesian_update", "none"),
    Order("Xie et al.", "the centric member below no treatment", "NFR", "centric", "none"),
)
DATA = (
    Order("BCWI", "BCWI below fine-tuning", "NFR", "bcwi", "none"),
    Order("BCWI", "BCWI within 0.5 points of fine-tuning", "ER", "bcwi", "none", close=0.005),
    Order("BCWI", "Soup BCWI below BCWI", "NFR", "bcwi_soup", "bcwi"),
    Order("BCWI", "Fisher BCWI below BCWI", "NFR", "bcwi_fisher", "bcwi"),
    Order("BCWI", "BCWI below EWC", "NFR", "bcwi", "ewc"),
    Order("BCWI", "BCWI below prior weight decay", "NFR", "bcwi", "prior_weight_decay"),
    Order("BCWI", "BCWI below Mixout", "NFR", "bcwi", "mixout"),
    Order("BCWI", "EWC below fine-tuning", "NFR", "ewc", "none"),
    Order("BCWI", "prior weight decay below fine-tuning", "NFR", "prior_weight_decay", "none"),
    Order("BCWI", "Mixout below fine-tuning", "NFR", "mixout", "none"),
    Order("PCT supplement", "FD-LM below fine-tuning", "NFR", "focal_distillation_lm", "none"),
)
FURTHER_DATA = (
    Order("PCT supplement", "FD-KL below fine-tuning", "NFR", "focal_distillation_kl", "none"),
    Order("PCT supplement", "FD-LM below KD", "NFR", "focal_distillation_lm", "knowledge_distillation"),
    Order("PCT supplement", "FD-KL below KD", "NFR", "focal_distillation_kl", "knowledge_distillation"),
    Order("BCWI", "BCWI below KD", "NFR", "bcwi", "knowledge_distillation"),
)
SEARCH = (
    Order("REG-NAS", "R2 with containment below R0 (digits, before polishing)", "NFR", "unpolished", "accuracy_only"),
    Order("REG-NAS", "R2 with containment within 0.5 points of R0", "ER", "unpolished", "accuracy_only", close=0.005),
)


@dataclass(frozen=True)
class Study:
    title: str
    orders: tuple[Order, ...]
    photographs: bool = True
    sweep: str = ""


@dataclass(frozen=True)
class Decided:
    """An order and its result, as rates and their difference over seeds and samples."""

    study: str
    paper: str
    claim: str
    first: float
    second: float
    difference: float
    interval: Bounds
    seeds: int
    verdict: str


@dataclass(frozen=True)
class RecordedStudy:
    """The results of a preset, without those of single seeds, epochs or trainings."""

    preset: str
    seconds: int
    results: UpdateResult


@dataclass(frozen=True)
class Record(JsonResult):
    """The content of update_cifar10.json."""

    command: str
    cores: int | None
    studies: tuple[RecordedStudy, ...]
    orders: tuple[Decided, ...]


STUDIES = {
    "update_cifar10": Study("CIFAR-10, larger network", TRAINING),
    "update_cifar10_data": Study("CIFAR-10, fine-tuned on more data", DATA, sweep=SWEEP),
    "update_digits": Study("digits, more data, from scratch", TRAINING, False),
    "update_digits_data": Study("digits, fine-tuned on more data", (*DATA, *FURTHER_DATA), False, SWEEP),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=Path, help="folder with train/ and test/, for the studies on CIFAR-10")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    parser.add_argument("--cache", type=Path, help="where trained networks are kept, if not in the user's cache")
    parser.add_argument("--only", nargs="*", choices=STUDIES, help="studies to run; those that are there are published")
    parser.add_argument("--tune", action="store_true", help='choose every key that is "auto" again')
    options = parser.parse_args()
    for study in STUDIES if options.only is None else options.only:
        run(study, options)
    there = [study for study in STUDIES if (options.runs / study / "report" / "update.json").exists()]
    orders = [
        decide(STUDIES[study].title, order, *of_study(options.runs / study, order))
        for study in there
        for order in STUDIES[study].orders
        if is_there(options.runs / study, order)
    ]
    families = sorted(path.parents[1] for path in options.runs.glob("seed[0-9]*/report/flips.json"))
    if families:
        orders += [decide(SEARCH_TITLE, order, *of_families(families, order)) for order in SEARCH]
    found = Record(
        command="python benchmarks/update_cifar10.py --images CIFAR10 --runs RUNS",
        cores=os.cpu_count(),
        studies=tuple(read_study(study, options.runs / study) for study in there),
        orders=tuple(orders),
    )
    result = with_record(found, Record.read(RECORD, "Take it from the repository."))
    RECORD.write_text(json.dumps(result.to_dict(), indent=1) + "\n", encoding="utf-8")
    (HERE / "update_cifar10.md").write_text(markdown(result), encoding="utf-8")
    print(orders_table(result.orders))


def run(study: str, options: argparse.Namespace) -> None:
    folder = options.runs / study
    command = [sys.executable, "-m", "regnas", "update", study, "--out", str(folder), "--resume"]
    if options.tune:
        command.append("--tune")
    if STUDIES[study].photographs:
        if options.images is None:
            raise SystemExit(f"{study} needs --images")
        command += ["--set", f'data={{ name = "image_folder", path = "{options.images.resolve()}", size = 32 }}']
    if options.cache:
        command += ["--set", f'cache="{options.cache.resolve()}"']
    if STUDIES[study].sweep:
        command += ["--sweep", STUDIES[study].sweep]
    subprocess.run(command, check=True)


def read_study(study: str, folder: Path) -> RecordedStudy:
    facts = json.loads((folder / "run.json").read_text())
    results = open_update(folder).results
    if STUDIES[study].photographs:
        data = "CIFAR-10 from an image folder: " + results.facts["Data"].rpartition(": ")[2]
        results = replace(results, facts={**results.facts, "Data": data})
    methods = [
        replace(method, pairs=tuple(replace(pair, by_seed=()) for pair in method.pairs)) for method in results.methods
    ]
    shortened = replace(results, methods=tuple(methods), diagnostics=None, by_epoch=(), clipping=())
    return RecordedStudy(study, round(sum(facts["timings"].values())), shortened)


def with_record(found: Record, known: Record) -> Record:
    """Add earlier records: studies that were not run again, and the grids behind values under [chosen]."""
    earlier = {study.preset: study for study in known.studies}
    studies = earlier | {study.preset: with_grids(study, earlier.get(study.preset)) for study in found.studies}
    titles = {each.study for each in found.orders}
    orders = [*found.orders, *(each for each in known.orders if each.study not in titles)]
    places = [*(study.title for study in STUDIES.values()), SEARCH_TITLE]
    return replace(
        found,
        studies=tuple(studies[preset] for preset in STUDIES if preset in studies),
        orders=tuple(sorted(orders, key=lambda each: places.index(each.study))),
    )


def with_grids(study: RecordedStudy, earlier: RecordedStudy | None) -> RecordedStudy:
    """Return the choices of this run; a value that comes from [chosen] gets the grid of the run that chose it."""
    if earlier is None:
        return study

    def place(choice: Choice) -> tuple[str, str, float]:
        return choice.label, choice.key, choice.value

    grids = {place(choice): choice for choice in earlier.results.tuning}
    tuning = [choice if choice.tried else grids.get(place(choice), choice) for choice in study.results.tuning]
    return replace(study, results=replace(study.results, tuning=tuple(tuning)))


def is_there(folder: Path, order: Order) -> bool:
    """Whether both methods were run; a study may be unfinished."""
    return all((folder / "predictions" / "seed-0" / name).exists() for name in (order.first, order.second))


def of_study(folder: Path, order: Order) -> tuple[BySeed, BySeed]:
    """Return the predictions of both methods by seed: those of the old and of the new model."""

    def predictions(label: str) -> BySeed:
        seeds = sorted((folder / "predictions").glob("seed-*"))
        return [[load_predictions(seed / label / f"{model}.npz") for model in ("old", "new")] for seed in seeds]

    return predictions(order.first), predictions(order.second)


def of_families(folders: Sequence[Path], order: Order) -> tuple[BySeed, BySeed]:
    """Return the predictions of the members of two families, by seed."""
    members = list(json.loads((folders[0] / "run.json").read_text())["configuration"]["budgets"])

    def predictions(name: str) -> BySeed:
        return [
            [load_predictions(folder / "predictions" / f"{name}-{member}.npz") for member in members]
            for folder in folders
        ]

    return predictions(order.first), predictions(order.second)


def decide(study: str, order: Order, first: BySeed, second: BySeed) -> Decided:
    values = compute_measure(order.measure, first), compute_measure(order.measure, second)  # [S, N] each
    low, high = mean_interval(values[0] - values[1], first[0][0].groups, "difference")
    return Decided(
        study=study,
        paper=order.paper,
        claim=f"{order.measure}: {order.claim}",
        first=float(values[0].mean()),
        second=float(values[1].mean()),
        difference=float((values[0] - values[1]).mean()),
        interval=(low, high),
        seeds=len(first),
        verdict=verdict(low, high, order.close),
    )


def compute_measure(measure: Measure, by_seed: BySeed) -> NDArray[np.float64]:
    """Return flips or errors of the new model, or their means over a family, per seed and sample: [S, N]."""
    if measure == "NFR":
        return np.stack([mean_nfr_values(models) for models in by_seed])
    newest = [models[1:] if len(models) == 2 else models for models in by_seed]
    return np.stack([np.mean([~each.correct for each in models], axis=0) for models in newest])


def verdict(low: float, high: float, close: float | None = None) -> str:
    """Decide by the interval alone: below 0, above 0, or neither; with ``close``, inside of it, outside, or neither."""
    if close is None:
        return "agrees" if high < 0 else "disagrees" if low > 0 else "undecided"
    if -close <= low and high <= close:
        return "agrees"
    return "disagrees" if low > close or high < -close else "undecided"


def orders_table(orders: Sequence[Decided]) -> str:
    rows = []
    for each in orders:
        low, high = (100 * bound for bound in each.interval)
        said = each.verdict if each.verdict == "agrees" else f"**{each.verdict}**"
        rows.append(
            f"| {each.study} | {each.paper} | {each.claim} | {said} "
            f"| {100 * each.first:.2f} and {100 * each.second:.2f} "
            f"| {100 * each.difference:+.2f} [{low:.2f}, {high:.2f}] |"
        )
    return "\n".join([HEADER, "|---|---|---|---|---|---|", *rows])


def markdown(result: Record) -> str:
    counts = {word: sum(each.verdict == word for each in result.orders) for word in WORDS}
    head = (
        "# The orders that the papers report\n\n"
        f"`{result.command}`\n\n"
        "Every order that the papers report, decided by the 95 % interval of the difference over seeds and samples: "
        f"{', '.join(f'{count} {word}' for word, count in counts.items())}.\n\n"
        f"{orders_table(result.orders)}\n\n{NOTES.read_text()}"
    )
    studies = (study.results.to_markdown() for study in result.studies)
    return "\n\n".join([head, *(re.sub(r"^#", "##", text, flags=re.MULTILINE) for text in studies)])


HEADER = "| study | paper | order | here | in percent | difference [95 %] |"
WORDS = ("agrees", "disagrees", "undecided")

if __name__ == "__main__":
    main()
