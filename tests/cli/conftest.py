from __future__ import annotations

import io
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout

import pytest

from benchmarks.processes import Outcome
from benchmarks.tiny import write_tiny_update
from regnas.cli import exit_code
from tests.conftest import made_once
from tests.prediction.fixtures import brightness_onnx, checkpoints

__all__ = ["brightness_onnx", "checkpoints"]


# How to continue, and the progress of what takes long on a busy machine.
BESIDE_ERRORS = re.compile(r"continue with: regnas |.*: [\d,]+/[\d,]+, about ")


@pytest.fixture(scope="session")
def empty_picture():
    from matplotlib.figure import Figure

    from regnas.report.kit.figures import picture

    return picture(Figure)


@pytest.fixture
def command(capsys, monkeypatch, empty_picture):
    """The command in this process, which is faster if nothing depends on the process.

    Figures are set up and come out empty: to lay them out takes longer than all else in a tiny run. The finished runs,
    which processes of their own made, and the tests of ``regnas.report`` have them whole.
    """
    monkeypatch.setattr("regnas.report.kit.figures._svg", lambda figure: empty_picture.svg)
    monkeypatch.setattr("regnas.report.kit.figures._png", lambda figure: empty_picture.png)

    def call(*arguments):
        code = exit_code(list(map(str, arguments)))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def refusal(command):
    """The exit code and the error lines, each of which must be one of regnas' own; how to continue is left out."""

    def call(*arguments):
        outcome = command(*arguments)
        lines = [line for line in outcome.stderr.splitlines() if not BESIDE_ERRORS.match(line)]
        assert all(line.startswith("regnas: ") for line in lines), lines
        return outcome.code, lines

    return call


@pytest.fixture
def config(tmp_path):
    return write_tiny_update(tmp_path)


@pytest.fixture(scope="session")
def exported_run(finished_run, tmp_path_factory):
    """The finished run with its family in every format; tests must not change it."""

    def make(folder):
        shutil.copytree(finished_run, folder / "run")
        arguments = ["export", str(folder / "run"), "--format", "onnx", "--format", "torch-export", "--int8"]
        with redirect_stdout(io.StringIO()) as stdout, redirect_stderr(io.StringIO()) as stderr:
            code = exit_code(arguments)
        return Outcome(code, stdout.getvalue(), stderr.getvalue())

    return made_once(tmp_path_factory, "exported", make) / "run"
