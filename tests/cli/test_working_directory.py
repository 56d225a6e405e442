"""Relative paths: those of a file belong to its folder, and a run continues from any directory."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest
from safetensors.torch import save_file

import regnas
from benchmarks.tiny import write_tiny, write_tiny_update
from regnas.components.paths import Anchors
from tests.cli.test_update_scenarios import network_like


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A configuration with a relative path, in a folder that is not the working directory."""
    (tmp_path / "project").mkdir()
    config = write_tiny(tmp_path / "project")
    config.write_text(config.read_text().replace(str(config.parent / "data.npz"), "data.npz"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return config


def test_a_relative_path_in_a_file_belongs_to_the_folder_of_the_file(project, command):
    assert command("validate", project).code == 0
    assert command("validate", Path("../project/tiny.toml")).code == 0


def test_a_relative_path_on_the_command_line_belongs_to_the_working_directory(project, command, refusal):
    shutil.move(project.parent / "data.npz", "other.npz")
    assert command("validate", project, "--set", "data.path=other.npz").code == 0
    code, (line,) = refusal("validate", project)
    assert code == 3
    assert line.startswith(f"regnas: {project.parent / 'data.npz'} ")
    assert (
        command("validate", project, "--set", 'data={name="arrays", path="other.npz", search_fraction=0.3}').code == 0
    )


@pytest.mark.slow
def test_a_run_continues_from_any_directory_and_its_digest_has_no_directory(project, command, monkeypatch, tmp_path):
    first = command("train", project, "--out", tmp_path / "run")
    assert first.code == 0, first.stderr
    digest = json.loads((tmp_path / "run" / "run.json").read_text())["digest"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy").mkdir()
    shutil.copy(project, tmp_path / "copy")  # without data beside it: the run has recorded the path of its own
    for arguments in (("search", "run"), ("train", "copy/tiny.toml", "--out", "run", "--resume")):
        outcome = command(*arguments)
        assert outcome.code == 0, outcome.stderr
    assert json.loads((tmp_path / "run" / "run.json").read_text())["digest"] == digest
    monkeypatch.chdir(tmp_path / "run")
    assert command("export", ".").code == 0
    predicted = command("predict", ".:small", ".", "--out", "small.npz", "--device", "cpu")
    assert predicted.code == 0, predicted.stderr


@pytest.mark.slow
def test_a_preset_like_run_with_a_path_from_the_command_line_continues_elsewhere(tmp_path, command, monkeypatch):
    config = write_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert command("train", config, "--set", "data.path=data.npz", "--out", "run").code == 0
    monkeypatch.chdir("/")
    for arguments in (["search", tmp_path / "run"], ["train", config, "--set", "data.path=data.npz", "--resume"]):
        outcome = command(*arguments, *(["--out", tmp_path / "run"] if arguments[0] == "train" else []))
        assert outcome.code == 0, outcome.stderr


@pytest.mark.slow
def test_a_run_that_is_moved_together_with_its_data_continues(project, command, tmp_path):
    assert command("train", project, "--out", project.parent / "runs" / "tiny").code == 0
    moved = shutil.move(project.parent, tmp_path / "moved")
    outcome = command("search", Path(moved) / "runs" / "tiny")
    assert outcome.code == 0, outcome.stderr


@pytest.mark.slow
def test_an_update_finds_its_checkpoint_and_its_cache_from_any_directory(tmp_path, command, monkeypatch):
    (tmp_path / "project").mkdir()
    config = write_tiny_update(tmp_path / "project")
    text = config.read_text().replace(str(config.parent) + "/", "").replace("[0, 1]", "[0]")
    config.write_text(text.replace("samples = 0.5", 'samples = 0.5\ncheckpoint = "old.safetensors"'))
    save_file(network_like().state_dict(), tmp_path / "project" / "old.safetensors")
    monkeypatch.chdir(tmp_path)
    assert command("update", "project/tiny_update.toml", "--out", "run").code == 0
    trained = sorted((tmp_path / "project" / "cache").iterdir())
    assert trained
    monkeypatch.chdir("/")
    assert command("update", tmp_path / "run", "--sweep", "bcwi.alpha=0:1:1").code == 0
    assert sorted((tmp_path / "project" / "cache").iterdir()) == trained
    assert command("export", tmp_path / "run", "--format", "onnx").code == 0


@pytest.mark.slow
def test_paths_of_tables_belong_to_the_working_directory(project, monkeypatch, tmp_path):
    monkeypatch.chdir(project.parent)
    tables = tomllib.loads(project.read_text())
    regnas.run(tables, out=tmp_path / "run", until="train")
    monkeypatch.chdir("/")
    assert regnas.run(tables, out=tmp_path / "run", until="train", resume=True).path == tmp_path / "run"


@pytest.mark.parametrize(
    ("key", "folder"),
    [("data.path", "given"), ("data.root", "file"), ("models.old.checkpoint", "given"), ("models.older", "file")],
)
def test_keys_that_were_changed_belong_to_the_working_directory(key, folder):
    anchors = Anchors(Path("/file"), Path("/given"), ("data.path", "models.old"))
    assert anchors.folder_of(key) == Path("/", folder)


def test_folders_that_are_gone_are_found_from_the_run_folder(tmp_path):
    (tmp_path / "old" / "data").mkdir(parents=True)
    anchors = Anchors(tmp_path / "old", tmp_path / "old" / "data", ("data",))
    content = anchors.to_json(tmp_path / "old" / "runs" / "a")
    assert Anchors.from_json(content, tmp_path / "new" / "runs" / "a") == anchors
    shutil.move(tmp_path / "old", tmp_path / "new")
    found = Anchors.from_json(content, tmp_path / "new" / "runs" / "a")
    assert found.file.resolve() == tmp_path / "new"
    assert found.given.resolve() == tmp_path / "new" / "data"
