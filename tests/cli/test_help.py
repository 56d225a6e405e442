"""`regnas --help` and the help of every command, at 80 columns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest
import typer.main

from regnas.cli import app
from regnas.cli.help import EXAMPLES

COMMANDS = [name for panel in EXAMPLES.values() for name in panel]
FRAME = "│╭╮╰╯─"


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


def words(text: str) -> list[str]:
    return text.translate(dict.fromkeys(map(ord, FRAME), " ")).split()


def contains(page: str, text: str) -> bool:
    """Whether every word of a text is on the page, which breaks its lines anywhere."""
    return all(word in words(page) for word in text.split())


def test_every_command_is_in_one_panel():
    registered = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert sorted(COMMANDS) == sorted(registered)


def test_the_first_page_shows_the_panels_in_the_order_of_what_people_come_for(command, narrow):
    outcome = command("--help")
    assert outcome.code == 0
    titles = re.findall(r"╭─ (.+?) ─", outcome.stdout)
    assert titles == ["Options", "Compare models", "Update a model", "Build a family", "Tools"]
    shown = re.findall(r"^│ ([a-z][a-z-]+) ", outcome.stdout, flags=re.MULTILINE)
    assert shown == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_fits_80_columns_has_an_example_and_shows_texts_as_written(command, narrow, name):
    outcome = command(name, "--help")
    assert outcome.code == 0
    assert max(map(len, outcome.stdout.splitlines())) <= 80
    (example,) = re.findall(r"^ Example: (.+?) *$", outcome.stdout, flags=re.MULTILINE)  # on one line, to be copied
    assert example.startswith(f"regnas {name}")
    (written,) = (each for each in app.registered_commands if (each.name or each.callback.__name__) == name)
    assert contains(outcome.stdout, written.callback.__doc__)
    for parameter in typer.main.get_command(app).commands[name].params:
        # escapes are for the renderer; the page must show no escape, and every bracket
        assert contains(outcome.stdout, (parameter.help or "").replace("\\[", "[")), parameter.name
    assert "\\[" not in outcome.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_accepted_by_the_parser(name):
    (example,) = (panel[name] for panel in EXAMPLES.values() if name in panel)
    parser = typer.main.get_command(app).commands[name]
    context = parser.make_context(name, example.split()[2:])  # raises if an option or an argument does not exist
    assert not context.args


def test_version(command):
    assert command("--version").stdout == f"regnas {version('regnas')}\n"


@pytest.mark.parametrize(("typed", "offered"), [("ga", {"gate", "gallery"}), ("import", {"import-ofa"})])
def test_the_shell_completes_commands(typed, offered):
    variables = {"_REGNAS_COMPLETE": "complete_bash", "COMP_WORDS": f"regnas {typed}", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "regnas"], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert set(done.stdout.split()) == offered, done.stderr


def test_the_completion_script_is_printed_for_a_named_shell():
    done = subprocess.run(
        [sys.executable, "-m", "regnas", "--show-completion", "bash"],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "_REGNAS_COMPLETE=complete_bash" in done.stdout
