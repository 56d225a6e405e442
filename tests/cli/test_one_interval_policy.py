"""The same prediction files have the same rates, intervals and p-values in compare, in the run report and in update."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regnas.flips import Predictions, load_predictions
from regnas.report.family.comparison import compare
from regnas.updates.results import Outcome, summarize
from tests.report.helpers import contents, method, split

NAMES = ("small", "medium", "large")
KEYS = (
    "nfr",
    "pfr",
    "nfr_interval",
    "accuracy_difference",
    "accuracy_difference_interval",
    "mcnemar_p",
    "mcnemar_p_corrected",
)


def written(folder: Path, clustered: bool) -> list[Path]:
    """Three models on 240 samples. From small to medium nothing flips; large is another model."""
    random = np.random.default_rng(4)
    ids = np.array([f"sample-{number:03d}" for number in random.permutation(240)])
    groups = np.arange(240) // 6 if clustered else None
    ease = np.repeat(random.random(40), 6)
    small = random.random(240) < ease**0.3
    right = {"small": small, "medium": small | (random.random(240) < 0.1), "large": random.random(240) < ease**0.2}
    for name, correct in right.items():
        targets = np.arange(240) % 5
        predicted = np.where(correct, targets, (targets + 1) % 5)
        Predictions(name, ids, targets, predicted, groups=groups).save(folder / f"{name}.npz")
    return [folder / f"{name}.npz" for name in NAMES]


@pytest.mark.parametrize("clustered", [False, True])
def test_three_ways_to_the_same_numbers(command, tmp_path: Path, clustered: bool) -> None:
    paths = written(tmp_path, clustered)
    pairs = json.loads(command("compare", *map(str, paths), "--json").stdout)["pairs"]
    compared = {(pair["reference"], pair["new"]): {key: pair[key] for key in KEYS} for pair in pairs}

    predictions = tuple(load_predictions(path) for path in paths)
    family = method("family", ["1"] * 3, predictions=predictions)
    report = compare(contents(family, members=NAMES, report_split=split(240))).to_dict()["methods"][0]
    results = summarize(
        "tiny", "same", NAMES, (7,), [predictions], [predictions[1:]],
        [Outcome("none", "none", "None", "Nothing.", [predictions], 1, 1.0)], [], {},
    )  # fmt: skip
    (updated,) = results.to_dict()["methods"]

    order = [("small", "medium"), ("small", "large"), ("medium", "large")]
    for reference, new in order:
        expected = compared[reference, new]
        reported = next(each for each in report["pairs"] if (each["reference"], each["new"]) == (reference, new))
        pair = next(each for each in updated["pairs"] if (each["reference"], each["new"]) == (reference, new))
        (of_seed,) = pair["by_seed"]
        assert of_seed["seed"] == 7
        assert {key: reported[key] for key in KEYS} == expected
        assert {key: of_seed[key] for key in KEYS} == expected
        assert pair["nfr"]["mean"] == pytest.approx(expected["nfr"])
        assert pair["nfr_interval"] == expected["nfr_interval"]  # one seed: over samples, as everywhere
        low, high = expected["nfr_interval"]
        assert low <= expected["nfr"] <= high and low < high

    # nothing flips from small to medium: an interval that ends above 0, and further up if samples come in clusters
    low, high = compared["small", "medium"]["nfr_interval"]
    assert (compared["small", "medium"]["nfr"], low) == (0, 0)
    assert high > 1 - 0.025 ** (1 / 40) if clustered else high == pytest.approx(1 - 0.025 ** (1 / 240))
    # the families of both reports
    assert report["mean_nfr_interval"] == updated["mean_nfr"]["interval"]
    assert report["mean_nfr"] == pytest.approx(updated["mean_nfr"]["mean"])


def test_a_difference_of_two_models_is_that_of_their_comparison(command, tmp_path: Path) -> None:
    """Top-1 of a baseline against the family, and the error rate of a method against no treatment."""
    paths = written(tmp_path, clustered=True)
    small, medium, large = (load_predictions(path) for path in paths)
    pairs = json.loads(command("compare", str(paths[1]), str(paths[2]), "--json").stdout)["pairs"]
    expected = next(pair for pair in pairs if pair["new"] == "large")
    families = [method(name, ["1"] * 2, predictions=(small, last)) for name, last in (("f", medium), ("b", large))]
    report = compare(contents(*families, members=("small", "last"), report_split=split(240))).to_dict()
    found = report["methods"][1]["models"][1]
    assert found["top1_difference_interval"] == expected["accuracy_difference_interval"]
    treated = Outcome("b", "b", "B", "B.", [[small, large]], 1, 1.0)
    plain = [[small, medium]]
    results = summarize("tiny", "same", ("old", "new"), (0,), plain, plain, [treated], [], {})
    low, high = results["b"].error_rate_difference.interval
    assert [-high, -low] == pytest.approx(expected["accuracy_difference_interval"], abs=1e-12)
