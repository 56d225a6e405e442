"""What was chosen on the search split, in reports and as a table for a configuration."""

from __future__ import annotations

import tomllib
from dataclasses import replace

from regnas.report.tuning import HEADER, Choice, Tried, chosen_toml, tuning_rows

TUNED = Choice("fd", "weight", 0.1, (Tried(0.03, 0.2, 0.031), Tried(0.1, 0.205, 0.02), Tried(0.3, 0.25, 0.01)))
EDGE = Choice("mixout", "probability", 0.01, (Tried(0.01, 0.3, 0.02),), eligible=False, at_edge=True)
GIVEN = Choice("fd", "alpha", 2.0)
TUNING = [replace(choice, cost=3.25) for choice in (TUNED, EDGE, GIVEN)]


def test_rows_have_the_grid_the_choice_and_its_cost():
    tuned, edge, given = tuning_rows(TUNING)
    assert tuned == ["fd.weight", "0.1", "0.03: 20.00 / 3.10, 0.1: 20.50 / 2.00, 0.3: 25.00 / 1.00", "3.2x"]
    assert len(tuned) == len(HEADER)
    assert edge[1] == "0.01 (none was as accurate as no treatment)"
    assert given[1:] == ["2", "chosen by an earlier run, from the configuration", "–"]


def test_a_choice_at_the_end_of_its_ladder_says_so():
    (row,) = tuning_rows([Choice("fd", "weight", 1.0, TUNED.tried, at_edge=True, cost=1.0)])
    assert row[1] == "1 (at the end of the grid)"


def test_choices_come_back_as_a_table_of_a_configuration():
    assert tomllib.loads(chosen_toml(TUNING)) == {
        "chosen": {"fd": {"weight": 0.1, "alpha": 2.0}, "mixout": {"probability": 0.01}}
    }
