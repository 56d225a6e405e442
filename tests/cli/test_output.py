"""Standard output and standard error that cannot take what a command prints."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMANDS = {
    "table": ("compare", "old.csv", "new.csv"),
    "json": ("compare", "old.csv", "new.csv", "--json"),
    "gate": ("gate", "old.csv", "new.csv", "--max-nfr", "0.99"),
    "list": ("list", "losses"),
    "help": ("--help",),
    "version": ("--version",),
}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predictions")
    for name, answers in (("old", "01"), ("new", "00")):
        rows = [f"sample–{place},{place},{answer}" for place, answer in enumerate(answers)]
        (folder / f"{name}.csv").write_text("\n".join(["id,target,predicted", *rows]), encoding="utf-8")
    return folder


def shell(folder, arguments, redirection, variables=None):
    """Run the command with streams that only a shell can give."""
    line = f'"$@" {redirection}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line, "bash", sys.executable, "-m", "regnas", *arguments],
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_output_that_is_lost_is_not_success(folder, arguments):
    for redirection, reason in ((">&-", b"it is closed"), (">/dev/full", b"No space left on device")):
        ended = shell(folder, arguments, redirection)
        assert ended.returncode == 5
        (line,) = ended.stderr.splitlines()
        assert line.startswith(b"regnas: cannot write to standard output: " + reason)
    assert shell(folder, arguments, ">&- 2>&-").returncode == 5
    assert shell(folder, arguments, ">/dev/full 2>/dev/full").returncode == 5


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_broken_pipe_ends_the_command_silently(folder, arguments):
    ended = shell(folder, arguments, "| true")
    assert ended.returncode in (0, 141)  # 0 if everything was in the pipe before its reader ended
    assert ended.stderr == b""


def test_a_pipe_without_a_reader_gives_141(folder):
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "regnas", *COMMANDS["json"]],
        cwd=folder, stdout=writer, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_characters_that_a_stream_lacks_become_ascii(folder, arguments):
    ended = shell(folder, arguments, "", ASCII)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.isascii()
    assert len(ended.stdout) > 5


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_standard_error_that_is_lost_changes_no_exit_code(folder, redirection):
    assert shell(folder, ("compare", "old.csv", "missing.csv"), redirection).returncode == 3
    assert shell(folder, COMMANDS["table"], redirection).returncode == 0


def test_a_failed_gate_whose_verdict_is_lost_does_not_pass(folder):
    assert shell(folder, ("gate", "old.csv", "new.csv", "--max-nfr", "0"), ">/dev/full").returncode == 5
