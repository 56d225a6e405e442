"""Every command line that the documentation shows is one that regnas accepts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from regnas.cli import app
from regnas.runs.tables import is_update, load_table, presets
from tests.docs.markdown import PAGES, ROOT, blocks_of, name_of, prose_of

COMMANDS = typer.main.get_command(app).commands
SOURCES = [*PAGES, *sorted((ROOT / "search_configs").glob("*.toml"))]


def command_lines(page: Path) -> Iterator[tuple[str, str]]:
    """Yield where a command line is and its text after ``regnas``, from code blocks."""
    for block in blocks_of(page):
        if block.language not in ("", "bash", "console", "sh", "yaml"):
            continue
        text = re.sub(r"(run: >|\\)\n", " ", block.text)
        text = re.sub(r"\n +(--\w)", r" \1", text)  # a folded line of YAML goes on with an option
        for line in text.splitlines():
            found = re.match(r"\s*(?:\$ |- run: |run: )?(?:torchrun .* -m )?regnas +(.+)", line)
            if found:
                yield block.place, re.split(r"\s+#", found[1])[0]


def mentions(page: Path) -> Iterator[str]:
    """Yield what follows ``regnas`` in code spans of the prose, and in the comments of a preset."""
    text = page.read_text(encoding="utf-8") if page.suffix == ".toml" else prose_of(page)
    yield from re.findall(r"`regnas ([^`]+)`", text)
    yield from re.findall(r"^# \w+: regnas (.+)$", text, flags=re.MULTILINE)


SHOWN = [(place, line) for page in PAGES for place, line in command_lines(page)]


@pytest.mark.parametrize(("place", "line"), SHOWN, ids=[f"{place} {line}" for place, line in SHOWN])
def test_every_command_line_parses(place, line):
    name, *arguments = shlex.split(line)
    assert name in COMMANDS, f"{place}: there is no command {name}"
    COMMANDS[name].make_context(name, arguments)  # raises on an unknown option, a missing argument or a wrong type


def test_command_lines_are_found():
    readme = {line.split()[0] for place, line in SHOWN if place.startswith("README")}
    assert readme >= {"compare", "gate", "update", "run", "export", "verify"}
    assert {line for _, line in SHOWN if line.startswith("train")}  # behind torchrun


@pytest.mark.parametrize(("place", "line"), SHOWN, ids=[f"{place} {line}" for place, line in SHOWN])
def test_a_bare_name_in_place_of_a_configuration_is_a_preset_of_that_command(place, line):
    name, *arguments = shlex.split(line)
    if name not in ("run", "train", "validate", "update"):
        return
    target = arguments[0]
    if "/" in target or target.endswith(".toml"):
        return
    assert target in presets(), f"{place}: there is no preset {target}"
    assert name == "validate" or is_update(load_table(target)[1]) == (name == "update")


@pytest.mark.parametrize("page", SOURCES, ids=name_of)
def test_every_command_and_option_in_the_prose_exists(page):
    for mention in mentions(page):
        name, *words = mention.replace("[", " ").replace("]", " ").split()
        if name.startswith("-"):
            names = {option for each in typer.main.get_command(app).params for option in each.opts}
            assert name in names, f"regnas {mention}"
            continue
        if name == "COMMAND":
            continue
        for each in name.split("|"):
            assert each in COMMANDS, f"regnas {mention}"
            known = {option for parameter in COMMANDS[each].params for option in parameter.opts} | {"--help"}
            for option in (word.split("=")[0].split("|")[0] for word in words if word.startswith("-")):
                assert option in known, f"regnas {mention}: {each} has no option {option}"


def test_every_command_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if f"`regnas {name}" not in index]
    assert not missing
