"""Killed at any point and resumed, a run ends with the same family, byte for byte."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing

import pytest

from benchmarks.processes import start_regnas

pytestmark = pytest.mark.slow


def start(config, run):
    return start_regnas("run", config, "--out", run, "--resume")


def candidates(run):
    """How many candidates are on record; 0 while the database does not exist yet."""
    path = run / "study.db"
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0)) as connection:
            (count,) = connection.execute("select count(*) from trials where state = 'COMPLETE'").fetchone()
    except sqlite3.OperationalError:
        return 0
    return count


MOMENTS = {
    "in the supernet's training": lambda run: (run / "supernet" / "step-4.safetensors").exists(),
    "in the first search": lambda run: candidates(run) >= 2,
    "in the middle of a generation": lambda run: candidates(run) >= 13,
    "in the export": lambda run: (run / "family" / "small.safetensors").exists(),
    "in the baselines": lambda run: len(list((run / "trainings").glob("*/model.json"))) >= 3,
}


def family(run):
    return {path.name: path.read_bytes() for path in (run / "family").iterdir()}


def courses(run):
    """Return the record of every training."""
    files = [run / "supernet" / "metrics.jsonl", *(run / "metrics").iterdir()]
    return {path.relative_to(run): path.read_bytes() for path in files}


def test_killed_again_and_again_the_family_and_the_report_are_the_same_bytes(finished_run, tmp_path, command):
    """One run, killed at each of these moments."""
    config, run = finished_run.parent / "tiny.toml", tmp_path / "run"
    for moment in MOMENTS.values():
        process = start(config, run)
        process.wait_for(lambda moment=moment: moment(run))
        process.kill()
    outcome = command("run", config, "--out", run, "--resume")
    assert outcome.code == 0, outcome.stderr
    assert family(run) == family(finished_run)
    flips = "report/flips.json"
    assert (run / flips).read_bytes() == (finished_run / flips).read_bytes()
    assert candidates(run) == candidates(finished_run)
    assert courses(run) == courses(finished_run)


@pytest.mark.parametrize(
    ("number", "code", "moment"),
    [(signal.SIGINT, 130, "in the supernet's training"), (signal.SIGTERM, 143, "in the baselines")],
)
def test_a_signal_stops_after_a_checkpoint_and_says_how_to_go_on(finished_run, tmp_path, command, number, code, moment):
    config, run = finished_run.parent / "tiny.toml", tmp_path / "run"
    process = start(config, run)
    process.wait_for(lambda: MOMENTS[moment](run))
    process.send_signal(number)
    stopped = process.finish(60)
    assert stopped.code == code
    assert f"continue with: regnas run {run} --resume" in stopped.stderr
    assert f"interrupted by {signal.Signals(number).name}" in stopped.stderr
    assert command("export", run).code == 0
    assert family(run) == family(finished_run)
