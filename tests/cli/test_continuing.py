"""An interrupted command prints the command that continues it, and that command does only what was requested."""

from __future__ import annotations

import os
import re
import shlex
import signal
import threading
import time

from benchmarks.tiny import write_tiny
from regnas.cli.runs import _options
from tests.cli.test_kill import candidates


def interrupt_when(condition):
    """Interrupt this process as soon as the condition holds."""

    def wait():
        for _ in range(24_000):
            if condition():
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.005)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def interrupted(command, condition, *arguments):
    thread = interrupt_when(condition)
    outcome = command(*arguments)
    thread.join()
    assert outcome.code == 130, outcome.stderr
    (line,) = re.findall(r"^continue with: regnas (.*)$", outcome.stderr, flags=re.MULTILINE)
    return line


def test_train_and_search_are_continued_by_themselves(tmp_path, command, finished_run):
    run = tmp_path / "a run"
    config = write_tiny(tmp_path)
    trained = run / "supernet" / "step-4.safetensors"
    line = interrupted(command, trained.exists, "train", config, "--out", run)
    assert line == f"train '{run}' --resume"
    assert command(*shlex.split(line)).stdout == f"train: done, in {run}\n"
    assert candidates(run) == 0

    line = interrupted(command, lambda: candidates(run) >= 2, "search", run, "--executor", "inline")
    assert line == f"search '{run}' --executor inline"
    assert command(*shlex.split(line)).stdout == f"search: done, in {run}\n"
    assert candidates(run) == 24
    assert not (run / "family").exists()


def test_options_that_decide_what_is_done_are_repeated():
    given = _options(tune=True, allow_inexact=False, alpha=0.5, executor=None, add_budget=["tablet=155k +- 8 %", "1G"])
    assert given == ["--tune", "--alpha", "0.5", "--add-budget", "tablet=155k +- 8 %", "--add-budget", "1G"]
    assert _options(alpha=0.0) == ["--alpha", "0.0"]


def test_the_help_of_polish_names_its_table(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert "Change a key of [polish], for example epochs=4." in command("polish", "--help").stdout
    assert "even if [chosen] has a value" in " ".join(command("run", "--help").stdout.replace("│", " ").split())
