from __future__ import annotations

from random import Random

import numpy as np
from scipy.stats import spearmanr

from regnas.search import ALGORITHMS, Evolution, Measures, Trial
from regnas.search.algorithms.surrogate import RewardSurrogate
from regnas.space import Budget, BudgetSampler
from tests.search.synthetic import Problem
from tests.space.mobile import mobile_space

SPACE = mobile_space()
BUDGET = Budget.parse("60M +- 2 %")


def draws(count, seed):
    sampler, random = BudgetSampler(SPACE, BUDGET), Random(seed)
    return [sampler.sample(random) for _ in range(count)]


def fives(architecture):
    """The share of kernels that are 5: no line through 3, 5 and 7 has that."""
    return float(np.mean([block["kernel"] == 5 for _, _, block in architecture.blocks()]))


def told_fives(count, seed):
    return [Trial(each, SPACE.cost(each).macs, Measures(fives(each), {}), fives(each)) for each in draws(count, seed)]


def test_the_surrogate_ranks_candidates_that_it_has_not_seen():
    """Effects, pairs and noise as in a search: two hundred candidates of a space with 45 genes."""
    correlations = []
    for seed in range(2):
        problem = Problem(SPACE, BUDGET, seed)
        surrogate = RewardSurrogate(SPACE, [problem.trial(each) for each in draws(200, 100 + seed)])
        new = draws(200, 200 + seed)
        correlations.append(spearmanr(surrogate.predict(new), [problem.trial(each).reward for each in new]).statistic)
    assert np.mean(correlations) > 0.6


def test_the_surrogate_learns_an_effect_that_does_not_grow_along_a_gene():
    new = draws(200, 1)
    predicted = RewardSurrogate(SPACE, told_fives(200, 0)).predict(new)
    assert spearmanr(predicted, [fives(each) for each in new]).statistic > 0.9


def test_the_surrogate_learns_the_effect_of_multiply_adds():
    """In a wide window, with a reward that is nothing but the size."""
    sampler, random = BudgetSampler(SPACE, Budget(0, SPACE.macs_range[1])), Random(0)
    networks = [sampler.sample(random) for _ in range(80)]
    sizes = [SPACE.cost(each).macs for each in networks]
    told = [Trial(each, size, Measures(0.0, {}), size / 1e8) for each, size in zip(networks, sizes, strict=True)]
    assert spearmanr(RewardSurrogate(SPACE, told[:40]).predict(networks[40:]), sizes[40:]).statistic > 0.95


def test_what_the_predictor_chooses_is_better_than_what_evolution_breeds_from_the_same():
    told = told_fives(60, 0)
    chosen = ALGORITHMS["predictor_guided"](explore=0.0, pool=400).ask(SPACE, BUDGET, told, Random(1))
    bred = Evolution().ask(SPACE, BUDGET, told, Random(1))
    assert np.mean([fives(each) for each in chosen]) > np.quantile([fives(each) for each in bred], 0.9)


def test_the_share_that_explores_is_not_ranked():
    """A generation that only explores is not better than one of evolution."""
    told = told_fives(60, 0)
    ranked, explored = (
        np.mean(
            [
                fives(each)
                for each in ALGORITHMS["predictor_guided"](explore=share, pool=400).ask(SPACE, BUDGET, told, Random(1))
            ]
        )
        for share in (0.0, 1.0)
    )
    bred = [fives(each) for each in Evolution().ask(SPACE, BUDGET, told, Random(1))]
    assert explored < np.mean(bred) + 2 * np.std(bred) / np.sqrt(20) < ranked


def test_until_it_has_enough_candidates_it_draws_by_chance():
    told = told_fives(5, 0)
    assert ALGORITHMS["predictor_guided"](startup=6).ask(SPACE, BUDGET, told, Random(3)) == ALGORITHMS["random"]().ask(
        SPACE, BUDGET, told, Random(3)
    )


def test_more_generations_on_the_predictor_find_what_it_ranks_higher():
    """With as many networks ranked, generations that build on each other reach further than one."""
    told = told_fives(60, 0)
    surrogate = RewardSurrogate(SPACE, told)
    at_once, evolved = (
        ALGORITHMS["predictor_guided"](explore=0.0, pool=pool, generations=generations).ask(
            SPACE, BUDGET, told, Random(1)
        )
        for pool, generations in ((400, 1), (40, 10))
    )
    assert len(set(evolved)) == 20
    assert not set(evolved) & {trial.architecture for trial in told}
    assert all(SPACE.cost(each) in BUDGET for each in evolved)
    assert surrogate.predict(evolved).mean() > surrogate.predict(at_once).mean()


def test_the_surrogate_ranks_by_the_predicted_violation_first():
    """Fives are good, and half of them are too many: of the unseen, those that are feasible come first."""
    drawn, new = draws(200, 0), draws(200, 1)
    told = [Trial(each, 1, Measures(fives(each), {}), fives(each), excess=fives(each) - 0.3) for each in drawn]
    standings = RewardSurrogate(SPACE, told).standings(new)
    feasible = np.array([fives(each) <= 0.3 for each in new])
    assert np.mean((np.array([violation for violation, _ in standings]) == 0) == feasible) > 0.85
    unlimited = RewardSurrogate(SPACE, [Trial(each, 1, Measures(0, {}), fives(each)) for each in drawn])
    assert all(violation == 0 for violation, _ in unlimited.standings(new))
