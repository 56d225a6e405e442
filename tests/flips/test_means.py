"""Intervals of means over pairs and seeds: special cases, bounds, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.flips.bootstrap import bootstrap_means, hierarchical_means, interval
from regnas.flips.closed_forms import difference_interval, rate_interval
from regnas.flips.means import closed_form, mean_interval
from regnas.flips.paired import Flips
from regnas.flips.partitions import Partition


def floats(pair) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def test_whole_values_of_one_seed_are_clopper_pearson_and_tango() -> None:
    values = np.repeat([1.0, 0.0], [7, 93])
    assert mean_interval(values, None, "rate") == floats(rate_interval(0.07, 100))
    values = np.repeat([1.0, -1.0, 0.0], [9, 3, 88])
    assert mean_interval(values, None, "difference") == floats(difference_interval(3, 9, 100))


@settings(deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 0.0, 1.0]), min_size=8, max_size=60), st.integers(1, 5))
def test_with_clusters_they_are_exactly_those_of_a_pair(values: list[float], size: int) -> None:
    difference = np.array(values)
    groups = np.arange(len(values)) // size
    flips = Flips(np.flatnonzero(difference < 0), np.flatnonzero(difference > 0))
    whole = Partition.whole(len(values), groups)
    assert mean_interval(difference, groups, "difference") == flips.accuracy_interval(whole)
    (low,), (high,) = flips.nfr_intervals(whole)
    assert mean_interval((difference < 0).astype(np.float64), groups, "rate") == (low, high)


@pytest.mark.parametrize("seeds", [1, 2, 3])
@pytest.mark.parametrize(("size", "independent"), [(1, 200), (4, 50)])
def test_nothing_flipped_is_bounded_by_the_event_that_anything_flips(seeds: int, size: int, independent: int) -> None:
    values, groups = np.zeros((seeds, 200)), np.arange(200) // size
    low, high = mean_interval(values, groups, "rate")
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / independent), rel=0.07)  # Student's t takes a little for 50 clusters
    low, high = mean_interval(values, groups, "difference")
    assert low == pytest.approx(-high)
    assert high == pytest.approx(3.8415 / (independent + 3.8415), rel=0.07)


def test_one_more_flip_never_lowers_the_upper_end() -> None:
    highest = []
    for flips in range(6):  # each of one of three pairs
        values = np.zeros(300)
        values[:flips] = 1 / 3
        highest.append(mean_interval(values, None, "rate")[1])
    assert highest == sorted(highest)
    assert highest[0] > 0


def test_fractions_are_as_narrow_as_the_bootstrap_if_there_are_many() -> None:
    random = np.random.default_rng(1)
    values = random.choice([0, 1 / 3, 2 / 3], p=[0.8, 0.15, 0.05], size=4000)
    groups = np.arange(4000) // 2
    low, high = closed_form(values, groups, "rate")
    drawn = interval(bootstrap_means(values[:, None], groups)[:, 0])
    assert (low, high) == pytest.approx(drawn, abs=0.1 * (high - low))
    signed = values * random.choice([-1, 1], size=4000)
    low, high = closed_form(signed, groups, "difference")
    drawn = interval(bootstrap_means(signed[:, None], groups)[:, 0])
    assert (low, high) == pytest.approx(drawn, abs=0.1 * (high - low))


def test_two_seeds_have_the_t_quantile_of_one_degree_of_freedom() -> None:
    # Means 0.10 and 0.14, standard error |0.14 - 0.10| / 2 = 0.02, t_1 = 12.706: the seeds outweigh the samples.
    values = np.zeros((2, 5000))
    values[0, :500], values[1, 2000:2700] = 1, 1
    low, high = mean_interval(values, None, "difference")
    assert (high - low) / 2 == pytest.approx(12.706 * 0.02, rel=0.01)
    assert (low + high) / 2 == pytest.approx(0.12, abs=0.001)
    assert mean_interval(values, None, "rate")[0] == 0.0  # a rate is not negative


def test_seeds_and_clusters_are_crossed() -> None:
    """The spread of the draws is that of seeds plus that of clusters seen by all seeds alike."""
    random = np.random.default_rng(3)
    of_seed, of_sample = random.normal(0, 0.1, (6, 1)), random.normal(0, 1, (1, 400))
    values = of_seed + of_sample  # [S, N], nothing that is of one seed and one sample alone
    draws = hierarchical_means(values, None, resamples=20_000)
    expected = of_seed.var(ddof=1) / 6 + of_sample.var() / 400
    assert draws.var() == pytest.approx(expected, rel=0.05)
    assert draws.mean() == pytest.approx(values.mean(), abs=0.005)
    # clusters drawn separately for each seed would give of_sample.var() / (6 * 400)
    assert of_seed.var(ddof=1) / 6 + of_sample.var() / 2400 < 0.8 * expected


def test_one_seed_draws_clusters_only() -> None:
    values = np.random.default_rng(0).random((1, 50))
    np.testing.assert_array_equal(hierarchical_means(values), bootstrap_means(values.T)[:, 0])


def flips_of(random: np.random.Generator, seeds: int, samples: int, rate: float, seed_share: float) -> np.ndarray:
    """[S, N], 1 with the chance ``rate`` on average: a probit model with effects of seeds, of samples and of both."""
    from scipy.special import ndtri

    effect = random.normal(0, seed_share, (seeds, 1)) + random.normal(size=(1, samples))
    total = np.sqrt(seed_share**2 + 2)
    return (effect + random.normal(size=(seeds, samples)) < total * ndtri(rate)).astype(np.float64)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("seed_share", [0.0, 0.3])
def test_the_true_mean_over_seeds_and_samples_is_held(seeds: int, seed_share: float) -> None:
    random = np.random.default_rng(17)
    trials, held, drawn = 150, 0, 0
    for _ in range(trials):
        values = flips_of(random, seeds, 400, 0.05, seed_share)
        low, high = mean_interval(values, None, "rate", resamples=200)
        held += low <= 0.05 <= high
        low, high = interval(hierarchical_means(values, None, resamples=200))
        drawn += low <= 0.05 <= high
    assert held / trials >= 0.93
    if seeds == 2 and seed_share:
        assert drawn / trials < 0.92  # what the correction is for


@pytest.mark.parametrize("seeds", [1, 3])
def test_rare_flips_are_held(seeds: int) -> None:
    """Two flips in 400 samples on average, where the percentiles of the bootstrap hold the rate too rarely."""
    random = np.random.default_rng(5)
    trials, held = 150, 0
    for _ in range(trials):
        pairs = np.stack([flips_of(random, seeds, 400, 0.005, 0.1) for _ in range(3)])  # [P, S, N]
        low, high = mean_interval(pairs.mean(axis=0), None, "rate", resamples=200)
        held += low <= 0.005 <= high
    assert held / trials >= 0.93


def test_values_beyond_their_range_are_refused() -> None:
    with pytest.raises(ArtifactError, match="values of a rate must be between 0 and 1"):
        mean_interval(np.array([-0.5, 0.0]), None, "rate")
    with pytest.raises(ArtifactError, match="values of a difference must be between -1 and 1"):
        mean_interval(np.array([1.5]), None, "difference")
