"""What comparisons and verdicts show: frames, text, JSON, tables of notebooks and of terminals."""

from __future__ import annotations

import io
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

import regnas
from regnas.errors import ConfigurationError, EnvironmentProblem
from regnas.report.comparison.tables import terminal

HOSTILE = "<script>alert(1)</script>&\x1b[31m"


@pytest.fixture
def comparison():
    """Of 10 samples "new" loses 0 and 1 and gains 9; "last" is always correct."""
    target = np.zeros(10, int)
    old, new = target.copy(), target.copy()
    old[[8, 9]] = 1
    new[[0, 1, 8]] = 1
    return regnas.compare({"old": old, "new": new, "last": target}, target, slices={"day": ["mon"] * 5 + ["tue"] * 5})


def many(models: int, name: str = "model"):
    """Samples that each model predicts at random, so that numbers have all their digits."""
    random = np.random.default_rng(0)
    predicted = {f"{name}-{place}": random.integers(0, 2, 1000) for place in range(models)}
    return regnas.compare(predicted, np.zeros(1000, int))


def test_pairs_by_name(comparison):
    pair = comparison["old", "new"]
    assert (pair.reference, pair.new, pair.negative_flips, pair.positive_flips) == ("old", "new", 2, 1)
    assert pair.negative_flip_ids.tolist() == [0, 1]
    assert pair.positive_flip_ids.tolist() == [9]
    assert comparison["new", "old"].negative_flip_ids.tolist() == [9]
    assert [(each.reference, each.new) for each in comparison.forward] == [
        ("old", "new"),
        ("old", "last"),
        ("new", "last"),
    ]
    assert [(each.reference, each.new) for each in comparison.successive] == [("old", "new"), ("new", "last")]
    assert len(list(comparison)) == len(comparison.pairs) == 6


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("old", "now"), 'no model "now"; did you mean "new"? (models: old, new, last)'),
        (("old", "old"), 'a pair must be two different models, got "old" twice'),
        ("old", 'a pair must be two names of models, such as ["old", "new"], got \'old\''),
    ],
)
def test_a_pair_that_is_not_there(comparison, names, message):
    with pytest.raises(KeyError) as caught:
        comparison[names]
    assert isinstance(caught.value, ConfigurationError)
    assert str(caught.value) == message


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_have_a_row_for_every_ordered_pair(comparison, library):
    pytest.importorskip(library)
    frame = comparison.to_frame(library=library)
    assert type(frame).__module__.split(".")[0] == library
    columns = {name: frame[name].to_pylist() if library == "pyarrow" else frame[name].to_list() for name in
               ("reference", "new", "nfr", "nfr_low", "nfr_high", "mcnemar_p", "positive_flips")}  # fmt: skip
    pair = comparison["old", "new"]
    assert (columns["reference"][0], columns["new"][0], columns["nfr"][0]) == ("old", "new", 0.2)
    assert (columns["nfr_low"][0], columns["nfr_high"][0]) == pair.nfr_interval
    assert columns["positive_flips"] == [each.positive_flips for each in comparison.pairs]


def test_frames_by_class_and_slice(comparison):
    rows = comparison.to_frame("day", library="pyarrow").to_pylist()
    found = {(row["reference"], row["new"], row["value"]): row["negative_flips"] for row in rows}
    assert found["old", "new", "mon"] == 2
    assert found["new", "old", "tue"] == 1
    assert len(found) == 12
    assert comparison.to_frame("class", library="pyarrow").num_rows == 6
    with pytest.raises(ConfigurationError, match='by must be one of day, class, got "days"; did you mean "day"'):
        comparison.to_frame("days", library="pyarrow")
    with pytest.raises(ConfigurationError, match='library must be "pandas", "polars" or "pyarrow", got \'dask\''):
        comparison.to_frame(library="dask")


def test_a_library_that_is_not_installed_is_named(comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        EnvironmentProblem, match=r"to_frame needs pandas, which is not installed\. Run: pip install pandas"
    ):
        comparison.to_frame()


def test_json_has_all_pairs_and_ids_on_request(comparison):
    value = json.loads(comparison.to_json())
    assert value == json.loads(json.dumps(comparison.to_dict()))
    assert len(value["pairs"]) == 6
    assert "negative_flip_ids" not in value["pairs"][0]
    assert json.loads(comparison.to_json(ids=True))["pairs"][0]["negative_flip_ids"] == [0, 1]


class Tags(HTMLParser):
    """Tags that are opened and closed, and the texts between them."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append((tag, attrs))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def parse(text):
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    return tags


def test_notebooks_show_a_table_without_style_or_script():
    comparison = regnas.compare({HOSTILE: [0, 1], "new": [0, 0]}, [0, 1])
    verdict = regnas.gate([0, 1], [0, 0], [0, 1], max_nfr=0.1, min_accuracy_gain=0)
    for result, rows in ((comparison, 1), (verdict, 2)):
        page = result._repr_html_()
        tags = parse(page)
        assert {tag for tag, _ in tags.seen} <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
        assert all(name == "scope" for _, attributes in tags.seen for name, _ in attributes)
        assert [tag for tag, _ in tags.seen].count("tr") == rows + 1
        assert "\x1b" not in page
    assert "50.00 [1.26, 98.74]" in parse(comparison._repr_html_()).texts
    assert "unresolved" in parse(verdict._repr_html_()).texts


def test_a_notebook_lists_at_most_twenty_pairs():
    page = many(8)._repr_html_()
    assert page.count("<tr>") == 21
    assert "8 more pairs and 28 reverse pairs (later → earlier) are left out" in page


def test_a_page_without_a_path_is_returned(comparison, tmp_path):
    page = comparison.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert comparison.to_html(str(tmp_path / "deep" / "x.html")) is None
    assert (tmp_path / "deep" / "x.html").read_text(encoding="utf-8") == page
    assert 'aria-labelledby="models"' in page  # the name of the attribute is British


def test_texts_for_the_prompt(comparison):
    lines = repr(comparison).splitlines()
    assert lines[0] == "Comparison of 3 models on 10 samples"
    assert lines[1].startswith("  old → new: NFR 20.00 % [2.52, 55.61], PFR 10.00 %, accuracy -10.00 points [")
    assert len(lines) == 4
    assert repr(many(6)).splitlines()[-1] == "  and 5 more pairs"
    verdict = regnas.gate([0] * 20, [0] * 20, [0] * 20, max_nfr=0.02)
    assert repr(verdict).splitlines() == [
        "Unresolved: old → new on 20 samples",
        "  NFR at most 2 %: unresolved, 0.00 [0.00, 16.84], further samples: about 163",
    ]


def lines_of(comparison, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(terminal(comparison, console.width))
    return console.export_text().splitlines()


@pytest.mark.parametrize("name", ["m", "release-2026.10/resnet50-candidate"])
@pytest.mark.parametrize("width", [72, 80, 100, 140])
def test_no_interval_is_broken_over_lines(name, width):
    comparison = many(3, name)
    lines = lines_of(comparison, width)
    assert all(len(line) <= width for line in lines)
    for pair in comparison.forward:
        interval = "[{:.2f}, {:.2f}]".format(*(100 * bound for bound in pair.nfr_interval))
        gain = "[{:.2f}, {:.2f}]".format(*(100 * bound for bound in pair.accuracy_difference_interval))
        assert any(interval in line and gain in line for line in lines), (interval, gain)
    for line in lines:
        if "after" not in line and not line.startswith(("NFR", "Brackets")):
            assert line.count("[") == line.count("]"), line


def test_columns_are_left_out_only_for_lack_of_width():
    comparison = many(3)
    assert not any("too narrow" in line for line in lines_of(comparison, 140))
    narrow = lines_of(comparison, 80)
    assert "Left out, because the terminal is too narrow: Relative NFR, McNemar p." in narrow
    assert any(re.search(r"NFR +PFR +Accuracy +Corrected p", line) for line in narrow)


def rows_of_pairs(lines):
    return [
        line for line in lines if "→" in line and not any(word in line for word in ("by class", "flipped", "later"))
    ]


def test_many_models_print_forward_pairs_only():
    lines = lines_of(many(10), 140)
    assert len(rows_of_pairs(lines)) == 1 + 45
    assert "45 reverse pairs (later → earlier) are left out. JSON has all pairs." in lines


def test_very_many_models_print_the_pairs_with_the_highest_nfr():
    comparison = many(18)
    highest = sorted(comparison.forward, key=lambda pair: -pair.nfr)[:50]
    for rows in (
        rows_of_pairs(lines_of(comparison, 140)),
        rows_of_pairs(line for line in comparison.to_markdown().splitlines() if line.startswith("|")),
    ):
        assert len(rows) == 1 + 50
        for row, pair in zip(rows[1:], highest, strict=True):
            assert f"{pair.reference} → {pair.new} " in row
    lines = lines_of(comparison, 140)
    assert "103 more pairs and 153 reverse pairs (later → earlier) are left out. JSON has all pairs." in lines
    assert sum("by class" in line for line in lines) == 10
    page = comparison.to_html()
    assert page.count("<summary>") == 50
    assert "103 more pairs and 153 reverse pairs" in page


def test_json_has_all_pairs_and_fewer_classes_per_pair_the_more_models():
    generator = np.random.default_rng(0)
    target = generator.integers(0, 60, 600)
    models = {f"m{number}": np.where(generator.random(600) < 0.7, target, 0) for number in range(45)}
    comparison = regnas.compare(models, target=target)
    pairs = comparison.to_dict()["pairs"]
    assert len(pairs) == 45 * 44
    most = 100_000 // len(pairs)
    assert most < 60
    for pair in pairs:
        whole = comparison[pair["reference"], pair["new"]].classes
        assert [each["class"] for each in pair["classes"]] == [part.value for part in whole.parts[:most]]
        assert pair["classes_left_out"] == 60 - most
        assert len(whole.parts) == 60
