"""Files, folders and data that cannot be used are named in one line, with the documented exit code."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from benchmarks.tiny import write_tiny
from regnas.networks import SmallResNet
from regnas.runtime.files import write_sealed_json
from tests.cli.update_runs import change, nothing_was_trained, tree

NETWORK = '{ name = "small_resnet", widths = [4, 8] }'
NEW = f"[models.new]\nnetwork = {NETWORK}"
METHODS = (
    "[methods.none]\n[methods.focal_distillation_lm]\n[methods.ensemble]\nmembers = 2\n[methods.elodi]\nmembers = 2\n"
    "[methods.bcwi]\n"
)


# Checkpoints and data


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def weights(widths=(4, 8), classes=3):
    return SmallResNet(widths=widths).build((1, 8, 8), classes).state_dict()


def truncated(path):
    torch.save(weights(), path)
    path.write_bytes(path.read_bytes()[:-1000])


def truncated_safetensors(path):
    save_file(weights(), path)
    path.write_bytes(path.read_bytes()[:-1000])


def misnamed(path):
    save_file(weights(), path.with_suffix(".safetensors"))
    path.with_suffix(".safetensors").rename(path)


CHECKPOINTS = {
    "missing": ("old.pt", lambda path: None, "is missing"),
    "a folder": ("old.pt", lambda path: path.mkdir(), "must be a file"),
    "another architecture": (
        "old.pt",
        lambda path: torch.save(weights((4, 12)), path),
        "belongs to another network: stages.1.0.conv1.weight is [12, 4, 3, 3] instead of [8, 4, 3, 3]",
    ),
    "another number of classes": (
        "old.pt",
        lambda path: torch.save(weights(classes=5), path),
        "must have 3 classes, as its share of the data has, got 5",
    ),
    "empty": ("old.pt", lambda path: path.write_bytes(b""), "cannot be read as weights"),
    "no weights": ("old.pt", lambda path: path.write_bytes(b"no weights at all" * 99), "is damaged or holds more than"),
    "truncated": ("old.pt", truncated, "cannot be read as weights"),
    "truncated safetensors": ("old.safetensors", truncated_safetensors, "cannot be read as weights"),
    "safetensors under another name": ("old.pt", misnamed, "is damaged or holds more than weights"),
    "a whole network": (
        "old.pt",
        lambda path: torch.save(SmallResNet(widths=(4, 8)).build((1, 8, 8), 3), path),
        "holds more than weights, and pickles are not run",
    ),
    "numbers": ("old.pt", lambda path: torch.save({"epoch": 3}, path), "must hold a state dict"),
    "a list": ("old.pt", lambda path: torch.save([torch.zeros(3)], path), "must hold a state dict"),
}


@pytest.mark.parametrize(("name", "write", "problem"), CHECKPOINTS.values(), ids=CHECKPOINTS.keys())
def test_a_checkpoint_that_cannot_be_used_exits_with_3_before_any_training(
    refusal, config, tmp_path, name, write, problem
):
    path = tmp_path / name
    write(path)
    change(config, ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"'))
    code, lines = refusal("update", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (3, 1)
    assert str(path) in lines[0]
    assert problem in lines[0]
    assert nothing_was_trained(tmp_path)


def test_a_pickle_is_never_run(refusal, config, tmp_path):
    path, trace = tmp_path / "old.pt", tmp_path / "pwned"
    torch.save({"stem.weight": Malicious(trace)}, path)
    change(config, ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"'))
    for arguments in (("update", config, "--out", tmp_path / "run"), ("validate", config)):
        code, lines = refusal(*arguments)
        assert (code, len(lines)) == (3, 1)
        assert f"{path} is damaged or holds more than weights, and pickles are not run" in lines[0]
        assert not trace.exists()
    torch.load(path, weights_only=False)  # the file is really malicious
    assert trace.exists()
    assert nothing_was_trained(tmp_path)


def test_a_label_outside_the_range_exits_with_3(refusal, config, tmp_path):
    arrays = dict(np.load(tmp_path / "data.npz"))
    arrays["test_targets"][5] = 3
    np.savez(tmp_path / "data.npz", **arrays)
    code, lines = refusal("update", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (3, 1)
    assert "1 of 100 targets of the report split are outside 0..2, first 3 of test/5" in lines[0]
    assert nothing_was_trained(tmp_path)


# The run folder


def test_each_command_refuses_the_configurations_and_runs_of_the_other(refusal, config, finished_update, tmp_path):
    search = write_tiny(tmp_path)
    assert refusal("run", config, "--out", tmp_path / "a") == (
        2,
        ["regnas: tiny_update has models and methods: it is for `regnas update tiny_update`"],
    )
    assert refusal("update", search, "--out", tmp_path / "b") == (
        2,
        ["regnas: tiny has a supernet and no models: it is for `regnas run tiny`"],
    )
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
    before = tree(finished_update)
    code, lines = refusal("report", finished_update)
    assert (code, len(lines)) == (2, 1)
    assert f"must be the run folder of a family, got an update. `regnas update {finished_update}`" in lines[0]
    assert tree(finished_update) == before

    # a run that was started and whose budget is out of reach
    assert refusal("run", search, "--out", tmp_path / "begun", "--set", "budgets.large=900M")[0] == 4
    before = tree(tmp_path / "begun")
    code, lines = refusal("update", tmp_path / "begun")
    assert (code, len(lines)) == (2, 1)
    assert f"`regnas report {tmp_path / 'begun'}` continues it" in lines[0]
    code, lines = refusal("update", config, "--out", tmp_path / "begun", "--resume")
    assert (code, len(lines)) == (2, 1)
    assert "belongs to another configuration" in lines[0]
    assert tree(tmp_path / "begun") == before


@pytest.fixture
def run_copy(finished_update, tmp_path):
    """A finished study, to be misused, and its configuration."""
    shutil.copytree(finished_update, tmp_path / "copy")
    return tmp_path / "copy", finished_update.parent / "tiny_update.toml"


def test_a_folder_in_use_is_left_alone_without_resume_or_overwrite(refusal, run_copy):
    run, config = run_copy
    before = tree(run)
    assert refusal("update", config, "--out", run) == (
        2,
        [f"regnas: {run} must be empty, got files. Continue its run with --resume, or start again with --overwrite."],
    )
    code, lines = refusal("update", config, "--out", run, "--resume", "--overwrite")
    assert (code, lines) == (2, ["regnas: only one of --resume and --overwrite must be set, got both. Choose one."])
    assert tree(run) == before


def test_resume_with_another_configuration_is_refused_with_the_difference(refusal, run_copy):
    run, config = run_copy
    before = tree(run)
    code, lines = refusal("update", config, "--out", run, "--resume", "--set", "methods.elodi.members=3")
    assert (code, len(lines)) == (2, 1)
    assert "belongs to another configuration (methods.elodi.members was 2, now 3)" in lines[0]
    code, lines = refusal("update", run, "--set", "methods.elodi.members=3")
    assert (code, len(lines)) == (2, 1)
    assert "--set must be empty for a run folder, got changes for" in lines[0]
    assert tree(run) == before


def test_other_data_or_threads_are_found(refusal, run_copy):
    run, _ = run_copy
    facts = json.loads((run / "run.json").read_text())
    write_sealed_json(run / "run.json", facts | {"threads": 64})
    code, lines = refusal("update", run)
    assert (code, len(lines)) == (2, 1)
    assert "(threads: 64 -> 1)" in lines[0]
    write_sealed_json(run / "run.json", facts | {"data": facts["data"] | {"digest": "0" * 64}})
    code, lines = refusal("update", run)
    assert (code, len(lines)) == (3, 1)
    assert "the data set must be the one that" in lines[0]


# The cache


def test_a_cache_that_cannot_be_written_exits_with_5(refusal, config, tmp_path):
    (tmp_path / "file").write_text("in the way")
    places = [tmp_path / "file" / "cache"]
    if os.geteuid() != 0:
        places.append(tmp_path / "locked" / "cache")
        places[-1].parent.mkdir(mode=0o500)
    for index, cache in enumerate(places):
        run = tmp_path / f"run-{index}"
        code, lines = refusal("update", config, "--out", run, "--set", f"cache={cache}")
        assert (code, len(lines)) == (5, 1)
        assert f"cannot write {cache}" in lines[0]
        assert not (run / "report").exists()
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("name", ["network.safetensors", "model.json"])
def test_a_damaged_file_in_the_cache_is_named_and_left_alone(refusal, finished_update, tmp_path, name):
    cache = tmp_path / "cache"
    shutil.copytree(finished_update.parent / "cache", cache)
    damaged = []
    for folder in cache.iterdir():
        record = json.loads((folder / "model.json").read_text())
        if record["seed"] == 0 and record["model"]["Trained"]["chance"] == "old 0":
            content = bytearray((folder / name).read_bytes())
            content[len(content) // 2] ^= 128
            (folder / name).write_bytes(content)
            damaged.append(folder / name)
    before = tree(cache)
    config = finished_update.parent / "tiny_update.toml"
    code, lines = refusal("update", config, "--out", tmp_path / "run", "--set", f"cache={cache}")
    assert (code, len(lines)) == (3, 1)
    assert any(f"{path} is damaged" in lines[0] for path in damaged)
    assert tree(cache) == before
    assert not (tmp_path / "run" / "report").exists()
