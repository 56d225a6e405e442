"""The bootstrap and the intervals of models and families: what they hold, and that clusters count once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import regnas.flips.bootstrap as bootstrap_module
from regnas.errors import ArtifactError
from regnas.flips import (
    Predictions,
    accuracy_difference_interval,
    accuracy_interval,
    bootstrap_means,
    flip_table,
    interval,
    mean_nfr_difference_interval,
    mean_nfr_interval,
    mean_nfr_values,
    negative_flip_rate,
    nfr_interval,
)

from .helpers import answers, correctness_rows, from_rows, shuffled


def random_model(name: str, samples: int, accuracy: float, seed: int) -> Predictions:
    right = np.random.default_rng(seed).random(samples) < accuracy
    return answers("".join("01"[each] for each in right.tolist()), name)


OLD, MIDDLE, NEW = (random_model(name, 400, 0.7, seed) for seed, name in enumerate(("old", "middle", "new")))


def duplicated(predictions: Predictions, copies: int, clustered: bool) -> Predictions:
    """Each sample several times, as if it were variants of one original."""
    samples = len(predictions) * copies
    return Predictions(
        predictions.model,
        np.arange(samples),
        np.repeat(predictions.targets, copies),
        np.repeat(predictions.predicted, copies),
        groups=np.repeat(np.arange(len(predictions)), copies) if clustered else None,
    )


@pytest.mark.parametrize("copies", [2, 3, 10])
def test_variants_of_one_original_count_once(copies: int) -> None:
    clustered = nfr_interval(duplicated(OLD, copies, True), duplicated(NEW, copies, True))
    assert clustered == pytest.approx(nfr_interval(OLD, NEW), abs=2e-4)  # but for the quantiles of Student's t
    low, high = nfr_interval(OLD, NEW)
    naive_low, naive_high = nfr_interval(duplicated(OLD, copies, False), duplicated(NEW, copies, False))
    # The width goes with 1 / sqrt(samples), which ignoring the clusters multiplies by `copies`.
    assert (naive_high - naive_low) / (high - low) == pytest.approx(copies**-0.5, rel=0.15)


def slow_bootstrap(values: NDArray[np.float64], groups: NDArray[np.int64], resamples: int) -> NDArray[np.float64]:
    """Draw clusters one by one and pool their samples."""
    random = np.random.default_rng(123)
    labels = sorted(set(groups.tolist()))
    means = []
    for _ in range(resamples):
        drawn = random.choice(labels, size=len(labels))
        means.append(np.concatenate([values[groups == label] for label in drawn]).mean(axis=0))
    return np.array(means)


def test_same_distribution_as_drawing_clusters_one_by_one() -> None:
    random = np.random.default_rng(5)
    groups = random.integers(0, 25, size=120)  # clusters of different sizes
    indicator = (random.random(120) < 0.2 + 0.02 * groups).astype(np.float64)
    values = np.column_stack([indicator, random.normal(size=120)])
    fast = bootstrap_means(values, groups, resamples=4000)
    slow = slow_bootstrap(values, groups, resamples=4000)
    assert fast.shape == (4000, 2)
    spread = slow.std(axis=0)
    np.testing.assert_allclose(fast.mean(axis=0), slow.mean(axis=0), atol=0.1 * spread.min())
    np.testing.assert_allclose(fast.std(axis=0), spread, rtol=0.06)
    for share in (0.025, 0.5, 0.975):
        np.testing.assert_allclose(
            np.quantile(fast, share, axis=0), np.quantile(slow, share, axis=0), atol=0.2 * spread.min()
        )
    assert np.corrcoef(fast.T)[0, 1] == pytest.approx(np.corrcoef(slow.T)[0, 1], abs=0.06)  # columns share the draw


def test_spread_of_a_share_is_the_binomial_one() -> None:
    values = np.repeat([1.0, 0.0], [30, 170])[:, None]
    draws = bootstrap_means(values, resamples=20_000)
    assert draws.mean() == pytest.approx(0.15, abs=0.001)
    assert draws.std() == pytest.approx((0.15 * 0.85 / 200) ** 0.5, rel=0.03)


def test_coverage_with_clusters_is_near_the_level_and_far_below_without_them() -> None:
    random = np.random.default_rng(11)
    covered = {True: 0, False: 0}
    trials, clusters, size = 300, 60, 8
    groups = np.repeat(np.arange(clusters), size)
    for trial in range(trials):
        chance = random.choice([0.05, 0.55], size=clusters)  # the true mean is 0.3
        values = (random.random(clusters * size) < chance[groups]).astype(np.float64)[:, None]
        for clustered in covered:
            draws = bootstrap_means(values, groups if clustered else None, resamples=300, seed=trial)
            low, high = interval(draws[:, 0])
            covered[clustered] += low <= 0.3 <= high
    assert 0.90 <= covered[True] / trials <= 0.98
    assert covered[False] / trials < 0.85


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(size=(50, 2))
    whole = bootstrap_means(values, resamples=101)
    monkeypatch.setattr(bootstrap_module, "BLOCK_ENTRIES", 50 * 7)
    np.testing.assert_allclose(bootstrap_means(values, resamples=101), whole, rtol=1e-12, atol=1e-12)


def test_the_seed_decides_the_draws() -> None:
    values = (OLD.correct & ~NEW.correct).astype(np.float64)[:, None]
    assert np.array_equal(bootstrap_means(values, seed=3), bootstrap_means(values, seed=3))
    assert not np.array_equal(bootstrap_means(values, seed=3), bootstrap_means(values, seed=4))


def test_order_of_the_samples_changes_nothing() -> None:
    assert nfr_interval(shuffled(OLD, 1), shuffled(NEW, 2)) == nfr_interval(OLD, NEW)


def test_interval_takes_the_central_share() -> None:
    draws = np.random.default_rng(0).permutation(np.arange(1001.0))
    assert interval(draws, 0.95) == pytest.approx((25.0, 975.0))
    assert interval(draws, 0.5) == pytest.approx((250.0, 750.0))


def test_intervals_hold_their_estimates() -> None:
    low, high = nfr_interval(OLD, NEW)
    assert low < negative_flip_rate(OLD, NEW) < high
    low, high = accuracy_interval(OLD)
    assert low < OLD.accuracy < high
    assert high - low == pytest.approx(2 * 1.96 * (OLD.accuracy * OLD.error_rate / 400) ** 0.5, rel=0.1)
    low, high = mean_nfr_interval([OLD, MIDDLE, NEW])
    assert low < flip_table([OLD, MIDDLE, NEW]).mean_nfr() < high


def test_difference_is_paired() -> None:
    better = replace(OLD, model="better", predicted=np.where(np.arange(400) < 40, 0, OLD.predicted))
    gain = better.accuracy - OLD.accuracy
    low, high = accuracy_difference_interval(better, OLD)
    assert 0 < low < gain < high  # significant, though the two intervals of the accuracies overlap
    assert accuracy_interval(OLD)[1] > accuracy_interval(better)[0]
    # the same predictions: z^2 / (N + z^2) in both directions (Tango), never 0
    alike = 3.841459 / (400 + 3.841459)
    assert accuracy_difference_interval(OLD, shuffled(OLD, 4)) == pytest.approx((-alike, alike), abs=1e-6)


@settings(deadline=None)
@given(correctness_rows(models=4))
def test_mean_nfr_values_are_the_share_of_flipping_pairs(rows: list[list[bool]]) -> None:
    models = from_rows(rows)
    values = mean_nfr_values(models)
    for sample, column in enumerate(zip(*rows, strict=True)):
        flips = sum(column[i] and not column[j] for i in range(4) for j in range(i + 1, 4))
        assert values[sample] == flips / 6
    assert values.mean() == pytest.approx(flip_table(models).mean_nfr(), abs=1e-12)


def test_difference_of_two_families_is_joint() -> None:
    alike = 3.841459 / (400 + 3.841459)
    same = mean_nfr_difference_interval([OLD, NEW], [shuffled(OLD, 1), shuffled(NEW, 2)])
    assert same == pytest.approx((-alike, alike), abs=1e-6)
    steady = replace(NEW, predicted=np.where(OLD.correct, OLD.predicted, NEW.predicted))  # loses nothing
    low, high = mean_nfr_difference_interval([OLD, steady], [OLD, NEW])
    assert (-high, -low) == pytest.approx(nfr_interval(OLD, NEW), abs=0.01)
    assert high < 0


def test_clusters_are_taken_from_whichever_model_has_them() -> None:
    both = nfr_interval(duplicated(OLD, 4, True), duplicated(NEW, 4, True))
    assert nfr_interval(duplicated(OLD, 4, True), duplicated(NEW, 4, False)) == both
    assert nfr_interval(duplicated(OLD, 4, False), duplicated(NEW, 4, True)) == both


def refusal(call: object) -> str:
    assert callable(call)
    with pytest.raises(ArtifactError) as caught:
        call()
    assert caught.value.exit_code == 3
    return str(caught.value)


def test_models_that_disagree_on_clusters_are_refused() -> None:
    message = refusal(lambda: nfr_interval(answers("101", "a", [0, 0, 1]), answers("101", "b", [0, 1, 1])))
    assert '"a" and "b" group the same samples into different clusters' in message


def test_arguments_without_meaning_are_refused() -> None:
    assert "at least two models, got 1" in refusal(lambda: mean_nfr_values([OLD]))
    assert "between 0 and 1, got 95" in refusal(lambda: nfr_interval(OLD, NEW, level=95))
    assert "resamples must be at least 1" in refusal(lambda: bootstrap_means(np.zeros((3, 1)), resamples=0))
    assert "shape [N, S], got [3]" in refusal(lambda: bootstrap_means(np.zeros(3)))
    assert "must be finite" in refusal(lambda: bootstrap_means(np.array([[np.nan]])))
    assert "must have the shape [B]" in refusal(lambda: interval(np.zeros((3, 1))))
    assert "groups must have the shape [3], got [2]" in refusal(
        lambda: bootstrap_means(np.zeros((3, 1)), np.zeros(2, dtype=np.int64))
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(0, 40))
def test_draws_of_an_indicator_are_rates(samples: int, ones: int) -> None:
    values = (np.arange(samples) < ones).astype(np.float64)[:, None]
    draws = bootstrap_means(values, resamples=50)
    assert ((draws >= 0) & (draws <= 1)).all()
    if ones >= samples:
        assert (draws == 1).all()
