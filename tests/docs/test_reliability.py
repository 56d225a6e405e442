"""The counts on the page are those of the JSON files."""

from __future__ import annotations

import json

from benchmarks.reliability.campaign import Outcome, Record
from benchmarks.reliability.table import BEGIN, END, NAMES, published, table_of, write


def test_the_published_table_is_that_of_the_json_files():
    assert published() == table_of(), "run python -m benchmarks.reliability.table"


def test_campaigns_without_a_file_are_not_run(tmp_path):
    record = Record("kills", "", 0, 1500, commits=["abc"], seconds=5400.0)
    record.add(0, Outcome("train", "lost", count=1200))
    record.write(tmp_path / "kills.json")
    table = table_of(tmp_path)
    assert "| kills | 1,200 | 1,500 | 1 | 1.5 | abc |\n" in table
    assert table.count("not run") == len(NAMES)  # all others, and the load


def test_the_figures_of_the_load_and_the_text_around_the_table(tmp_path):
    (tmp_path / "load.json").write_text(json.dumps({"rows": [{"models": 100, "seconds": 2.5}]}))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}\nafter\n")
    write(tmp_path, page)
    write(tmp_path, page)
    assert page.read_text() == f"before\n{BEGIN}{table_of(tmp_path)}{END}\nafter\n"
    assert "| models | seconds |\n| --- | --- |\n| 100 | 2.5 |\n" in table_of(tmp_path)
