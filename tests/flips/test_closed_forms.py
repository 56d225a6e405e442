"""Intervals against closed forms, an independent reference, the bootstrap, and simulated samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom, binomtest

from regnas.flips import bootstrap_means, closed_forms, interval
from regnas.flips.closed_forms import difference_interval, independent_samples, rate_interval
from regnas.flips.paired import Flips
from regnas.flips.partitions import Partition


def bounds(pair) -> tuple[float, float]:
    low, high = pair
    return float(low), float(high)


def test_no_flip_in_few_samples_leaves_much_open():
    # 0 of n: (1 - high)^n = 0.025, so that high = 1 - 0.025^(1 / 5) for five samples
    assert bounds(rate_interval(0.0, 5)) == (0.0, pytest.approx(1 - 0.025**0.2))
    assert bounds(rate_interval(1.0, 5)) == (pytest.approx(0.025**0.2), 1.0)


def test_one_sample_that_flipped_proves_little():
    low, high = bounds(rate_interval(1.0, 1))
    assert (low, high) == (pytest.approx(0.025), 1.0)


def test_no_sample_leaves_everything_open():
    assert bounds(rate_interval(0.0, 0)) == (0.0, 1.0)
    assert bounds(difference_interval(0, 0, 0)) == (-1.0, 1.0)


@given(
    st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95, 0.999])
)
def test_rate_interval_is_the_exact_one_of_scipy(counts, level):
    flips, samples = counts
    exact = binomtest(flips, samples).proportion_ci(level, "exact")
    assert bounds(rate_interval(flips / samples, samples, level)) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize("samples", [1, 7, 40, 300])
def test_rate_interval_holds_the_true_rate_at_least_as_often_as_it_says(samples):
    """Exactly, not by simulation: the chance of every count whose interval holds the rate."""
    counts = np.arange(samples + 1)
    low, high = rate_interval(counts / samples, samples)
    for rate in np.linspace(0.001, 0.999, 97):
        covered = (low <= rate) & (rate <= high)
        assert binom.pmf(counts, samples, rate)[covered].sum() >= 0.95


def test_difference_without_any_flip_by_hand():
    # nothing flips: n d^2 / (d (1 - d)) = z^2, so that d = z^2 / (n + z^2)
    z = 1.959963984540054
    low, high = bounds(difference_interval(0, 0, 10))
    assert high == pytest.approx(z**2 / (10 + z**2), abs=1e-9)
    assert low == pytest.approx(-high, abs=1e-9)


@pytest.mark.parametrize(("lost", "gained", "samples"), [(3, 9, 50), (12, 2, 100), (5, 5, 40), (0, 1, 44)])
def test_at_the_ends_of_the_difference_the_score_test_is_at_its_limit(lost, gained, samples):
    """The likeliest rates for a given difference found by a general minimizer instead of the closed form."""

    def statistic(difference):
        lowest, highest = max(0.0, -difference), (1 - difference) / 2

        def unlikelihood(share):
            chances = (share, share + difference, 1 - 2 * share - difference)
            counts = (lost, gained, samples - lost - gained)
            return -sum(
                count * np.log(max(chance, 1e-300)) for count, chance in zip(counts, chances, strict=True) if count
            )

        share = minimize_scalar(unlikelihood, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-12}).x
        variance = (2 * share + difference - difference**2) / samples
        return ((gained - lost) / samples - difference) / np.sqrt(variance)

    low, high = bounds(difference_interval(lost, gained, samples))
    assert statistic(low) == pytest.approx(1.959964, abs=1e-3)
    assert statistic(high) == pytest.approx(-1.959964, abs=1e-3)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(100, 1000))
def test_difference_interval_holds_the_estimate_and_turns_with_the_models(lost, gained, samples):
    low, high = bounds(difference_interval(lost, gained, samples))
    assert -1 <= low <= (gained - lost) / samples <= high <= 1
    back_low, back_high = bounds(difference_interval(gained, lost, samples))
    assert (back_low, back_high) == pytest.approx((-high, -low), abs=1e-9)


def test_difference_interval_holds_the_true_difference_in_95_of_100_samples():
    random = np.random.default_rng(0)
    for lost_rate, gained_rate, samples in ((0.02, 0.04, 200), (0.1, 0.1, 50), (0.01, 0.01, 1000), (0.0, 0.05, 100)):
        counts = random.multinomial(samples, [lost_rate, gained_rate, 1 - lost_rate - gained_rate], size=4000)
        low, high = difference_interval(counts[:, 0], counts[:, 1], samples)
        covered = np.mean((low <= gained_rate - lost_rate) & (gained_rate - lost_rate <= high))
        assert covered >= 0.935, (lost_rate, gained_rate, samples)


def test_samples_of_which_each_is_its_own_cluster_all_count():
    rates = np.array([0.0, 0.1, 0.5, 1.0])
    within = 100 * rates * (1 - rates)
    assert independent_samples(100, 100, 1.0, within, within) == pytest.approx([100] * 4)


def test_clusters_without_a_flip_count_once_each():
    # 800 samples in 100 clusters of 8: 100, less what Student's t takes for few clusters
    assert 96 < float(independent_samples(800, 100, 8.0, 0.0, 0.0)) < 100


def test_a_single_cluster_tells_nothing():
    assert float(independent_samples(50, 1, 50.0, 5.0, 5.0)) == 0.0


def test_clusters_that_flip_as_a_whole_are_as_good_as_one_sample_each():
    """100 clusters of 5 of which 10 flip: 10 of 100 samples, but for the quantiles of Student's t."""
    groups = np.repeat(np.arange(100), 5)
    reference, new = np.ones(500, dtype=bool), groups >= 10
    (low,), (high,) = Flips.between(reference, new).nfr_intervals(Partition.whole(500, groups))
    assert (low, high) == pytest.approx(bounds(rate_interval(0.1, 100)), abs=0.003)


@pytest.mark.parametrize("size", [1, 6])
def test_intervals_agree_with_the_bootstrap_if_many_samples_flip(size):
    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(1500), size)
    ease = np.repeat(random.random(1500), size)
    right = [random.random(len(groups)) < ease**0.3 for _ in range(2)]
    values = np.column_stack([right[0] & ~right[1], right[1].astype(float) - right[0]]).astype(np.float64)  # [N, 2]
    draws = bootstrap_means(values, groups)  # [B, 2]
    flips, whole = Flips.between(*right), Partition.whole(len(groups), groups if size > 1 else None)
    (low,), (high,) = flips.nfr_intervals(whole)
    width = high - low
    assert (low, high) == pytest.approx(interval(draws[:, 0]), abs=0.1 * width)
    low, high = flips.accuracy_interval(whole)
    assert (low, high) == pytest.approx(interval(draws[:, 1]), abs=0.1 * (high - low))


@pytest.mark.parametrize(
    ("clusters", "size", "rate", "alike"), [(40, 8, 0.05, 0.5), (200, 4, 0.01, 0.9), (15, 10, 0.2, 0.3)]
)
def test_intervals_of_clusters_hold_the_true_rate(clusters, size, rate, alike):
    """Clusters in which samples flip alike: each has a rate of its own, drawn from a beta distribution."""
    random = np.random.default_rng(7)
    spread = (1 - alike) / alike
    groups = np.repeat(np.arange(clusters), size)
    whole = Partition.whole(len(groups), groups)
    held = 0
    for _ in range(600):
        own = random.beta(rate * spread, (1 - rate) * spread, clusters)
        flipped = random.random(len(groups)) < np.repeat(own, size)
        (low,), (high,) = Flips.between(np.ones(len(groups), dtype=bool), ~flipped).nfr_intervals(whole)
        held += low <= rate <= high
    assert held / 600 >= 0.93


def test_cached_intervals_equal_computed_intervals(monkeypatch):
    generator = np.random.default_rng(0)
    samples = generator.integers(0, 60, 500)
    rates = np.where(samples > 0, generator.integers(0, 61, 500) % (samples + 1) / np.maximum(samples, 1), 0.0)
    monkeypatch.setattr(closed_forms, "_KEPT", {})
    monkeypatch.setattr(closed_forms, "MOST_KEPT", 400)
    for level in (0.9, 0.95):
        expected = [rate_interval(rate, count, level) for rate, count in zip(rates, samples, strict=True)]
        for _ in range(2):
            low, high = rate_interval(rates, samples, level)
            assert low.tolist() == [float(each) for each, _ in expected]
            assert high.tolist() == [float(each) for _, each in expected]
            assert len(closed_forms._KEPT) <= 400
