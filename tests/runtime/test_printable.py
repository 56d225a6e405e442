"""Foreign names cannot control a terminal or break a format."""

from __future__ import annotations

import json
import logging
from xml.etree import ElementTree

import pytest

from regnas.cli.output import print_table, say
from regnas.report.comparison.junit import Case, junit_text
from regnas.report.kit.markdown import markdown_table
from regnas.report.kit.notebook import html_table
from regnas.report.kit.pages import page
from regnas.runs.session import _log_to
from regnas.runtime.files import read_json, write_json
from regnas.runtime.printable import escaped, json_escapes, printable, without_controls

HARMFUL = "\x1b\x00\x07\x7f\x9b\u202e\u2066\u2028\r\uffff"
NAME = f"cat{HARMFUL}\udcff\nforged"
HARMLESS = "naïve 中文 👩\u200d👩 \xa0 עברית"


def is_clean(text):
    return not set(text) & set(HARMFUL)


@pytest.mark.parametrize("form", [printable, escaped, without_controls, json_escapes])
def test_harmful_characters_go_and_letters_stay(form):
    assert is_clean(form(NAME))
    assert form(HARMLESS) == HARMLESS


def test_a_name_stays_on_its_line():
    assert "\n" not in printable(NAME) + escaped(NAME)
    assert escaped("a\n\x1b") == r"a\n\x1b"


def test_json_has_the_same_content(tmp_path):
    write_json(tmp_path / "names.json", {NAME: [NAME]})
    assert is_clean((tmp_path / "names.json").read_text(encoding="utf-8"))
    assert read_json(tmp_path / "names.json") == {NAME: [NAME]}
    assert json.loads(json_escapes(json.dumps(NAME, ensure_ascii=False))) == NAME


def test_formats_stay_whole():
    assert ElementTree.fromstring(junit_text("s", [Case(NAME, NAME, NAME)])) is not None
    table = markdown_table(["", "n"], [[NAME, "1"]])
    assert is_clean(table)
    assert len(table.splitlines()) == 3
    assert is_clean(html_table(NAME, [NAME], [[NAME]], NAME))


def test_pages_have_no_harmful_characters(monkeypatch):
    from jinja2 import DictLoader

    monkeypatch.setattr("regnas.report.kit.pages.ChoiceLoader", lambda loaders: DictLoader({"t": "<p>{{ name }}</p>"}))
    assert is_clean(page("regnas.report.kit", "t", {}, name=NAME))


def test_what_commands_print_has_no_harmful_characters(capsys):
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_row(Text(NAME.replace("\udcff", "")))
    print_table(table)
    say(NAME.replace("\udcff", ""))
    assert is_clean(capsys.readouterr().out)


def test_a_line_of_the_log_is_one_line(tmp_path, monkeypatch):
    # pytest-xdist cannot send what pytest captures of the log if it holds a surrogate.
    monkeypatch.setattr(logging.getLogger("regnas"), "propagate", False)
    with _log_to(tmp_path / "run.log"):
        logging.getLogger("regnas").info("train %s", NAME)
    (line,) = (tmp_path / "run.log").read_text(encoding="utf-8").splitlines()
    assert is_clean(line)
