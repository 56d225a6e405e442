"""What a whole run leaves behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import optuna
import pytest

from regnas.cli import exit_code


def test_the_run_folder_holds_what_is_promised(finished_run):
    facts = json.loads((finished_run / "run.json").read_text())
    assert facts["configuration"]["search"]["candidates"] == 8
    assert facts["seed"] == 3
    assert facts["threads"] == 1
    assert facts["versions"]["torch"]
    assert len(facts["data"]["digest"]) == 64
    assert set(facts["timings"]) == {"train", "search", "export", "baselines", "report"}
    assert (finished_run / "supernet" / "checkpoints.json").exists()
    assert (finished_run / "run.log").read_text()
    manifest = json.loads((finished_run / "family" / "manifest.json").read_text())
    assert [member["name"] for member in manifest["members"]] == ["small", "medium", "large"]
    assert set(manifest["members"][0]) >= {"name", "file", "sha256", "macs", "parameters", "architecture", "top1"}


def test_predictions_of_every_model_have_the_promised_arrays(finished_run):
    methods = ["", "independent-", "focal_distillation_lm-", "elodi-", "accuracy_only-"]
    names = {f"{method}{member}.npz" for method in methods for member in ("small", "medium", "large")}
    assert {path.name for path in (finished_run / "predictions").iterdir()} == names
    data = np.load(finished_run.parent / "data.npz")
    for name in names:
        arrays = np.load(finished_run / "predictions" / name)
        assert {"id", "target", "predicted", "logits"} <= set(arrays.files)
        np.testing.assert_array_equal(arrays["target"], data["test_targets"])
        np.testing.assert_array_equal(arrays["predicted"], arrays["logits"].argmax(1))


def test_every_candidate_of_every_search_is_in_the_study(finished_run):
    storage = f"sqlite:///{finished_run / 'study.db'}"
    counts = {summary.study_name: summary.n_trials for summary in optuna.get_all_study_summaries(storage)}
    searched = ["family/small", "family/medium", "family/large", "accuracy_only/medium", "accuracy_only/large"]
    assert counts == dict.fromkeys(searched, 8)


def test_the_flips_of_the_report_are_those_of_the_prediction_files(finished_run):
    """Recomputed from the files with nothing of regnas."""
    comparison = json.loads((finished_run / "report" / "flips.json").read_text())
    assert [method["name"] for method in comparison["methods"]] == [
        "family",
        "independent",
        "focal_distillation_lm",
        "elodi",
        "accuracy_only",
    ]
    for method in comparison["methods"]:
        prefix = "" if method["name"] == "family" else f"{method['name']}-"
        correct = {}
        for member in ("small", "medium", "large"):
            arrays = np.load(finished_run / "predictions" / f"{prefix}{member}.npz")
            correct[member] = arrays["predicted"] == arrays["target"]
        for model, member in zip(method["models"], correct, strict=True):
            assert model["top1"] == pytest.approx(correct[member].mean())
        flips = []
        for pair in method["pairs"]:
            flips.append((correct[pair["reference"]] & ~correct[pair["new"]]).mean())
            assert pair["nfr"] == pytest.approx(flips[-1])
        assert method["mean_nfr"] == pytest.approx(np.mean(flips))


def test_the_run_ends_with_the_table_and_the_path_of_the_report(finished_run):
    lines = (finished_run.parent / "stdout.txt").read_text().splitlines()
    assert lines[-1] == f"report: {finished_run / 'report' / 'index.html'}"
    assert any("REG-NAS" in line for line in lines)
    page = (finished_run / "report" / "index.html").read_text()
    assert "<b>dot</b>" not in page  # a class name cannot inject markup


@pytest.fixture(scope="module")
def run_by_stages(finished_run, tmp_path_factory):
    """The same configuration by one worker instead of two: train, search, export and report on their own."""
    folder = tmp_path_factory.mktemp("stages")
    config, run = folder / "tiny.toml", folder / "run"
    config.write_text((finished_run.parent / "tiny.toml").read_text().replace("workers = 2", "workers = 1"))
    assert exit_code(["train", str(config), "--out", str(run)]) == 0
    assert optuna.get_all_study_names(f"sqlite:///{run / 'study.db'}") == []
    assert exit_code(["search", str(run)]) == 0
    assert not (run / "family").exists()
    assert exit_code(["export", str(run)]) == 0
    assert not (run / "report").exists()
    assert exit_code(["report", str(run)]) == 0
    return run


def test_the_stages_one_by_one_are_the_run(finished_run, run_by_stages):
    """The stages end with the same family and the same flips."""
    assert json.loads((run_by_stages / "run.json").read_text())["configuration"]["machine"]["workers"] == 1
    same_files(finished_run / "family", run_by_stages / "family")
    assert (run_by_stages / "report" / "flips.json").read_bytes() == (
        finished_run / "report" / "flips.json"
    ).read_bytes()


def test_one_and_two_workers_train_the_same_baselines(finished_run, run_by_stages):
    same_files(finished_run / "predictions", run_by_stages / "predictions")


def test_another_seed_is_another_family(finished_run, tmp_path, command):
    config = finished_run.parent / "tiny.toml"
    changed = ("--set", "seed=4", "--set", "machine.workers=1")
    outcome = command("export", config, *changed, "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    weights = "family/small.safetensors"
    assert (tmp_path / "run" / weights).read_bytes() != (finished_run / weights).read_bytes()


def same_files(one, other):
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in other.iterdir()
    }


@pytest.mark.slow
def test_the_wheel_installs_and_runs_elsewhere(tmp_path):
    """Built from the tree; it contains the presets and templates, and they are found without the tree."""
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, root]
    subprocess.run(build, capture_output=True, check=True, timeout=240)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    shutil.rmtree(tmp_path / "site" / "tests", ignore_errors=True)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from regnas.cli import exit_code\n"
        "import regnas, supernets; assert regnas.__file__.startswith(sys.argv[1])\n"
        "sys.exit(exit_code(['validate', 'digits']))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "digits is valid" in done.stdout
