"""Errors name options on the command line, and arguments in Python; a remedy exists in the command that advises it."""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from benchmarks.tiny import write_tiny
from regnas.cli import app
from regnas.cli.flags import ARGUMENT, flags_of, name_flags
from regnas.errors import ConfigurationError, EnvironmentProblem
from regnas.runs import api

COMMANDS = sorted(typer.main.get_command(app).commands)
LIBRARY = [path for path in Path("regnas").rglob("*.py") if path.parts[1] != "cli"]
OPTION = re.compile(r"(?<![\w-])--[a-z]")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module except docstrings; values in f-strings become {}."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    skipped = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and _has_doc(node)}
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = (str(value.value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
            yield node.lineno, "".join(pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped | parts:
            yield node.lineno, node.value


def _has_doc(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def test_the_library_names_options_only_in_whole_commands():
    named = [(path, line, text) for path in LIBRARY for line, text in texts(path) if OPTION.search(text)]
    assert named  # "regnas predict MODEL CONFIG --split search", for example
    assert [each for each in named if not re.search(r"\b(regnas|torchrun) .*--", each[-1], re.DOTALL)] == []


def test_every_argument_that_an_error_names_is_an_option_of_some_command():
    known = {argument for command in COMMANDS for argument in flags_of(command)}
    named = {found[1] for path in LIBRARY for _, text in texts(path) for found in ARGUMENT.finditer(text)}
    assert {"out", "resume", "overwrite", "set", "sweeps", "add_budgets", "by_epoch"} <= named
    assert named <= known


def test_arguments_become_the_options_of_the_command_and_others_stay_as_python_writes_them():
    problem = "Continue with `resume=True`, or choose another `out`; see `regnas run`."
    assert name_flags(problem, flags_of("run")) == "Continue with --resume, or choose another --out; see `regnas run`."
    assert name_flags(problem, flags_of("verify")) == problem
    assert flags_of("update")["sweeps"] == "--sweep"
    assert flags_of("no such command") == {}


def test_python_sees_arguments_and_the_command_line_sees_options(refusal, tmp_path):
    config = write_tiny(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("")
    with pytest.raises(ConfigurationError, match="with `resume=True`, or start again with `overwrite=True`"):
        api.run(config, out=tmp_path / "run")
    code, lines = refusal("run", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (2, 1)
    assert lines[0].endswith("Continue its run with --resume, or start again with --overwrite.")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS])
def test_compare_does_not_advise_options_that_it_lacks(refusal, tmp_path, monkeypatch, number):
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("id,target,predicted\na,0,0\nb,1,1\n")

    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    code, lines = refusal("compare", tmp_path / "old.csv", tmp_path / "new.csv", "--markdown", tmp_path / "x.md")
    assert (code, len(lines)) == (5, 1)
    assert lines[0].startswith(f"regnas: cannot write {tmp_path / 'x.md'}: {os.strerror(number)}. ")
    assert not OPTION.search(lines[0])


def test_a_run_on_a_full_disk_names_the_command_that_continues_it(command, tmp_path, monkeypatch):
    config = write_tiny(tmp_path)

    def full(path, needed):
        raise EnvironmentProblem("the disk is full")

    monkeypatch.setattr("regnas.runs.job.check_space", full)
    outcome = command("run", config, "--out", tmp_path / "run")
    assert outcome.code == 5
    assert outcome.stderr.splitlines() == [
        f"continue with: regnas run {tmp_path / 'run'} --resume",
        "regnas: the disk is full",
    ]
