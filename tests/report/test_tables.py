"""The tables for the terminal and in Markdown."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from regnas.report.family.comparison import compare
from regnas.report.family.contents import ReportContents
from regnas.report.family.results import FamilyComparison
from regnas.report.family.tables import markdown, terminal_table
from regnas.report.kit.formatting import p_value, percent, percent_interval, signed_percent, training_cost

from .helpers import architecture, contents, method

FAMILY = ("1111110000", "1111111000", "1111111100")
BASELINE = ("1111110000", "0111111100", "1100111111")


def printed(comparison: FamilyComparison, width: int = 100) -> str:
    sink = io.StringIO()
    Console(file=sink, width=width, color_system=None).print(terminal_table(comparison))
    return sink.getvalue()


def many_members(count: int) -> ReportContents:
    family = method("family", ("1111110000",) * count, networks=[architecture([(8, 1)])] * count)
    return contents(family, members=tuple(f"member{index}" for index in range(count)), budgets=("1M",) * count)


def test_numbers_are_percent_with_two_decimals_and_no_negative_zero() -> None:
    assert percent(0.97314) == "97.31"
    assert percent(-0.00001) == "0.00"
    assert signed_percent(-0.00001) == "+0.00"
    assert signed_percent(-0.0123) == "-1.23"
    assert percent_interval((0.025, 0.037)) == "[2.50, 3.70]"
    assert (p_value(0.0004), p_value(0.25)) == ("< 0.001", "0.250")
    assert [training_cost(macs) for macs in (0, 5 * 10**9, 31 * 10**12)] == ["imported", "5 G", "31 T"]


def test_terminal_shows_accuracies_pairs_and_mean_of_each_method() -> None:
    shown = printed(compare(contents(method("family", FAMILY, "REG-NAS family"), method("b", BASELINE, "Baseline"))))
    rows = {line.split("  ")[0].strip(): line for line in shown.splitlines()}
    assert re.findall(r"[\d.]+", rows["REG-NAS family"])[:7] == [
        "60.00",
        "70.00",
        "80.00",
        "0.00",
        "0.00",
        "0.00",
        "0.00",
    ]
    assert re.findall(r"[\d.]+", rows["Baseline"])[:7] == [
        "60.00",
        "70.00",
        "80.00",
        "10.00",
        "20.00",
        "20.00",
        "16.67",
    ]


def test_terminal_table_of_three_members_fits_into_100_columns_on_one_line_a_method() -> None:
    titles = ("REG-NAS family", "Focal distillation (LM)")
    methods = [method(f"m{index}", BASELINE, title) for index, title in enumerate(titles)]
    shown = printed(compare(contents(*methods)))
    assert all(any(title in line for line in shown.splitlines()) for title in titles)
    assert "…" not in shown


def test_names_are_not_markup_in_the_terminal() -> None:
    shown = printed(compare(contents(method("family", FAMILY, "[red]x[/red]"), title="[bold]run")))
    assert "[red]x[/red]" in shown
    assert "[bold]run" in shown


def test_terminal_of_many_members_shows_the_smallest_and_the_largest() -> None:
    shown = printed(compare(many_members(8)))
    assert "member0" in shown and "member7" in shown
    assert "member3" not in shown


def test_terminal_of_one_member_has_no_flips() -> None:
    assert "NFR" not in printed(compare(contents(method("family", FAMILY[:1]))))


@pytest.mark.parametrize("members", [1, 2, 3])
def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_header(members: int) -> None:
    family = method("family", FAMILY[:members], title="a | b\n<b>c</b>")
    text = markdown(compare(contents(family, method("b", BASELINE[:members]), title="# run\n# two")))
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 1 + 2 * (1 if members == 1 else 2)
    for table in tables:
        cells = [len(re.split(r"(?<!\\)\|", line)) for line in table]
        assert len(set(cells)) == 1
        assert set(table[1]) <= set("|-: ")
    assert "<b>" not in text
    assert [line for line in text.splitlines() if line.startswith("# ")] == [r"# \# run \# two"]


def rows_below(text: str, heading: str) -> list[list[list[str]]]:
    """The tables of a section, each a list of rows of cells, without their headers."""
    section = text.split(f"## {heading}\n\n", 1)[1].split("\n## ", 1)[0]
    tables = [block.splitlines()[2:] for block in section.split("\n\n") if block.startswith("|")]
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in table] for table in tables]


def test_markdown_has_the_rates_intervals_and_tests_of_every_pair() -> None:
    text = markdown(compare(contents(method("family", FAMILY), method("b", BASELINE, "Baseline"))))
    (summary,) = rows_below(text, "Methods")
    difference = summary[1][-1]
    assert [row[0] for row in summary] == ["family", "Baseline"]
    assert summary[0][-1] == "–"
    assert difference.startswith("+16.67 [")  # (1 + 2 + 2) / 30 of the samples of a pair, and none of the family
    _, pairs = rows_below(text, "Baseline")
    # Counted in BASELINE: 1, 2, 2 samples broken; 2, 4, 3 repaired. 1 of 10 is [0.25, 44.50] and 2 of 10 is
    # [2.52, 55.61] in the tables of Clopper and Pearson; Holm's correction of the p-values is 1 for all.
    assert [[*row[2:7], row[7].split()[0], *row[8:]] for row in pairs] == [
        ["10.00 [0.25, 44.50]", "20.00", "0.556", "83.33", "66.67", "+10.00", "1.000", "1.000"],
        ["20.00 [2.52, 55.61]", "40.00", "1.667", "66.67", "0.00", "+20.00", "0.688", "1.000"],
        ["20.00 [2.52, 55.61]", "30.00", "1.429", "71.43", "0.00", "+10.00", "1.000", "1.000"],
    ]


def test_markdown_says_what_the_intervals_cover() -> None:
    text = markdown(compare(contents(method("family", FAMILY), method("b", BASELINE))))
    (explained,) = text.split("## Intervals\n\n")[1:]
    assert "95 %" in explained and "10 test samples" in explained
    assert "training" in explained
