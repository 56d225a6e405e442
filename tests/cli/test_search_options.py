"""Where candidates are run, in which order members are found, and members that are added later."""

from __future__ import annotations

import json
import shutil

import optuna
import pytest

from benchmarks.tiny import write_tiny
from regnas.runtime.workers import WorkerProcess
from regnas.search.evaluation.dask_cluster import PATIENCE
from regnas.space import Architecture, contains

pytestmark = pytest.mark.slow


@pytest.fixture
def run_copy(finished_run, tmp_path):
    """A finished run that may be changed; its data stay where they are."""
    return shutil.copytree(finished_run, tmp_path / "run")


def manifest_of(run):
    return json.loads((run / "family" / "manifest.json").read_text())


def architectures(run):
    return [Architecture.from_json(member["architecture"]) for member in manifest_of(run)["members"]]


def test_one_worker_and_four_find_the_same_family(finished_run, tmp_path, command, monkeypatch):
    """The finished run had two; only the search is run again, from the same supernet."""
    started = []

    def start(*arguments):
        started.append(WorkerProcess(*arguments))
        return started[-1]

    monkeypatch.setattr("regnas.search.evaluation.executors.WorkerProcess", start)
    monkeypatch.setattr("regnas.search.evaluation.evaluator.FEW", 0)  # so few candidates would not be given to workers
    for executor in ("inline", "processes=4"):
        run = tmp_path / executor
        run.mkdir()
        for name in ("run.json", "supernet"):
            source = finished_run / name
            shutil.copytree(source, run / name) if source.is_dir() else shutil.copy(source, run / name)
        outcome = command("search", run, "--executor", executor)
        assert outcome.code == 0, outcome.stderr
        assert bool(started) == (executor != "inline")
        assert command("export", run).code == 0
        assert manifest_of(run) == manifest_of(finished_run)


def test_a_cluster_that_does_not_answer_is_refused_before_the_training(tmp_path, refusal, monkeypatch):
    monkeypatch.setenv(PATIENCE, "0.1")
    code, lines = refusal(
        "run", write_tiny(tmp_path), "--out", tmp_path / "run", "--executor", "dask=tcp://127.0.0.1:9"
    )
    assert code == 5
    assert len(lines) == 1
    assert lines[0].startswith("regnas: no Dask scheduler answers at tcp://127.0.0.1:9 (")
    assert not (tmp_path / "run" / "supernet").exists()


def test_a_member_in_between_extends_the_family(run_copy, finished_run, command):
    outcome = command("search", run_copy, "--add-budget", "tablet=155k +- 8 %", "--executor", "inline")
    assert outcome.code == 0, outcome.stderr
    extended = manifest_of(run_copy)
    assert [member["name"] for member in extended["members"]] == ["small", "medium", "tablet", "large"]
    before = {member["name"]: member for member in manifest_of(finished_run)["members"]}
    for member in extended["members"]:
        if member["name"] != "tablet":
            assert member == before[member["name"]]
    _, medium, tablet, large = architectures(run_copy)
    assert contains(tablet, medium)
    assert contains(large, tablet)
    assert 0.92 * 155_000 <= extended["members"][2]["macs"] <= 1.08 * 155_000
    assert extended["flip_table"]["models"] == ["small", "medium", "tablet", "large"]
    report = json.loads((run_copy / "report" / "flips.json").read_text())  # which existed, and is written again
    assert report["members"] == ["small", "medium", "tablet", "large"]
    assert f"report: {run_copy / 'report' / 'index.html'}" in outcome.stdout
    again = command("export", run_copy)
    assert again.code == 0, again.stderr
    assert manifest_of(run_copy) == extended


def test_budgets_that_cannot_be_added_leave_the_run_as_it_was(run_copy, refusal):
    before = {path: path.read_bytes() for path in run_copy.rglob("*.json")}
    for budget, expected, code in [
        ("x", '--add-budget: a budget must be "300M +- 2 %" or "<= 300M"', 2),
        ("small=150k", '--add-budget: the name must be new, got "small", which is', 2),
        ("twin=200k +- 5 %", "the budget must be larger or smaller than budgets.large", 2),
        ("1G", "budgets.1G: no architecture takes 980 M to 1.02 G MACs; the attainable range is", 4),
    ]:
        found, lines = refusal("search", run_copy, "--add-budget", budget)
        assert found == code, lines
        assert expected in lines[0]
    after = {path: path.read_bytes() for path in run_copy.rglob("*.json")}
    assert {path.name for path in after if after[path] != before.get(path)} <= {"run.json"}
    assert not json.loads((run_copy / "run.json").read_text()).get("added_budgets")


@pytest.mark.parametrize("order", ["joint", "front"])
def test_a_family_found_in_another_order_is_exported_and_reported(tmp_path, order, command):
    config = write_tiny(tmp_path, workers=1)
    drop = ["baselines={accuracy_only = {}}", f"search.order={order}", "training.epochs=1"]
    sets = [part for assignment in drop for part in ("--set", assignment)]
    outcome = command("run", config, "--out", tmp_path / "run", *sets)
    assert outcome.code == 0, outcome.stderr
    small, medium, large = architectures(tmp_path / "run")
    assert contains(medium, small)
    assert contains(large, medium)
    assert (tmp_path / "run" / "report" / "index.html").exists()


def test_an_unknown_executor_or_order_is_one_line(tmp_path, refusal):
    config = write_tiny(tmp_path, workers=1)
    code, lines = refusal("run", config, "--out", tmp_path / "run", "--executor", "threads=2")
    assert (code, len(lines)) == (2, 1)
    assert 'got "threads=2"' in lines[0]
    code, lines = refusal("run", config, "--out", tmp_path / "run", "--set", "search.order=largest")
    assert (code, len(lines)) == (2, 1)
    assert "search.order" in lines[0]
    assert not (tmp_path / "run").exists()


def test_runs_that_share_a_database_keep_their_searches_apart(tmp_path, command):
    """The second run, with another seed, finds the same candidates as it finds alone."""
    config = write_tiny(tmp_path, workers=1)
    shared = f"search.storage=sqlite:///{tmp_path / 'shared.db'}"
    common = ("--set", "training.epochs=1", "--set", "baselines={}")
    alone = command("run", config, "--out", tmp_path / "alone", *common, "--set", "seed=1")
    assert alone.code == 0, alone.stderr
    for seed in (0, 1):
        out = tmp_path / f"seed{seed}"
        outcome = command("run", config, "--out", out, *common, "--set", f"seed={seed}", "--set", shared)
        assert outcome.code == 0, outcome.stderr
    assert not (tmp_path / "seed1" / "study.db").exists()
    assert manifest_of(tmp_path / "seed1") == manifest_of(tmp_path / "alone")
    names = optuna.get_all_study_names(f"sqlite:///{tmp_path / 'shared.db'}")
    assert len(names) == 6
    assert len({name.split("/")[0] for name in names}) == 2


@pytest.mark.parametrize(
    ("storage", "code", "expected"),
    [
        (
            "nonsense",
            2,
            "search.storage must be an address such as postgresql://",
        ),
        ("mysql://me:secret@127.0.0.1/x", 5, "mysql://me:***@127.0.0.1/x needs a driver that is not installed"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line_before_anything_is_trained(
    tmp_path, refusal, storage, code, expected
):
    config = write_tiny(tmp_path, workers=1)
    found, lines = refusal("run", config, "--out", tmp_path / "run", "--set", f"search.storage={storage}")
    assert (found, len(lines)) == (code, 1)
    assert expected in lines[0]
    assert "secret" not in lines[0]
    assert not (tmp_path / "run" / "supernet").exists()
