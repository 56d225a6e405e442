"""Each mistake in an update is answered with lines that help and the documented exit code, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from regnas.cli import exit_code
from regnas.networks import SmallResNet
from tests.tiny import write_tiny, write_tiny_update

NETWORK = '{ name = "small_resnet", widths = [4, 8] }'
NEW = f"[models.new]\nnetwork = {NETWORK}"
METHODS = (
    "[methods.none]\n[methods.focal_distillation_lm]\n[methods.ensemble]\nmembers = 2\n[methods.elodi]\nmembers = 2\n"
    "[methods.bcwi]\n"
)


@pytest.fixture
def command(capsys):
    """The command in this process, which is faster: exit code and the lines on standard error."""

    def call(*arguments):
        code = exit_code(list(map(str, arguments)))
        lines = capsys.readouterr().err.splitlines()
        assert all(line.startswith("regnas: ") for line in lines), lines
        return code, lines

    return call


@pytest.fixture
def config(tmp_path):
    return write_tiny_update(tmp_path)


def change(config, *replacements):
    text = config.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    config.write_text(text)


def tree(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


def nothing_was_trained(folder):
    """At most the run was begun, and neither a network nor a result is there."""
    begun = {path.name for path in (folder / "run").iterdir()} if (folder / "run").exists() else set()
    return begun <= {".lock", "run.json", "run.log"} and not (folder / "cache").exists()


# The configuration


@pytest.mark.parametrize(
    ("replacement", "problem"),
    [
        (("[methods.elodi]", "[methods.elody]"), 'methods.elody: unknown method "elody"; did you mean "elodi"?'),
        (("members = 2", "memberz = 2"), 'methods.ensemble.memberz is not a known key; did you mean "members"?'),
        (("members = 2", "members = 1"), "methods.ensemble: members is 1: an ensemble has at least 2"),
        (("members = 2", 'members = "two"'), 'methods.ensemble.members = "two": input should be a valid integer'),
        (("[methods.bcwi]", "[methods.bcwi]\nalpha = 1.5"), "methods.bcwi: alpha is 1.5: it has to lie between 0 and"),
        (("[methods.none]", '[methods."no/ne"]\nname = "none"'), '"no/ne" becomes a file name'),
        (("epochs = 2", 'epochs = "two"'), 'training.epochs = "two": input should be a valid integer'),
        (("samples = 0.5", 'samples = "half"'), 'models.old.samples = "half": input should be a valid number'),
        (("samples = 0.5", "samples = 0"), "models.old: samples is 0.0: it has to be above 0 and at most 1"),
        (("samples = 0.5", 'start = "newest"'), "models.old.start = \"newest\": input should be 'fresh' or 'previous'"),
        (("samples = 0.5", 'start = "previous"'), 'models.old.start is "previous", and there is none before it'),
        (("samples = 0.5", 'checkpoint = "a.pt"\ntrained = false'), "models.old: checkpoint and trained = false excl"),
        ((NEW, f'{NEW}\ncheckpoint = "a.pt"'), "models.new is there already: the newest model is the one that is"),
        ((NEW, f"{NEW}\nsamples = 0.4"), "models.new.samples is below that of models.old: data only grows"),
        ((NEW, f"{NEW}\nclases = 0.4"), 'models.new.clases is not a known key; did you mean "classes"?'),
        ((NEW, ""), "models needs at least two: the old one and the new one"),
        ((METHODS, ""), "methods is missing"),
        ((METHODS, "[methods]\n"), "methods is empty: name at least one, such as [methods.none]"),
        (("seeds = [0, 1]", "seeds = [0, 1, 0]"), "seeds are [0, 1, 0]: at least one, and none twice"),
        (("seeds = [0, 1]", "seeds = []"), "seeds are []: at least one, and none twice"),
        (("seeds = [0, 1]", "seeds = 0"), "seeds = 0: input should be a valid array"),
        (("seeds", 'references = ["chain", "star"]\nseeds'), "references[1] = \"star\": input should be 'chain', "),
        (('name = "small_resnet"', 'name = "small_resnt"'), 'unknown network "small_resnt"; did you mean "small_re'),
        ((NETWORK, "{ widths = [4, 8] }"), "models.old.network.name is missing (known: small_resnet, torchvision)"),
        ((NETWORK, '"small_resnet"'), 'models.old.network must be a table such as { name = "small_resnet" }'),
        ((NETWORK, '{ name = "torchvision", model = "resnet19" }'), 'no classification model "resnet19"; did you mean'),
        (("widths = [4, 8]", "widths = [8, 4]"), "models.old.network: widths must not shrink from stage to stage"),
        (("cache =", "cash ="), 'cash is not a known key; did you mean "cache"?'),
    ],
)
def test_bad_values_exit_with_2_before_anything_is_written(command, config, tmp_path, replacement, problem):
    change(config, replacement)
    code, lines = command("update", config, "--out", tmp_path / "run")
    assert code == 2
    assert len(lines) == 1
    assert problem in lines[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "tiny_update.toml"]
    assert command("validate", config) == (code, lines)


def test_fine_tuning_from_another_network_is_refused(command, config, tmp_path):
    change(config, (NEW, '[models.new]\nstart = "previous"\nnetwork = { name = "small_resnet", widths = [4, 12] }'))
    code, lines = command("update", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (2, 1)
    assert 'models.new.start is "previous", but its network is not that of models.old' in lines[0]
    assert not (tmp_path / "run").exists()


def test_several_problems_are_reported_at_once(command, config):
    change(config, ("methods.elodi", "methods.elody"), ("epochs = 2", "epocs = 2"), ("samples = 0.5", "samples = 2"))
    code, lines = command("validate", config)
    assert code == 2
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("replacement", "problem"),
    [
        (
            (NEW, '[models.new]\nnetwork = { name = "small_resnet", widths = [4, 12] }'),
            "tiny_update: methods.bcwi works on the weights of the old model: models.new.network has to be that of the "
            "model before it; leave the method out or keep the network",
        ),
        (
            (NEW, '[models.new]\nnetwork = { name = "torchvision", model = "resnet18" }'),
            "models.new.network: resnet18 takes images of 3 channels, not of 1",
        ),
        (
            (NEW, '[models.new]\nnetwork = { name = "small_resnet", widths = [4, 8], patch = 3 }'),
            "models.new.network: patches of 3 do not tile images of 8 x 8",
        ),
    ],
)
def test_networks_that_cannot_be_are_refused_before_any_training(command, config, tmp_path, replacement, problem):
    change(config, replacement)
    code, lines = command("update", config, "--out", tmp_path / "run")
    assert (code, lines) == (2, [f"regnas: {problem}"])
    assert nothing_was_trained(tmp_path)
    assert command("validate", config) == (code, lines)


# Sweeps


@pytest.mark.parametrize(
    "text",
    [
        "bcwi.alpha",
        "bcwi.alpha=",
        "bcwi.alpha=0.5",
        "bcwi.alpha=0:1",
        "bcwi.alpha=0:1:0.1:2",
        "bcwi.alpha=a:b:c",
        "bcwi.alpha=0:1:0",
        "bcwi.alpha=0:1:-0.5",
        "bcwi.alpha=1:0:0.5",
        "bcwi.alpha=0:inf:1",
        "bcwi.alpha=nan:1:0.5",
        "bcwi.alpha=0:1:nan",
        "bcwi.alpha=0:1:1e-12",
        "bcwi=0:1:0.5",
        ".alpha=0:1:0.5",
        "=0:1:0.5",
        "",
    ],
)
def test_a_bad_sweep_is_refused_before_anything_is_written(command, config, tmp_path, text):
    code, lines = command("update", config, "--out", tmp_path / "run", "--sweep", text)
    assert (code, len(lines)) == (2, 1)
    assert "--sweep takes method.key=start:stop:step, such as bcwi.alpha=0:1:0.1" in lines[0]
    assert f'not "{text}"' in lines[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bcwy.alpha=0:1:0.5", 'unknown method "bcwy"; did you mean "bcwi"?'),
        ("bcwi.alfa=0:1:0.5", "--sweep bcwi.alfa: bcwi has no alfa (known: alpha)"),
        ("bcwi.alpha=0:2:0.5", "--sweep bcwi.alpha: alpha is 1.5: it has to lie between 0 and 1"),
        ("elodi.teacher=0:1:1", "--sweep elodi.teacher: teacher is not a number"),
        ("elodi.members=2:3:0.5", "--sweep elodi.members: members is a whole number"),
        ("heterogeneous_ensemble.networks=0:1:1", "methods.heterogeneous_ensemble has to be configured"),
    ],
)
def test_a_sweep_of_what_is_not_there_leaves_a_run_as_it_was(command, finished_update, tmp_path, text, problem):
    shutil.copytree(finished_update, tmp_path / "run")
    before = tree(tmp_path)
    code, lines = command("update", tmp_path / "run", "--sweep", text)
    assert (code, len(lines)) == (2, 1)
    assert problem in lines[0]
    assert tree(tmp_path) == before


def test_a_sweep_that_cannot_be_planned_is_not_in_the_way_later(command, config, tmp_path):
    """bcwi is not configured, and the networks differ."""
    larger = '[models.new]\nnetwork = { name = "small_resnet", widths = [4, 12] }'
    change(config, (NEW, larger), (METHODS, "[methods.none]\n"), ("seeds = [0, 1]", "seeds = [0]"))
    code, lines = command("update", config, "--out", tmp_path / "run", "--sweep", "bcwi.alpha=0:1:0.5")
    assert (code, len(lines)) == (2, 1)
    assert "bcwi works on the weights of the old model" in lines[0]
    assert nothing_was_trained(tmp_path)
    assert command("update", tmp_path / "run") == (0, [])


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
    "a folder": ("old.pt", lambda path: path.mkdir(), "Is a directory"),
    "another architecture": (
        "old.pt",
        lambda path: torch.save(weights((4, 12)), path),
        "belongs to another network: stages.1.0.conv1.weight is [12, 4, 3, 3] instead of [8, 4, 3, 3]",
    ),
    "another number of classes": (
        "old.pt",
        lambda path: torch.save(weights(classes=5), path),
        "tells 5 classes apart, its share of the data has 3",
    ),
    "empty": ("old.pt", lambda path: path.write_bytes(b""), "cannot be read as weights"),
    "no weights": ("old.pt", lambda path: path.write_bytes(b"no weights at all" * 99), "is damaged or holds more than"),
    "truncated": ("old.pt", truncated, "cannot be read as weights"),
    "truncated safetensors": ("old.safetensors", truncated_safetensors, "cannot be read as weights"),
    "safetensors under another name": ("old.pt", misnamed, "is damaged or holds more than weights"),
    "a whole network": (
        "old.pt",
        lambda path: torch.save(SmallResNet(widths=(4, 8)).build((1, 8, 8), 3), path),
        "holds more than weights, and no pickle is run",
    ),
    "numbers": ("old.pt", lambda path: torch.save({"epoch": 3}, path), "holds no state dict"),
    "a list": ("old.pt", lambda path: torch.save([torch.zeros(3)], path), "holds no state dict"),
}


@pytest.mark.parametrize(("name", "write", "problem"), CHECKPOINTS.values(), ids=CHECKPOINTS.keys())
def test_a_checkpoint_that_cannot_be_used_exits_with_3_before_any_training(
    command, config, tmp_path, name, write, problem
):
    path = tmp_path / name
    write(path)
    change(config, ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"'))
    code, lines = command("update", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (3, 1)
    assert str(path) in lines[0]
    assert problem in lines[0]
    assert nothing_was_trained(tmp_path)


def test_a_pickle_is_never_run(command, config, tmp_path):
    path, trace = tmp_path / "old.pt", tmp_path / "pwned"
    torch.save({"stem.weight": Malicious(trace)}, path)
    change(config, ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"'))
    for arguments in (("update", config, "--out", tmp_path / "run"), ("validate", config)):
        code, lines = command(*arguments)
        assert (code, len(lines)) == (3, 1)
        assert f"{path} is damaged or holds more than weights, and no pickle is run" in lines[0]
        assert not trace.exists()
    torch.load(path, weights_only=False)  # the file does what it is accused of
    assert trace.exists()
    assert nothing_was_trained(tmp_path)


def test_a_label_outside_the_range_exits_with_3(command, config, tmp_path):
    arrays = dict(np.load(tmp_path / "data.npz"))
    arrays["test_targets"][5] = 3
    np.savez(tmp_path / "data.npz", **arrays)
    code, lines = command("update", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (3, 1)
    assert "1 of 100 targets of the report split are outside 0..2, first 3 of test/5" in lines[0]
    assert nothing_was_trained(tmp_path)


# The run folder


def test_each_command_refuses_the_configurations_and_runs_of_the_other(command, config, finished_update, tmp_path):
    search = write_tiny(tmp_path)
    assert command("run", config, "--out", tmp_path / "a") == (
        2,
        ["regnas: tiny_update has models and methods: it is for `regnas update tiny_update`"],
    )
    assert command("update", search, "--out", tmp_path / "b") == (
        2,
        ["regnas: tiny has a supernet and no models: it is for `regnas run tiny`"],
    )
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
    before = tree(finished_update)
    code, lines = command("report", finished_update)
    assert (code, len(lines)) == (2, 1)
    assert "it is for `regnas update" in lines[0]
    assert tree(finished_update) == before

    # a run that was begun and found to be out of reach
    assert command("run", search, "--out", tmp_path / "begun", "--set", "budgets.large=900M")[0] == 4
    before = tree(tmp_path / "begun")
    code, lines = command("update", tmp_path / "begun")
    assert (code, len(lines)) == (2, 1)
    assert "it is for `regnas run" in lines[0]
    code, lines = command("update", config, "--out", tmp_path / "begun", "--resume")
    assert (code, len(lines)) == (2, 1)
    assert "belongs to another configuration" in lines[0]
    assert tree(tmp_path / "begun") == before


@pytest.fixture
def run_copy(finished_update, tmp_path):
    """A finished study, to be misused, and its configuration."""
    shutil.copytree(finished_update, tmp_path / "copy")
    return tmp_path / "copy", finished_update.parent / "tiny_update.toml"


def test_a_folder_in_use_is_left_alone_without_resume_or_overwrite(command, run_copy):
    run, config = run_copy
    before = tree(run)
    assert command("update", config, "--out", run) == (
        2,
        [f"regnas: {run} is in use: continue it with --resume, or start anew with --overwrite"],
    )
    code, lines = command("update", config, "--out", run, "--resume", "--overwrite")
    assert (code, lines) == (2, ["regnas: --resume and --overwrite exclude each other"])
    assert tree(run) == before


def test_resume_with_another_configuration_is_refused_with_the_difference(command, run_copy):
    run, config = run_copy
    before = tree(run)
    code, lines = command("update", config, "--out", run, "--resume", "--set", "methods.elodi.members=3")
    assert (code, len(lines)) == (2, 1)
    assert "belongs to another configuration (methods.elodi.members was 2, now 3)" in lines[0]
    code, lines = command("update", run, "--set", "methods.elodi.members=3")
    assert (code, len(lines)) == (2, 1)
    assert "--set goes with a configuration" in lines[0]
    assert tree(run) == before


def test_other_data_or_threads_are_found(command, run_copy):
    run, _ = run_copy
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"threads": 64}))
    code, lines = command("update", run)
    assert (code, len(lines)) == (2, 1)
    assert "(threads: 64 -> 1)" in lines[0]
    (run / "run.json").write_text(json.dumps(facts | {"data": facts["data"] | {"digest": "0" * 64}}))
    code, lines = command("update", run)
    assert (code, len(lines)) == (3, 1)
    assert "the data set is not the one that" in lines[0]


# The cache


def test_a_cache_that_cannot_be_written_exits_with_5(command, config, tmp_path):
    (tmp_path / "file").write_text("in the way")
    places = [tmp_path / "file" / "cache"]
    if os.geteuid() != 0:
        places.append(tmp_path / "locked" / "cache")
        places[-1].parent.mkdir(mode=0o500)
    for index, cache in enumerate(places):
        run = tmp_path / f"run-{index}"
        code, lines = command("update", config, "--out", run, "--set", f"cache={cache}")
        assert (code, len(lines)) == (5, 1)
        assert f"cannot write {cache}" in lines[0]
        assert not (run / "report").exists()
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("name", ["network.safetensors", "model.json"])
def test_a_damaged_file_in_the_cache_is_named_and_left_alone(command, finished_update, tmp_path, name):
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
    code, lines = command("update", config, "--out", tmp_path / "run", "--set", f"cache={cache}")
    assert (code, len(lines)) == (3, 1)
    assert any(f"{path} is damaged" in lines[0] for path in damaged)
    assert tree(cache) == before
    assert not (tmp_path / "run" / "report").exists()
