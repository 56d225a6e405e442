"""An algorithm that uses earlier results must find more than random search."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from regnas.search import ALGORITHMS
from regnas.space import Budget
from tests.search.synthetic import Problem, play
from tests.space.mobile import mobile_space

pytestmark = pytest.mark.slow

SPACE = mobile_space(2, 3)
BUDGET = Budget.parse("40M +- 2 %")  # 50,000 architectures
CANDIDATES = 100
PROBLEMS = [Problem(SPACE, BUDGET, seed) for seed in range(10)]


@cache
def best_rewards(algorithm):
    return np.array(
        [
            max(trial.reward for trial in play(algorithm, SPACE, BUDGET, CANDIDATES, problem.trial, seed))
            for seed, problem in enumerate(PROBLEMS)
        ]
    )


PREDICTOR = ALGORITHMS["predictor_guided"](pool=400)


@pytest.mark.parametrize("algorithm", [ALGORITHMS["evolution"](), ALGORITHMS["tpe"](), PREDICTOR])
def test_guided_search_beats_chance(algorithm):
    """On average over ten problems, by more than twice the standard error; NSGA-II looks for fronts, not for this."""
    gains = best_rewards(algorithm) - best_rewards(ALGORITHMS["random"]())
    assert gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains))
    assert (gains > 0).sum() >= 7


def test_the_predictor_finds_more_than_evolution_alone():
    assert (best_rewards(PREDICTOR) - best_rewards(ALGORITHMS["evolution"]())).mean() > 0
