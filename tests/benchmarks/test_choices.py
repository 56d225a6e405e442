from __future__ import annotations

import pytest

from benchmarks.cifar10.choices import best_regnas, by_method, chosen, search_reward
from benchmarks.cifar10.rows import read_rows
from tests.benchmarks.recorded import row_of, write_family


def test_methods_in_the_order_of_the_tables_and_unknown_ones_last(tmp_path):
    for name in ("zebra", "interpolation@1", "interpolation@0.5", "regnas", "another", "independent", "elodi"):
        write_family(tmp_path, name, row_of(60, 5))
    found = by_method(read_rows(tmp_path).rows)
    assert list(found) == ["independent", "elodi", "regnas", "interpolation", "another", "zebra"]
    assert [row.name for row in found["interpolation"]] == ["interpolation@0.5", "interpolation@1"]


def test_the_reward_is_mean_top1_minus_mean_nfr_over_seeds_on_the_search_split(tmp_path):
    # mean Top-1 (0.5 + 0.6) / 2, NFR 0.1; then (0.5 + 0.8) / 2, 0.0
    write_family(tmp_path, "polished", row_of(99, 0), search=row_of(60, 10), seed=0)
    write_family(tmp_path, "polished", row_of(99, 0), search=row_of(80, 0), seed=1)
    [row] = read_rows(tmp_path).rows
    assert search_reward(row) == pytest.approx((0.55 - 0.1 + 0.65) / 2)


def test_only_the_search_split_decides_the_choice(tmp_path):
    write_family(tmp_path, "interpolation@0", row_of(90, 0), search=row_of(60, 20))
    write_family(tmp_path, "interpolation@1", row_of(50, 30), search=row_of(60, 10))
    assert chosen(read_rows(tmp_path).rows).name == "interpolation@1"


def test_the_first_setting_wins_a_tie(tmp_path):
    for name in ("interpolation@2", "interpolation@10"):
        write_family(tmp_path, name, row_of(60, 5))
    assert chosen(by_method(read_rows(tmp_path).rows)["interpolation"]).name == "interpolation@2"


@pytest.mark.parametrize(
    ("limit", "name"), [(None, "polished"), (300, "polished"), (200, "pc_training"), (50, "polished")]
)
def test_the_best_row_is_within_the_compute_if_any_is(tmp_path, limit, name):
    write_family(tmp_path, "regnas", row_of(99, 0), training_macs=1)  # the paper's search is not a candidate
    write_family(tmp_path, "pc_training", row_of(70, 5), training_macs=100)
    write_family(tmp_path, "polished", row_of(80, 5), training_macs=300)
    assert best_regnas(read_rows(tmp_path).rows, limit).name == name


def test_without_candidates_there_is_no_best_row(tmp_path):
    write_family(tmp_path, "regnas", row_of(99, 0))
    assert best_regnas(read_rows(tmp_path).rows, None) is None
