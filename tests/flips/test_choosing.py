"""The rule of one standard error."""

from __future__ import annotations

import numpy as np
import pytest

from regnas.errors import ArtifactError
from regnas.flips.choosing import one_standard_error_choice


def indicators(samples: int, ones: int) -> np.ndarray:
    return (np.arange(samples) < ones).astype(np.float64)


def test_the_fewest_flips_among_the_eligible_win() -> None:
    # The third has no flips, but 50 further errors of 400 are 50 / sqrt(50) = 7 standard errors.
    untreated = indicators(400, 100)
    errors = [indicators(400, 100), indicators(400, 90), indicators(400, 150)]
    flips = [indicators(400, 8), indicators(400, 5), indicators(400, 0)]
    assert one_standard_error_choice(errors, flips, untreated, None) == 1


def test_errors_that_cancel_stay_within_one_standard_error() -> None:
    # 10 samples got worse and 8 better: mean difference 2 / 400, standard error sqrt(18) / 400 = 4.2 / 400.
    untreated = indicators(400, 100)
    changed = untreated.copy()
    changed[:8], changed[300:310] = 0, 1
    assert one_standard_error_choice([changed], [indicators(400, 3)], untreated, None) == 0
    # 12 worse and 2 better: difference 10 / 400, standard error sqrt(14) / 400 = 3.7 / 400.
    changed = untreated.copy()
    changed[:2], changed[300:312] = 0, 1
    assert one_standard_error_choice([changed], [indicators(400, 3)], untreated, None) is None


def test_clusters_are_the_units_of_the_standard_error() -> None:
    # 10 clusters of 10 samples. The first is worse as a whole (+10), the sixth better in 4 samples: difference 6.
    untreated, treated = np.zeros(100), indicators(100, 10)
    untreated[50:54] = 1
    groups = np.repeat(np.arange(10), 10)
    no_flips = [np.zeros(100)]
    assert one_standard_error_choice([treated], no_flips, untreated, groups) == 0  # 6 <= sqrt(100 + 16) = 10.8
    assert one_standard_error_choice([treated], no_flips, untreated, None) is None  # 6 > sqrt(10 + 4) = 3.7


def test_ties_go_to_the_lower_error_and_then_to_the_first() -> None:
    untreated = indicators(100, 30)
    flips = [indicators(100, 2)] * 3
    errors = [indicators(100, 30), indicators(100, 25), indicators(100, 25)]
    assert one_standard_error_choice(errors, flips, untreated, None) == 1


def test_candidates_without_flips_or_errors_are_refused() -> None:
    with pytest.raises(ArtifactError, match="got 1 and 2"):
        one_standard_error_choice([np.zeros(3)], [np.zeros(3), np.zeros(3)], np.zeros(3), None)
    assert one_standard_error_choice([], [], np.zeros(3), None) is None
