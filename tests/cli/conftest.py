from __future__ import annotations

import pytest

from regnas.cli import exit_code
from tests.conftest import Outcome
from tests.predicting.fixtures import brightness_onnx, checkpoints
from tests.tiny import write_tiny_update

__all__ = ["brightness_onnx", "checkpoints"]


@pytest.fixture
def command(capsys):
    """The command in this process, which is faster where nothing depends on the process."""

    def call(*arguments):
        code = exit_code(list(map(str, arguments)))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def refusal(command):
    """The exit code and the lines on standard error, each of which has to be one of regnas' own."""

    def call(*arguments):
        outcome = command(*arguments)
        lines = outcome.stderr.splitlines()
        assert all(line.startswith("regnas: ") for line in lines), lines
        return outcome.code, lines

    return call


@pytest.fixture
def config(tmp_path):
    return write_tiny_update(tmp_path)
