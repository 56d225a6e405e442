"""Killed at any point and resumed, an update study ends with the same numbers, and nothing is trained twice."""

from __future__ import annotations

import re
import shlex
import signal

import pytest

from benchmarks.processes import start_regnas
from benchmarks.tiny import write_tiny_update
from regnas.cli import exit_code

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The configuration, with trainings long enough to be killed, and the result of a run that is not killed."""
    folder = tmp_path_factory.mktemp("unbroken")
    config = write_tiny_update(folder)
    text = config.read_text().replace("seeds = [0, 1]", "seeds = [0]")
    config.write_text(text.replace("epochs = 2", "epochs = 8").replace("epochs = 1\n", "epochs = 4\n"))
    assert exit_code(["update", str(config), "--out", str(folder / "run")]) == 0
    return config, (folder / "run" / "report" / "update.json").read_bytes()


def finished(cache):
    """When each network was finished, by the file that says so."""
    return {path: path.stat().st_mtime_ns for path in cache.glob("*/model.json")}


def in_training(cache):
    """The folders of trainings that are under way and have a checkpoint."""
    return {
        path.parents[1]
        for path in cache.glob("*/checkpoints/checkpoints.json")
        if not (path.parents[1] / "model.json").exists()
    }


def second_method(cache):
    return any("FocalDistillationLM" in path.read_text() for path in finished(cache))


MOMENTS = {
    "after the first network": lambda cache: len(finished(cache)) >= 1,
    "in a training": lambda cache: len(in_training(cache)) >= 1,
    "after the second method": lambda cache: second_method(cache) and len(finished(cache)) >= 4,
}


def test_killed_again_and_again_the_numbers_are_the_same(unbroken, tmp_path):
    """One run, killed at each of these moments."""
    (config, expected), run, cache = unbroken, tmp_path / "run", tmp_path / "cache"
    target = [config, "--set", f"cache={cache}", "--out", run]
    known, begun = {}, set()
    for moment in MOMENTS.values():
        process = start_regnas("update", *target)
        process.wait_for(lambda moment=moment: moment(cache))
        process.kill()
        assert process.returncode == -signal.SIGKILL
        assert not (run / "report").exists()
        now = finished(cache)
        assert {path: now[path] for path in known} == known
        known, begun = now, begun | in_training(cache)
        target = [run]
    assert len(known) >= 4
    assert begun
    assert exit_code(["update", str(run)]) == 0
    assert (run / "report" / "update.json").read_bytes() == expected
    after = finished(cache)
    assert {path: after[path] for path in known} == known
    assert len(after) == 8
    assert begun <= {path.parent for path in after}  # and what was under way has been finished in its place
    assert not list(cache.glob("*/checkpoints"))


def test_a_signal_stops_after_a_checkpoint_and_the_printed_command_goes_on(unbroken, tmp_path):
    (config, expected), run, cache = unbroken, tmp_path / "a run", tmp_path / "cache"
    process = start_regnas("update", config, "--set", f"cache={cache}", "--out", run)
    process.wait_for(lambda: len(finished(cache)) >= 2 and in_training(cache))
    process.send_signal(signal.SIGTERM)
    stopped = process.finish(60)
    assert stopped.code == 143
    assert "regnas: interrupted by SIGTERM; everything up to here is kept" in stopped.stderr
    assert in_training(cache)
    known = finished(cache)
    (command,) = re.findall(r"^continue with: regnas (.*)$", stopped.stderr, flags=re.MULTILINE)
    assert exit_code(shlex.split(command)) == 0
    assert (run / "report" / "update.json").read_bytes() == expected
    after = finished(cache)
    assert {path: after[path] for path in known} == known
