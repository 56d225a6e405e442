"""The trade-off, shared weights, and ablations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.cifar10.measures import measure
from benchmarks.cifar10.results import results
from benchmarks.cifar10.rows import read_rows
from benchmarks.cifar10.sharing import lines, sharing
from benchmarks.cifar10.tradeoff import PAPER, spearman, tradeoff
from tests.benchmarks.recorded import row_of, write_family


def test_rank_correlation_is_that_of_scipy():
    random = np.random.default_rng(0)
    ratios, values = [0.05, 0.1, 0.5, 2.0, 20.0], random.integers(0, 4, (20, 5)).astype(float)  # with ties
    values = values[np.ptp(values, axis=1) > 0]
    expected = [spearmanr(ratios, row).statistic for row in values]
    np.testing.assert_allclose(spearman(ratios, values), expected)


def write_tradeoff(tmp_path, points):
    for ratio, (right, flipped) in points.items():
        write_family(tmp_path, f"tradeoff@{ratio}", row_of(right, flipped), group="tradeoff")
    return tradeoff(list(measure(read_rows(tmp_path), resamples=50).values()))


def test_the_order_of_the_paper_holds(tmp_path):
    found = write_tradeoff(tmp_path, {"20": (60, 1), "0.05": (70, 9), "1": (65, 4)})
    assert [row["ratio"] for row in found["rows"]] == [0.05, 1.0, 20.0]
    assert [row["paper"] for row in found["rows"]] == [PAPER[0.05], PAPER[1.0], PAPER[20.0]]
    for key in ("top1", "mean_nfr"):
        assert found[key]["spearman"] == pytest.approx(-1)
        assert found[key]["holds"] is True


def test_neighbors_that_break_the_order_are_named(tmp_path):
    found = write_tradeoff(tmp_path, {"0.1": (70, 9), "1": (65, 4), "2": (66, 3), "5": (60, 3)})
    [broken] = found["top1"]["breaks"]
    assert (broken["from"], broken["to"], broken["change"]) == (1.0, 2.0, pytest.approx(0.01))
    assert found["top1"]["holds"] is False
    assert found["top1"]["spearman"] == pytest.approx(-0.8)
    assert found["mean_nfr"]["holds"] is True  # equal neighbors break nothing


def test_flips_that_never_change_have_no_order(tmp_path):
    found = write_tradeoff(tmp_path, {"0.1": (70, 4), "1": (65, 4)})
    assert found["mean_nfr"]["spearman"] is None
    assert found["mean_nfr"]["interval"] is None


def test_lines_by_least_squares_with_families_taken_several_times():
    random = np.random.default_rng(0)
    gaps = [random.random(3), random.random(6), random.random(3)]
    values = [random.random(len(each)) for each in gaps]
    weights = np.array([[1, 1, 1], [2, 0, 1], [0, 3, 0]])
    found = lines(gaps, values, weights.astype(float))
    for taken, (intercept, slope) in zip(weights, found, strict=True):
        x = np.concatenate([each for each, times in zip(gaps, taken, strict=True) for _ in range(times)])
        y = np.concatenate([each for each, times in zip(values, taken, strict=True) for _ in range(times)])
        assert (slope, intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))


def test_the_slope_of_a_single_gap_is_none():
    assert lines([np.array([0.02, 0.02])], [np.array([0.1, 0.3])], np.ones((1, 1))).tolist() == [[0.2, 0.0]]


def shared(tmp_path, independent, supernet):
    for name, points in (("independent", independent), ("supernet", supernet)):
        for index, (right, flipped) in enumerate(points):
            write_family(tmp_path, f"sharing-{name}-{index}", row_of(right, flipped), group="sharing")
    return sharing(list(measure(read_rows(tmp_path), resamples=10).values()))


def test_the_clouds_are_compared_at_common_gaps(tmp_path):
    # NFR = 0.05 + 0.5 * gap for independent networks, of gaps from 0.1 to 0.3; 0.04 for those of a supernet, of gaps
    # from 0.04 to 0.2, where a larger network that is worse is a gap as well
    found = shared(tmp_path, [(60, 10), (70, 15), (80, 20)], [(54, 4), (46, 4), (70, 4)])
    assert sorted(point["gap"] for point in found["clouds"]["supernet"]["points"]) == pytest.approx([0.04, 0.04, 0.2])
    assert found["clouds"]["independent"]["nfr_line"] == {"intercept": pytest.approx(0.05), "slope": pytest.approx(0.5)}
    gaps = [one["gap"] for one in found["differences"]]
    assert (gaps[0], gaps[-1]) == pytest.approx((0.1, 0.2))
    for one in found["differences"]:
        assert one["nfr"]["difference"] == pytest.approx(0.01 + 0.5 * one["gap"])
        low, high = one["nfr"]["interval"]
        assert low - 1e-9 <= one["nfr"]["difference"] <= high + 1e-9


def test_clouds_without_a_common_gap_are_not_compared(tmp_path):
    found = shared(tmp_path, [(80, 10), (85, 10)], [(54, 2), (56, 2)])
    assert found["differences"] == []


def test_a_single_family_has_no_interval(tmp_path):
    found = shared(tmp_path, [(60, 10), (70, 15)], [(65, 2)])
    assert found["differences"][0]["nfr"]["difference"] == pytest.approx(0.105)
    assert found["differences"][0]["nfr"]["interval"] is None


def test_ablations_are_paired_by_seed(tmp_path):
    for seed, right in ((0, 60), (1, 80), (2, 99)):
        write_family(tmp_path, "regnas", row_of(right, 1), seed=seed)
    for seed, right in ((0, 58), (1, 79)):
        write_family(tmp_path, "shallow", row_of(right, 3), seed=seed, group="ablation", settings={"against": "regnas"})
    write_family(tmp_path, "lost", row_of(50, 3), group="ablation", settings={"against": "nothing"})
    lost, shallow = results(read_rows(tmp_path), resamples=10)["ablation"]
    assert shallow["seeds"] == [0, 1]
    assert shallow["largest_top1"]["values"] == pytest.approx([-0.02, -0.01])
    assert shallow["largest_top1"]["mean"] == pytest.approx(-0.015)
    assert shallow["mean_nfr"]["mean"] == pytest.approx(0.02)
    assert lost["mean_nfr"] is None and lost["seeds"] == []
