"""What a shell may hand over as standard output and standard error, in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("streams")
    (path / "old.csv").write_text("id,target,predicted\n1,a,a\n2,b,b\n3,a,b\n")
    (path / "new.csv").write_text("id,target,predicted\n1,a,a\n2,b,a\n3,a,a\n")
    return path


def shell(folder, command, redirection, **variables):
    """Run a command in a shell; return its exit code and what it printed on standard error."""
    line = f'"{sys.executable}" -m regnas {command} {redirection}; exit ${{PIPESTATUS[0]}}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    ended = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stderr, ended.stdout


COMMANDS = [
    "compare old.csv new.csv --json",
    "gate old.csv new.csv --max-nfr 0.99 --allow-unresolved",
    "--help",
    "list",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("redirection", "reason"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_output_that_cannot_be_written_is_a_problem_of_the_environment(folder, command, redirection, reason):
    code, stderr, _ = shell(folder, command, redirection)
    assert code == 5
    assert stderr == (f"regnas: cannot write to standard output: {reason}. Send it to a file that can be written.\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_gone_ends_the_command_without_a_word(folder, command):
    assert shell(folder, command, "| true")[:2] == (141, "")


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written_do_not_change_the_exit_code(folder, redirection):
    assert shell(folder, "compare old.csv missing.csv", redirection)[0] == 3
    assert shell(folder, "compare old.csv new.csv", redirection)[0] == 0


def test_an_encoding_without_arrows_gets_readable_replacements(folder):
    code, stderr, stdout = shell(folder, "gate old.csv new.csv --max-nfr 0.99 --allow-unresolved", "", **ASCII)
    assert (code, stderr) == (0, "")
    assert "old -> new on 3 samples" in stdout
    assert stdout.isascii()
