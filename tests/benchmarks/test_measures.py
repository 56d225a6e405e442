from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cifar10.measures import Estimate, measure
from benchmarks.cifar10.rows import read_rows
from regnas.flips import bootstrap_means, interval, load_predictions
from tests.benchmarks.recorded import row_of, write_family

# Ten samples. small: 6 right; medium: 7, losing 1 of them; large: 8, losing 2 of medium's and 1 of small's.
SMALL = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
MEDIUM = [0, 1, 1, 1, 1, 1, 1, 1, 0, 0]
LARGE = [1, 1, 1, 1, 1, 0, 1, 0, 1, 1]


@pytest.fixture
def family(tmp_path):
    write_family(tmp_path, "elodi", [SMALL, MEDIUM, LARGE])
    return measure(read_rows(tmp_path), resamples=50)["elodi"]


def test_rates_of_one_seed(family):
    assert [family.member_top1(member).value for member in range(3)] == pytest.approx([0.6, 0.7, 0.8])
    assert [family.gain(member).value for member in (1, 2)] == pytest.approx([0.1, 0.1])
    # small -> medium loses sample 0; medium -> large loses 5 and 7; small -> large loses 5
    assert [family.pair_nfr(pair).value for pair in range(3)] == pytest.approx([0.1, 0.2, 0.1])
    assert [family.pair_pfr(pair).value for pair in range(3)] == pytest.approx([0.2, 0.3, 0.3])
    relative = [0.1 / (0.6 * 0.3), 0.2 / (0.7 * 0.2), 0.1 / (0.6 * 0.2)]
    assert [family.pair_relative_nfr(pair).value for pair in range(3)] == pytest.approx(relative)
    assert family.mean_nfr().value == pytest.approx(0.4 / 3)
    assert family.mean_top1().value == pytest.approx(0.7)
    assert family.larger_top1().value == pytest.approx((0.7 + 0.8 + 0.8) / 3)
    assert family.larger_error().value == pytest.approx(1 - (0.7 + 0.8 + 0.8) / 3)
    assert family.mean_nfr().spread is None


def test_means_and_spread_over_seeds(tmp_path):
    write_family(tmp_path, "elodi", row_of(right=60, flipped=4), seed=0)
    write_family(tmp_path, "elodi", row_of(right=70, flipped=10), seed=1)
    one = measure(read_rows(tmp_path), resamples=50)["elodi"]
    assert one.member_top1(1).by_seed == pytest.approx((0.6, 0.7))
    assert one.mean_nfr().value == pytest.approx(0.07)
    assert one.mean_nfr().spread == pytest.approx(np.sqrt(2) * 0.03)
    assert one.only([1]).mean_nfr().value == pytest.approx(0.1)
    # the mean of ratios, not the ratio of means
    expected = (0.04 / (0.5 * 0.4) + 0.1 / (0.5 * 0.3)) / 2
    assert one.pair_relative_nfr(0).value == pytest.approx(expected)


def test_the_interval_is_that_of_the_seed_mean_over_samples(tmp_path):
    random = np.random.default_rng(0)
    seeds = [random.random((2, 300)) < 0.8 for _ in range(2)]
    for seed, right in enumerate(seeds):
        write_family(tmp_path, "elodi", right, seed=seed)
    found = measure(read_rows(tmp_path))["elodi"].mean_nfr().bounds
    shares = np.mean([right[0] & ~right[1] for right in seeds], axis=0)  # [N]
    assert found == pytest.approx(interval(bootstrap_means(shares[:, None])[:, 0]), abs=0.006)


def test_rows_are_resampled_together(tmp_path):
    """Two rows with equal predictions have a difference of 0 in every resample; separate draws would differ."""
    for name in ("polished", "elodi"):
        write_family(tmp_path, name, row_of(right=60, flipped=20))
    measured = measure(read_rows(tmp_path), resamples=50)
    difference = measured["polished"].mean_nfr().minus(measured["elodi"].mean_nfr())
    assert np.ptp(measured["elodi"].mean_nfr().draws) > 0
    assert not difference.draws.any()


def test_clusters_of_samples_widen_the_interval(tmp_path):
    right = np.repeat(np.array([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]), 40, axis=1)  # whole clusters flip
    folder = write_family(tmp_path, "elodi", right)
    alone = measure(read_rows(tmp_path))["elodi"].mean_nfr().bounds
    for path in (folder / "report").iterdir():
        load_predictions(path).changed(groups=np.repeat(np.arange(5), 40)).save(path)
    clustered = measure(read_rows(tmp_path))["elodi"].mean_nfr().bounds
    assert alone[0] > 0.3 and alone[1] < 0.5
    assert clustered[0] == 0 and clustered[1] == pytest.approx(0.8)


def test_a_ratio_to_zero_is_none_and_in_a_resample_infinite():
    one = Estimate(0.1, np.array([0.1, 0.2, 0.3, 0.4]))
    assert one.over(Estimate(0.0, np.zeros(4))) is None
    ratio = one.over(Estimate(0.2, np.array([0.1, 0.1, 0.1, 0.0])))
    assert ratio.value == pytest.approx(0.5)
    assert ratio.bounds == [pytest.approx(1.0), None]


def test_the_relative_rate_is_zero_if_no_sample_can_flip(tmp_path):
    write_family(tmp_path, "elodi", [[0, 0, 0], [1, 1, 1]])
    assert measure(read_rows(tmp_path), resamples=10)["elodi"].pair_relative_nfr(0).to_json() == {
        "mean": 0.0,
        "interval": [0.0, 0.0],
        "spread": None,
        "values": [0.0],
    }
