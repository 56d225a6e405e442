"""`regnas compare`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.comparison.helpers import write

PAIR_KEYS = {"reference", "new", "nfr", "pfr", "relative_nfr", "nfr_interval", "mcnemar_p"}
HOSTILE = "</script><img src=x onerror=alert(1)> [red]|`![a](http://x)`\x1b[31m &"


@pytest.fixture
def files(tmp_path):
    ids = [f"s{n}" for n in range(10)]
    old = write(tmp_path / "old.csv", id=ids, target=["a"] * 5 + ["b"] * 5, predicted=["a"] * 5 + ["b"] * 3 + ["a"] * 2,
                country=["de", "fr"] * 5)  # fmt: skip
    new = write(
        tmp_path / "new.jsonl", id=ids[::-1], target=["b"] * 5 + ["a"] * 5, predicted=["b"] * 5 + ["a"] * 3 + ["b"] * 2
    )
    last = write(tmp_path / "last.parquet", id=ids, target=["a"] * 5 + ["b"] * 5, predicted=["a"] * 5 + ["b"] * 5)
    return old, new, last


@pytest.fixture
def hostile(tmp_path):
    folder = tmp_path / "h"
    folder.mkdir()
    name = HOSTILE.replace("/", "\u2215")
    common = {"id": [1, 2, 3], "target": [HOSTILE, "b", "b"], HOSTILE: [HOSTILE, "x", "x"]}
    return (
        write(folder / f"{name}.parquet", **common, predicted=[HOSTILE, "b", "b"]),
        write(folder / "new.parquet", **common, predicted=["b", "b", HOSTILE]),
    )


def test_json_is_one_object_and_nothing_else(command, files):
    outcome = command("compare", *files, "--json")
    assert (outcome.code, outcome.stderr) == (0, "")
    value = json.loads(outcome.stdout)
    assert value["models"] == [
        {"name": "old", "samples": 10, "error_rate": 0.2},
        {"name": "new", "samples": 10, "error_rate": 0.2},
        {"name": "last", "samples": 10, "error_rate": 0.0},
    ]
    assert len(value["pairs"]) == 6
    assert all(set(pair) >= PAIR_KEYS for pair in value["pairs"])
    first = value["pairs"][0]
    assert (first["reference"], first["new"], first["nfr"], first["pfr"]) == ("old", "new", 0.2, 0.2)
    assert first["relative_nfr"] == pytest.approx(0.2 / (0.8 * 0.2))
    assert first["nfr_interval"] == pytest.approx([0.025211, 0.556095], abs=1e-6)
    assert first["mcnemar_p"] == 1.0
    assert first["classes"][0] | {"nfr_interval": None} == {
        "class": "a", "samples": 5, "negative_flips": 2, "positive_flips": 0,
        "nfr": 0.4, "nfr_interval": None, "pfr": 0.0,
    }  # fmt: skip
    # the new model loses s0 and s1: one of each country
    assert [(part["value"], part["negative_flips"]) for part in first["slices"]["country"]] == [("de", 1), ("fr", 1)]


def test_the_table_names_models_pairs_and_what_regressed(command, files):
    outcome = command("compare", *files)
    assert outcome.code == 0
    assert "3 models on 10 samples" in outcome.stdout
    assert re.search(r"old → new +20\.00 \[2\.52, 55\.61\] +20\.00", outcome.stdout)
    assert "new → old" not in outcome.stdout
    assert "3 reverse pairs (later → earlier) are left out" in outcome.stdout
    assert "Samples that flipped from correct to wrong, old → new: s0, s1\n" in outcome.stdout
    assert "old → new, by class: what regressed most" in outcome.stdout
    assert "old → new, by country" in outcome.stdout


def test_markdown_to_standard_output_and_into_a_file(command, files, tmp_path):
    printed = command("compare", *files, "--markdown", "-")
    assert printed.stdout.startswith("# 3 models on 10 samples\n")
    assert command("compare", *files, "--markdown", tmp_path / "out" / "x.md").code == 0
    assert (tmp_path / "out" / "x.md").read_text() == printed.stdout
    assert "| old → new | 20.00 [2.52, 55.61] | 20.00 |" in printed.stdout


def test_page_is_whole_escaped_and_offline(command, hostile, tmp_path):
    outcome = command("compare", *hostile, "--html", tmp_path / "x.html")
    assert outcome.code == 0, outcome.stderr
    page = (tmp_path / "x.html").read_text()
    assert "default-src 'none'" in page
    assert "<img" not in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="?(https?:)?//', page)
    assert "onerror=alert(1)&gt; [red]" in page
    assert "\x1b" not in page
    assert "<svg" in page
    assert page.rstrip().endswith("</html>")


def test_markdown_of_hostile_names_has_no_markup(command, hostile):
    text = command("compare", *hostile, "--markdown", "-").stdout
    assert "<img" not in text
    assert "](http" not in text
    assert "\x1b" not in text
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")]
    assert set(cells) == {3, 8, 6}


def test_hostile_names_cannot_control_the_terminal(command, hostile):
    text = command("compare", *hostile).stdout
    assert "\x1b[31m" not in text
    assert "[red]" in text


def test_junit_of_hostile_names_parses(command, hostile, tmp_path):
    assert command("compare", *hostile, "--junit", tmp_path / "x.xml").code == 0
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "1", "0")
    (case,) = suite.findall("testcase")
    assert case.get("name").endswith("→ new")
    assert "onerror=alert(1)> [red]" in case.get("name")


def test_junit_has_a_case_for_each_model_and_the_next(command, files, tmp_path):
    command("compare", *files, "--junit", tmp_path / "x.xml")
    cases = ElementTree.parse(tmp_path / "x.xml").getroot().findall("testcase")
    assert [case.get("name") for case in cases] == ["old → new", "new → last"]


def test_predictions_of_a_run(command, finished_run):
    paths = [finished_run / "predictions" / f"{name}.npz" for name in ("small", "large")]
    outcome = command("compare", *paths, "--json")
    assert outcome.code == 0, outcome.stderr
    value = json.loads(outcome.stdout)
    flips = json.loads((finished_run / "report" / "flips.json").read_text())
    family = flips["methods"][0]
    expected = next(pair for pair in family["pairs"] if (pair["reference"], pair["new"]) == ("small", "large"))
    assert value["pairs"][0]["nfr"] == pytest.approx(expected["nfr"])
    assert value["pairs"][0]["slices"] == {}


def test_faults_are_reported_in_one_line_with_the_documented_exit_code(refusal, files, tmp_path):
    old, new, _ = files
    assert refusal("compare", old)[0] == 2
    code, (line,) = refusal("compare", old, tmp_path / "none.csv")
    assert (code, line) == (3, f"regnas: {tmp_path / 'none.csv'} is missing")
    other = write(tmp_path / "other.csv", id=["s1", "x"], target=["a", "a"], predicted=["a", "a"])
    code, (line,) = refusal("compare", old, other)
    assert code == 3
    assert '9 ids only in "old" (s0, s2, s3), 1 ids only in "other" (x)' in line
    code, (line,) = refusal("compare", old, new, old)
    assert (code, "names of models must differ" in line) == (2, True)


def test_outputs_that_collide_are_refused_before_anything_is_read(refusal, files):
    old, new, _ = files
    code, (line,) = refusal("compare", old, new, "--json", "--markdown", "-")
    assert (code, "--json and --markdown - both write to standard output" in line) == (2, True)
    code, (line,) = refusal("compare", old, new, "--html", old)
    assert (code, "would overwrite the predictions" in line) == (2, True)
    assert old.read_text().startswith("id,target")


@pytest.mark.parametrize("columns", [80, 100])
def test_piped_output_is_as_wide_as_columns_says(command, files, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = command("compare", *files).stdout.splitlines()
    assert all(len(line) <= columns for line in lines)
    assert any(re.search(r"old → new +20\.00 \[2\.52, 55\.61\] .*\[-?\d+\.\d\d, \d+\.\d\d\]", line) for line in lines)
    monkeypatch.delenv("COLUMNS")
    assert any(len(line) > columns for line in command("compare", *files).stdout.splitlines())


def test_ids_of_flipped_samples_are_for_the_json_object(command, refusal, files):
    first = json.loads(command("compare", *files, "--json", "--ids").stdout)["pairs"][0]
    assert (first["negative_flip_ids"], first["positive_flip_ids"]) == (["s0", "s1"], ["s8", "s9"])
    assert refusal("compare", *files, "--ids") == (2, ["regnas: --ids must come with --json"])


def test_neither_command_imports_what_it_does_not_need(tmp_path):
    columns = {"id": [1, 2], "target": [0, 0], "predicted": [0, 0]}
    old, new = (str(write(tmp_path / f"{name}.npz", **columns)) for name in ("old", "new"))
    table, other = (str(write(tmp_path / name, **columns)) for name in ("a.csv", "b.jsonl"))
    code = f"""
import sys
from regnas.cli import exit_code
assert exit_code(["compare", {old!r}, {new!r}, "--junit", {str(tmp_path / "x.xml")!r}, "--markdown", "-"]) == 0
assert exit_code(["gate", {old!r}, {new!r}, "--max-nfr", "1"]) == 0
assert exit_code(["compare", {table!r}, {other!r}, "--json"]) == 0
heavy = {{"torch", "torchvision", "optuna", "sklearn", "matplotlib", "jinja2", "pandas", "scipy.stats", "pyarrow",
         "narwhals"}}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["[]"]
