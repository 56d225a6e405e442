"""The files of an update study, in every scenario that a configuration can describe."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file

from benchmarks.processes import Outcome
from benchmarks.tiny import write_tiny_update
from regnas.networks import NETWORKS, SmallResNet
from regnas.runs.tables import is_update, load_table, presets
from regnas.updates.config import parse_update
from regnas.updates.methods import METHODS
from tests.cli.update_runs import arrays_of, correct_of, method_of, predicted_by, records, results_of
from tests.report.helpers import pictures

pytestmark = pytest.mark.slow

LABELS = ["none", "focal_distillation_lm", "ensemble", "elodi", "fine_tuning", "bcwi"]
TITLES = ["No treatment", "FD-LM", "Ensemble paragon (m = 2)", "ELODI (m = 2, K = 10)", "Fine-tuning", "BCWI (α = 0.4)"]


def measure(values):
    """Mean and spread over seeds, the latter with n - 1."""
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else None
    return {
        "mean": pytest.approx(mean),
        "spread": spread if spread is None else pytest.approx(spread),
        "values": pytest.approx(values),
    }


def touched(folder):
    """When anything in the folder last changed, the folders and locks included."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


# From one end to the other


def test_the_terminal_shows_every_method_the_noise_floor_and_the_path_of_the_report(finished_update):
    lines = (finished_update.parent / "stdout.txt").read_text().splitlines()
    for title in TITLES:
        assert any(line.removeprefix("★ ").startswith(title) for line in lines), title
    assert any(line.startswith("Noise floor: ") for line in lines)
    report, models = lines[-2:]
    assert report == f"report: {finished_update / 'report' / 'index.html'}"
    assert models.startswith("models: none, focal_distillation_lm, elodi, fine_tuning, bcwi; use one with: ")
    assert models.endswith(f"regnas predict {finished_update}:bcwi DATA --out FILE")


def test_the_run_folder_holds_what_is_promised(finished_update):
    report = finished_update / "report"
    assert {path.name for path in report.iterdir()} == {
        "update.json",
        "update.md",
        "index.html",
        *pictures("error-against-flips", "flip-diagnostics", "diagnostics-by-method"),
    }
    assert all(title in (report / "update.md").read_text() for title in TITLES)
    facts = json.loads((finished_update / "run.json").read_text())
    assert facts["configuration"]["seeds"] == [0, 1]
    assert set(facts["timings"]) == {"tune", "train", "predict", "report"}
    data = np.load(finished_update.parent / "data.npz")
    for seed in (0, 1):
        assert {path.name for path in (finished_update / "predictions" / f"seed-{seed}").iterdir()} == set(LABELS)
        for label in LABELS:
            for model in ("old", "new"):
                arrays = arrays_of(finished_update, label, model, seed)
                np.testing.assert_array_equal(arrays["target"], data["test_targets"])
                np.testing.assert_array_equal(arrays["predicted"], arrays["logits"].argmax(1))
    left = {path.name for folder in (finished_update.parent / "cache").iterdir() for path in folder.iterdir()}
    assert left == {".lock", "model.json", "network.safetensors", "metrics.jsonl"}  # and no checkpoint


def test_the_numbers_are_those_of_the_prediction_files(finished_update):
    """Recomputed from the files with nothing of regnas."""
    results = results_of(finished_update)
    assert [method["label"] for method in results["methods"]] == LABELS
    assert [method["title"] for method in results["methods"]] == TITLES
    assert (results["models"], results["seeds"], results["samples"]) == (["old", "new"], [0, 1], 100)
    assert results["scenario"] == "same architecture, more samples (50% → 100%)"
    for method in results["methods"]:
        olds = [correct_of(finished_update, method["label"], "old", seed) for seed in (0, 1)]
        news = [correct_of(finished_update, method["label"], "new", seed) for seed in (0, 1)]
        pairs = list(zip(olds, news, strict=True))
        nfr = [(old & ~new).mean() for old, new in pairs]
        relative = [
            rate / (old.mean() * (1 - new.mean())) if old.any() and not new.all() else 0.0
            for rate, (old, new) in zip(nfr, pairs, strict=True)
        ]
        assert method["error_rates"] == [
            {"model": "old", **measure([1 - old.mean() for old in olds])},
            {"model": "new", **measure([1 - new.mean() for new in news])},
        ]
        (pair,) = method["pairs"]
        assert (pair["reference"], pair["new"]) == ("old", "new")
        assert pair["nfr"] == measure(nfr)
        assert pair["relative_nfr"] == measure(relative)
        assert pair["pfr"] == measure([(~old & new).mean() for old, new in pairs])


def test_differences_and_the_noise_floor_are_there(finished_update):
    results = results_of(finished_update)
    floor = results["noise_floor"]
    assert floor["model"] == "new"
    assert len(floor["nfr"]["values"]) == 2
    assert 0 < floor["nfr"]["mean"] < 1
    none, *others = results["methods"]
    tuned = method_of(finished_update, "fine_tuning")  # not configured, but what bcwi is compared with
    assert [method["counterpart"] for method in others] == ["none"] * 4 + ["fine_tuning"]
    assert none["pairs"][0]["nfr_difference"] is None
    assert none["error_rate_difference"] is None
    for method in others:
        difference = method["pairs"][0]["nfr_difference"]
        base = tuned if method["label"] == "bcwi" else none
        mean, untreated = (method["pairs"][0]["nfr"]["mean"] - each["pairs"][0]["nfr"]["mean"] for each in (base, none))
        assert difference["mean"] == pytest.approx(mean, abs=1e-9)
        assert method["pairs"][0]["nfr_difference_to_none"]["mean"] == pytest.approx(untreated, abs=1e-9)
        low, high = difference["interval"]
        assert low <= difference["mean"] <= high


def test_methods_that_leave_the_old_model_alone_have_the_same_one(finished_update):
    plain = method_of(finished_update, "none")["error_rates"][0]
    for label in ("focal_distillation_lm", "bcwi"):
        assert method_of(finished_update, label)["error_rates"][0] == plain
        for seed in (0, 1):
            one, other = (arrays_of(finished_update, each, "old", seed)["logits"] for each in ("none", label))
            np.testing.assert_array_equal(one, other)


def test_parameters_and_training_costs(finished_update):
    own = sum(weight.numel() for weight in SmallResNet(widths=(4, 8)).build((1, 8, 8), 3).parameters())
    parameters = {method["label"]: method["parameters"] for method in results_of(finished_update)["methods"]}
    assert parameters == dict.fromkeys(LABELS, own) | {"ensemble": 2 * own}
    costs = {method["label"]: method["training_cost"] for method in results_of(finished_update)["methods"]}
    # in trainings: a pass of a teacher is a third of a step; bcwi fine-tunes for 1 epoch instead of 2
    by_hand = {"none": 1, "focal_distillation_lm": 1 + 1 / 3, "ensemble": 2, "elodi": 2 + 1 + 2 / 3, "bcwi": 1 / 2}
    by_hand["fine_tuning"] = 1 / 2
    assert costs == pytest.approx(by_hand)


# What is kept


def test_another_run_trains_only_what_is_not_kept(finished_update, command, tmp_path):
    config, cache = finished_update.parent / "tiny_update.toml", tmp_path / "cache"
    shutil.copytree(finished_update.parent / "cache", cache)
    before = touched(cache)
    sets = ["--set", f"cache={cache}", "--set", "machine.workers=1"]
    outcome = command("update", config, *sets, "--out", tmp_path / "again")
    assert outcome.code == 0, outcome.stderr
    assert touched(cache) == before
    assert results_of(tmp_path / "again") == results_of(finished_update)

    outcome = command("update", config, *sets, "--set", "seeds=[1, 2]", "--out", tmp_path / "more")
    assert outcome.code == 0, outcome.stderr
    after = touched(cache)
    assert {path: after[path] for path in before} == before
    # by hand: two old ones, two new ones, FD-LM, ELODI's old and new, and the one that is fine-tuned
    assert sorted(record["seed"] for record in records(cache)) == [0] * 8 + [1] * 8 + [2] * 8
    second = method_of(tmp_path / "more", "elodi")["pairs"][0]["nfr"]["values"][0]
    assert second == method_of(finished_update, "elodi")["pairs"][0]["nfr"]["values"][1]


def test_one_and_two_workers_find_the_same(finished_update, command, tmp_path):
    outcome = command("update", write_tiny_update(tmp_path, workers=1), "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    one, two = results_of(tmp_path / "run"), results_of(finished_update)
    assert one["methods"] == two["methods"]
    assert one["noise_floor"] == two["noise_floor"]
    weights = {path.read_bytes() for path in (tmp_path / "cache").glob("*/network.safetensors")}
    assert weights == {path.read_bytes() for path in finished_update.parent.glob("cache/*/network.safetensors")}


# Sweeps


def test_a_sweep_over_alpha_trains_nothing_and_its_curve_stays(finished_update, command, tmp_path):
    run, cache = tmp_path / "run", finished_update.parent / "cache"
    shutil.copytree(finished_update, run)
    before = touched(cache)
    outcome = command("update", run, "--sweep", "bcwi.alpha=0:1:0.25")
    assert outcome.code == 0, outcome.stderr
    assert touched(cache) == before
    assert "BCWI: alpha" in outcome.stdout
    results = results_of(run)
    assert results["methods"] == results_of(finished_update)["methods"]
    (sweep,) = results["sweeps"]
    assert (sweep["method"], sweep["key"]) == ("bcwi", "alpha")
    assert [point["value"] for point in sweep["points"]] == [0, 0.25, 0.5, 0.75, 1]

    tuned = {}
    data = np.load(finished_update.parent / "data.npz")
    for folder in cache.iterdir():
        record = json.loads((folder / "model.json").read_text())
        if record["model"]["Trained"]["start"]:
            network = SmallResNet(widths=(4, 8)).build((1, 8, 8), 3)
            network.load_state_dict(load_file(folder / "network.safetensors"))
            tuned[record["seed"]] = predicted_by(network, run, data["test_images"]) == data["test_targets"]
    first, *_, last = sweep["points"]
    assert first["error_rate"] == measure([1 - tuned[seed].mean() for seed in (0, 1)])
    olds = [correct_of(run, "none", "old", seed) for seed in (0, 1)]
    assert first["nfr"] == measure([(old & ~tuned[seed]).mean() for seed, old in enumerate(olds)])
    # At the other end are the old weights with statistics of the new images: the old model but for a few of 100 images.
    assert max(last["nfr"]["values"]) <= 0.04
    for error_rate, old in zip(last["error_rate"]["values"], olds, strict=True):
        assert error_rate == pytest.approx(1 - old.mean(), abs=0.04)

    curve = run / "report" / "sweep-bcwi.alpha.svg"
    assert curve.exists()
    shutil.rmtree(run / "report")
    assert command("update", run).code == 0
    assert curve.exists()
    assert results_of(run) == results


def test_a_sweep_of_a_whole_number_and_of_a_method_that_is_not_configured(finished_update, command, tmp_path):
    config = finished_update.parent / "tiny_update.toml"
    sets = ["--set", "seeds=[0]", "--set", f"cache={tmp_path / 'cache'}", "--set", "machine.workers=1"]
    sweeps = ["--sweep", "elodi.members=1:2:1", "--sweep", "bcwi_fisher.alpha=1:1:1"]
    shutil.copytree(finished_update.parent / "cache", tmp_path / "cache")
    outcome = command("update", config, "--out", tmp_path / "run", *sets, *sweeps)
    assert outcome.code == 0, outcome.stderr
    members, fisher = results_of(tmp_path / "run")["sweeps"]
    assert [point["value"] for point in members["points"]] == [1, 2]
    elodi = method_of(tmp_path / "run", "elodi")
    assert members["points"][1]["nfr"] == elodi["pairs"][0]["nfr"]
    assert [point["value"] for point in fisher["points"]] == [1]
    assert fisher["points"][0]["nfr"]["mean"] <= 0.04  # nearly the old weights
    assert {path.name for path in (tmp_path / "run" / "report").glob("sweep-*")} == pictures(
        "sweep-elodi.members", "sweep-bcwi_fisher.alpha"
    )


# Without training


def test_validate_prints_the_scenario_and_the_trainings_and_trains_nothing(command, tmp_path):
    outcome = command("validate", write_tiny_update(tmp_path))
    assert outcome == Outcome(
        0,
        "scenario: same architecture, more samples (50% → 100%)\n"
        "5 methods, 8 trainings for each of 2 seeds\n"
        "tiny_update is valid\n",
        "",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "tiny_update.toml"]


def test_list_shows_methods_networks_and_the_command_of_each_preset(command):
    outcome = command("list")
    assert outcome.code == 0
    rows = [line.split()[:2] for line in outcome.stdout.splitlines() if line.split() and not line.startswith(" ")]
    assert [name for kind, name in (row for row in rows if len(row) == 2) if kind == "method"] == list(METHODS)
    assert [name for kind, name in (row for row in rows if len(row) == 2) if kind == "network"] == list(NETWORKS)
    assert "regnas update update_digits" in outcome.stdout


def test_every_update_preset_is_valid():
    updates = [name for name in presets() if name.startswith("update_")]
    assert updates == [name for name in presets() if is_update(load_table(name)[1])]
    assert len(updates) >= 2
    for name in updates:
        config = parse_update(*load_table(name))
        assert "none" in config.values.methods
