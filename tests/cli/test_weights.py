"""Runs that start from an imported supernet."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.tiny import write_tiny
from regnas.supernet.imports import import_supernet
from tests.supernet.imports.lake import deep, empty_store, install_lake, trained

pytestmark = pytest.mark.slow

TRAINING_BASELINES = "[baselines.independent]\n[baselines.focal_distillation_lm]\n[baselines.elodi]\nmembers = 2\n"


@pytest.fixture(autouse=True)
def store(monkeypatch, tmp_path):
    install_lake(monkeypatch)
    return empty_store(monkeypatch, tmp_path / "home")


@pytest.fixture
def imported(store, tmp_path):
    torch.save(trained(), tmp_path / "mine.pth")
    return import_supernet(str(tmp_path / "mine.pth"), store)[0]


@pytest.fixture
def config(tmp_path):
    """Of a run that takes the supernet as it is."""
    path = write_tiny(tmp_path)
    text = path.read_text().replace('name = "elastic_resnet"', 'name = "lake"').replace("epochs = 3", "epochs = 0")
    path.write_text('weights = "mine"\n' + text.replace(TRAINING_BASELINES, ""))
    return path


def change(config, old, new):
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new))


def test_without_epochs_the_family_has_the_imported_weights_and_nothing_is_trained(command, config, imported, tmp_path):
    run = tmp_path / "run"
    outcome = command("run", config, "--out", run)
    assert outcome.code == 0, outcome.stderr
    assert not (run / "supernet").exists()
    assert not (run / "trainings").exists()
    whole = load_file(imported.path)
    for member in ("small", "medium", "large"):
        for name, tensor in load_file(run / "family" / f"{member}.safetensors").items():
            if "running" not in name and "tracked" not in name:  # calibrated for every member
                leading = tuple(slice(size) for size in tensor.shape)
                assert torch.equal(whole[f"largest.{name}"][leading], tensor), name
    assert json.loads((run / "run.json").read_text())["weights"] == imported.sha256
    page = (run / "report" / "index.html").read_text()
    assert page.count("<td>imported</td>") == 2  # the training of the family and of the accuracy-only search
    assert "none: the supernet is used as it was imported" in page
    assert f"mine, imported from {tmp_path / 'mine.pth'} (sha256 {imported.sha256[:16]})" in page


def test_a_run_is_continued_with_its_own_weights_only(command, refusal, config, imported, store, tmp_path):
    run = tmp_path / "run"
    assert command("train", config, "--out", run).code == 0
    assert command("search", run).code == 0
    torch.save(trained(seed=1), tmp_path / "mine.pth")
    imported.path.unlink()
    other, _ = import_supernet(str(tmp_path / "mine.pth"), store)
    code, lines = refusal("search", run)
    assert code == 3
    assert lines == [
        f"regnas: weights: mine must be the file that {run} was started with, sha256 {imported.sha256[:12]}…, got "
        f"{other.sha256[:12]}…. Restore the file."
    ]


def test_with_epochs_the_supernet_is_trained_from_the_imported_weights(command, config, imported, tmp_path):
    change(config, "epochs = 0", "epochs = 1\nweight_decay = 0.0")
    change(config, "learning_rate = 0.1", "learning_rate = 1e-9")  # so small that the start shows at the end
    assert command("train", config, "--out", tmp_path / "run").code == 0
    (checkpoint,) = (tmp_path / "run" / "supernet").glob("*.safetensors")
    end = load_file(checkpoint)
    for name, tensor in load_file(imported.path).items():
        if "running" not in name and "tracked" not in name:
            torch.testing.assert_close(end[f"model.{name}"], tensor, rtol=0, atol=1e-5)
    counted = [tensor.item() for name, tensor in end.items() if name.startswith("model.") and "tracked" in name]
    assert max(counted) > 0  # it was trained


@pytest.mark.parametrize("command_name", ["validate", "run"])
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('weights = "mine"', "", "tiny: training: epochs must be at least 1, unless weights names an imported"),
        ("epochs = 0", "epochs = -1", "tiny: training: epochs must be at least 0"),
        (
            "[baselines.accuracy_only]",
            "[baselines.accuracy_only]\n[baselines.elodi]",
            "tiny: training.epochs must be at least 1 for baselines.elodi, got 0. Set it, or leave it out.",
        ),
        ('"mine"', '"main"', 'weights: there is no imported supernet "main": run `regnas import-ofa main` first'),
        (
            "depths = [1, 2]",
            "depths = [1, 3]",
            "weights: mine does not belong to this configuration: its supernet.depths is [1, 2], not [1, 3]",
        ),
        (
            'name = "lake"',
            'name = "elastic_resnet"',
            "weights: mine does not belong to this configuration: its supernet is lake, not elastic_resnet",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_before_anything_is_trained(
    refusal, config, imported, tmp_path, command_name, old, new, problem
):
    change(config, old, new)
    arguments = [] if command_name == "validate" else ["--out", tmp_path / "run"]
    code, lines = refusal(command_name, config, *arguments)
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith(f"regnas: {problem}")
    assert not (tmp_path / "run" / "study.db").exists()


def test_weights_for_other_classes_are_refused(refusal, config, store, tmp_path):
    torch.save(trained(classes=5), tmp_path / "mine.pth")
    import_supernet(str(tmp_path / "mine.pth"), store)
    code, lines = refusal("validate", config)
    assert code == 2
    assert lines[0].endswith("it has 5 classes, the data has 3")


def test_weights_with_a_false_record_are_refused(refusal, config, imported, store, tmp_path):
    torch.save(trained(deep()), tmp_path / "deep.pth")
    deeper, _ = import_supernet(str(tmp_path / "deep.pth"), store)
    facts = json.loads((store / "mine.json").read_text())
    (store / "mine.json").write_text(json.dumps(facts | {"sha256": deeper.sha256}))
    imported.path.write_bytes(deeper.path.read_bytes())
    code, lines = refusal("train", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (3, 1)
    assert f"{imported.path} belongs to another network: largest." in lines[0]


def test_damaged_weights_are_refused(refusal, config, imported, tmp_path):
    content = bytearray(imported.path.read_bytes())
    content[-1] ^= 1
    imported.path.write_bytes(content)
    code, lines = refusal("train", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (3, 1)
    assert f"{imported.path} is damaged" in lines[0]
