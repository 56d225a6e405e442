from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cifar10.matched import Curve, at_matched_top1, curves
from benchmarks.cifar10.measures import measure
from benchmarks.cifar10.rows import read_rows
from tests.benchmarks.recorded import row_of, write_family


def match(tmp_path, baseline, **rows):
    """Rows as (right, flipped) of 100 samples; the larger network's Top-1 and the NFR in percent."""
    write_family(tmp_path, "elodi", row_of(*baseline))
    for name, (right, flipped) in rows.items():
        write_family(tmp_path, name.replace("_at_", "@"), row_of(right, flipped))
    measured = measure(read_rows(tmp_path))
    return at_matched_top1(curves(measured), measured["elodi"])


def test_values_between_two_settings_are_interpolated_linearly(tmp_path):
    # from (60, 4) to (70, 12): at 65 the line is at 8, and the baseline at 10
    found = match(tmp_path, (65, 10), interpolation_at_0=(70, 12), interpolation_at_1=(60, 4))
    assert found.nfr.value == pytest.approx(0.08)
    assert found.ratio.value == pytest.approx(0.8)
    assert [row.name for row in found.rows] == ["interpolation@0", "interpolation@1"]


def test_a_quarter_of_the_way(tmp_path):
    found = match(tmp_path, (64, 20), interpolation_at_0=(70, 12), interpolation_at_1=(62, 4))
    assert found.nfr.value == pytest.approx(0.06)
    assert found.ratio.value == pytest.approx(0.3)


def test_a_point_at_exactly_this_accuracy_counts(tmp_path):
    found = match(tmp_path, (70, 10), interpolation_at_0=(70, 6), interpolation_at_1=(60, 4))
    assert found.nfr.value == pytest.approx(0.06)


def test_a_more_accurate_point_with_fewer_flips_beats_the_line(tmp_path):
    found = match(tmp_path, (65, 10), interpolation_at_0=(70, 12), interpolation_at_1=(60, 4), polished=(80, 3))
    assert found.nfr.value == pytest.approx(0.03)
    assert [row.name for row in found.rows] == ["polished"]


def test_only_neighboring_settings_are_joined(tmp_path):
    """Straight from 0 to 2 would be 4 at 65; the way over 1 is higher."""
    found = match(
        tmp_path, (65, 10), interpolation_at_0=(70, 4), interpolation_at_1=(66, 20), interpolation_at_2=(60, 4)
    )
    assert found.nfr.value == pytest.approx(0.04)
    assert [row.name for row in found.rows] == ["interpolation@0"]
    other = match(
        tmp_path / "b", (65, 10), interpolation_at_0=(64, 4), interpolation_at_1=(60, 1), interpolation_at_2=(66, 20)
    )
    # 0 and 2 would meet 65 at 12; from 1 (60, 1) to 2 (66, 20) it is 1 + 19 * 5 / 6
    assert other.nfr.value == pytest.approx(0.01 + 0.19 * 5 / 6)


def test_methods_and_rows_without_a_setting_are_not_joined(tmp_path):
    found = match(tmp_path, (65, 10), polished=(60, 2), regnas=(70, 8), polished_at_1=(71, 9))
    assert found.nfr.value == pytest.approx(0.08)
    assert [row.name for row in found.rows] == ["regnas"]


def test_baselines_are_not_part_of_the_front(tmp_path):
    found = match(tmp_path, (65, 10), polished_plain=(80, 0), regnas=(70, 8))
    assert found.nfr.value == pytest.approx(0.08)


def test_an_accuracy_that_is_not_reached_gives_no_number(tmp_path):
    found = match(tmp_path, (80, 10), interpolation_at_0=(70, 1), interpolation_at_1=(79, 1))
    assert found.to_json() == {"reached": False, "by": [], "matched_nfr": None, "ratio": None}


def test_resamples_that_do_not_reach_it_leave_the_interval_open(tmp_path):
    random = np.random.default_rng(0)
    smaller = random.random(400) < 0.6
    write_family(tmp_path, "elodi", [smaller, np.roll(np.arange(400) < 320, 50)])
    write_family(tmp_path, "regnas", [smaller, np.roll(np.arange(400) < 322, 150)])  # half a point above, by chance
    measured = measure(read_rows(tmp_path))
    found = at_matched_top1(curves(measured), measured["elodi"])
    low, high = found.ratio.bounds
    assert low is not None and high is None


def test_a_front_without_flips_in_the_baseline_has_no_ratio(tmp_path):
    found = match(tmp_path, (60, 0), regnas=(70, 2))
    assert found.nfr.value == pytest.approx(0.02)
    assert found.ratio is None


def test_the_front_takes_the_rows_of_the_tables_and_of_the_front_alone(tmp_path):
    write_family(tmp_path, "polished@1", row_of(60, 1))
    write_family(tmp_path, "polished@2", row_of(60, 1), group="front")
    write_family(tmp_path, "polished@3", row_of(60, 1), group="ablation")
    [one] = curves(measure(read_rows(tmp_path), resamples=10))
    assert isinstance(one, Curve)
    assert [row.name for row in one.rows] == ["polished@1", "polished@2"]
