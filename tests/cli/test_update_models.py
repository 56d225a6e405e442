"""After `update`: its models can be predicted with, verified and exported as the members of a family can."""

from __future__ import annotations

import json
import shutil
import signal

import numpy as np
import pytest

from regnas.family.family import load_family
from regnas.family.updated import write_updated
from regnas.flips import load_predictions
from regnas.runtime.files import write_bytes
from regnas.runtime.signals import ask_to_stop


def test_a_method_predicts_the_runs_own_split_as_the_run_did(command, finished_update, tmp_path):
    for model, seed in (("elodi", 0), ("elodi-seed-1", 1)):
        out = tmp_path / f"{model}.npz"
        outcome = command("predict", f"{finished_update}:{model}", finished_update, "--out", out, "--device", "cpu")
        assert outcome.code == 0, outcome.stderr
        recorded = load_predictions(finished_update / "predictions" / f"seed-{seed}" / "elodi" / "new.npz")
        found = load_predictions(out)
        np.testing.assert_array_equal(found.predicted, recorded.predicted)
        np.testing.assert_array_equal(found.ids, recorded.ids)
        top1 = 100 * recorded.accuracy
        assert outcome.stdout == f"{out}: elodi-seed-{seed}, 100 samples, Top-1 {top1:.2f} %\n"


def test_an_unknown_method_is_refused_with_the_known_methods(refusal, finished_update, tmp_path):
    code, (line,) = refusal("predict", f"{finished_update}:elody", finished_update, "--out", tmp_path / "p.npz")
    assert code == 2
    assert 'has no member "elody"; did you mean "elodi"? (members: none-seed-0, none-seed-1, ' in line


def test_the_models_of_an_update_are_verified(command, finished_update):
    outcome = command("verify", finished_update)
    assert outcome.code == 0, outcome.stderr
    assert "MACs and parameters are those of the networks" in outcome.stdout
    assert "passed: all 20 files" in outcome.stdout  # five methods end in one network, two seeds, weights and cards


def test_the_models_of_an_update_are_exported_and_measured(command, finished_update, tmp_path):
    """With a single model, since every export takes seconds."""
    run = shutil.copytree(finished_update, tmp_path / "run")
    family, key = load_family(run), ("none", 0)
    recorded = load_predictions(run / "predictions" / "seed-0" / "none" / "new.npz")
    data = json.loads((run / "run.json").read_text())["data"]
    network = {key: family["none-seed-0"]}
    write_updated(run / "models", network, family.manifest.network, data, {key: recorded})
    outcome = command("export", run, "--format", "torch-export", "--weights-license", "MIT")
    assert outcome.code == 0, outcome.stderr
    manifest = load_family(run).manifest
    (entry,) = manifest.exports
    assert (entry.file, entry.format, entry.disagreements) == ("none-seed-0.pt2", "torch-export", 0)
    assert entry.top1 == recorded.accuracy
    assert manifest.weights_license == "MIT"
    assert "MIT" in (run / "models" / "none-seed-0.md").read_text()
    assert command("verify", run).code == 0


def test_an_interrupted_export_of_an_update_says_how_to_go_on(command, finished_update, tmp_path, monkeypatch):
    def write_and_ask(path, text):
        write_bytes(path, text)
        ask_to_stop(signal.SIGTERM)

    run = shutil.copytree(finished_update, tmp_path / "a run")
    monkeypatch.setattr("regnas.family.export.writing.write_bytes", write_and_ask)
    outcome = command("export", run, "--format", "torch-export")
    assert outcome.code == 143
    assert f"continue with: regnas export '{run}' --format torch-export\n" in outcome.stderr


@pytest.mark.parametrize(
    ("inside", "remedy"),
    [
        ("train/cat/001.jpg", ". It looks like a folder of images. Name it as data of a configuration: `regnas run "),
        ("manifest.json", ". It holds exported networks. `regnas verify` and `regnas predict` take them."),
        ("digits/run.json", ". It holds the run folders digits. Choose one, such as {folder}/digits."),
        ("notes.txt", ". `regnas run CONFIG --out DIR` makes a run folder."),
    ],
)
def test_a_folder_that_is_not_a_run_is_refused_with_a_fix(refusal, tmp_path, inside, remedy):
    folder = tmp_path / "photos"
    (folder / inside).parent.mkdir(parents=True)
    (folder / inside).touch()
    code, (line,) = refusal("export", folder)
    start = f"regnas: {folder} must be a configuration or a run folder, got a folder without run.json"
    assert code == 2
    assert line.startswith(start + remedy.format(folder=folder))


def test_for_the_family_inside_a_run_folder_the_message_names_the_run_folder(refusal, finished_run):
    code, (line,) = refusal("export", finished_run / "family")
    assert (code, line.endswith(f". It is a part of a run folder. Use {finished_run}.")) == (2, True)


def test_commands_for_the_other_kind_of_run_name_the_right_one(refusal, finished_update, finished_run):
    code, (line,) = refusal("report", finished_update)
    assert (code, f"`regnas update {finished_update}` continues it" in line) == (2, True)
    code, (line,) = refusal("update", finished_run)
    assert (code, f"`regnas report {finished_run}` continues it" in line) == (2, True)


def test_for_a_method_of_several_networks_the_message_names_its_predictions(refusal, finished_update, tmp_path):
    code, (line,) = refusal("predict", f"{finished_update}:ensemble", finished_update, "--out", tmp_path / "x.npz")
    assert (code, line.endswith(f"are in {finished_update / 'predictions' / 'seed-0' / 'ensemble'}.")) == (2, True)


def test_a_finished_update_says_how_to_use_its_models(finished_update):
    printed = " ".join((finished_update.parent / "stdout.txt").read_text().split())
    assert "models: none, focal_distillation_lm, elodi, fine_tuning, bcwi; use one with: regnas predict " in printed


def test_predictions_on_the_same_images_from_a_run_and_from_a_file_can_be_compared(command, finished_update, tmp_path):
    data = finished_update.parent / "data.npz"
    for name, source in (("run", finished_update), ("file", data)):
        out = tmp_path / f"{name}.npz"
        assert command("predict", f"{finished_update}:elodi", source, "--out", out, "--device", "cpu").code == 0
    outcome = command("gate", tmp_path / "run.npz", tmp_path / "file.npz", "--max-nfr", "0.5")
    assert outcome.code == 0, outcome.stderr
