from __future__ import annotations

from random import Random

import numpy as np
import optuna

from regnas.search import ALGORITHMS, Measures, Trial
from regnas.search.algorithms.nsga2 import OBJECTIVES, _ToldGenerations
from regnas.space import Budget, BudgetSampler
from tests.search.synthetic import Problem, play
from tests.space.mobile import mobile_space

SPACE = mobile_space(2, 4)
LOW, HIGH = SPACE.macs_range
WHOLE = Budget(LOW, HIGH)


def test_the_first_generation_is_spread_over_a_wide_window():
    """One in each of twenty equal parts, where uniform draws would leave the ends empty."""

    def parts(networks):
        return sorted(int(20 * (SPACE.cost(network).macs - LOW) / (HIGH - LOW + 1)) for network in networks)

    sampler, random = BudgetSampler(SPACE, WHOLE), Random(0)
    assert len(set(parts(sampler.sample(random) for _ in range(20)))) < 15
    assert parts(ALGORITHMS["nsga2"]().ask(SPACE, WHOLE, [], Random(0))) == list(range(20))


def selected(points, generations):
    """The numbers of the parents after so many generations of 30."""
    sampler = _ToldGenerations(30, generations, seed=0)
    study = optuna.create_study(directions=OBJECTIVES, sampler=sampler)
    for values in points:
        study.add_trial(optuna.create_trial(values=list(values)))
    sampler.select_parents(study)
    return [trial.number for trial in sampler.get_parent_population(study, generations)]


def ranks_of(points):
    """By definition: again and again, take away what nothing that is left dominates."""
    ranks, rank = {}, 0
    while left := {index: point for index, point in points.items() if index not in ranks}:
        front = [
            index
            for index, (top1, nfr, macs) in left.items()
            if not any(
                other[0] >= top1 and other[1] <= nfr and other[2] <= macs and other != (top1, nfr, macs)
                for other in left.values()
            )
        ]
        ranks |= dict.fromkeys(front, rank)
        rank += 1
    return ranks


def test_parents_are_the_least_dominated_of_the_parents_before_and_their_children():
    random = Random(1)
    points = [(random.random(), random.random(), float(random.randrange(5))) for _ in range(100)]
    before = set()
    for generation in range(3):
        children = range(30 * generation, 30 * generation + 30)
        pool = before | set(children)
        parents = selected(points, generation + 1)
        ranks = ranks_of({index: points[index] for index in pool})
        assert len(set(parents)) == 30
        assert set(parents) <= pool
        dropped = [ranks[index] for index in pool - set(parents)]
        assert max(ranks[index] for index in parents) <= min(dropped, default=max(ranks.values()))
        assert parents == sorted(parents)
        before = set(parents)


def test_children_take_after_the_front_and_not_after_what_it_dominates():
    """Of two generations of the same size, one has mostly kernels of 3 and is better, the other kernels of 7."""
    sampler, random = BudgetSampler(SPACE, WHOLE), Random(0)

    def with_kernel(kernel, top1):
        while True:
            drawn = sampler.sample(random)
            kernels = [block["kernel"] for _, _, block in drawn.blocks()]
            if kernels.count(kernel) > len(kernels) / 2:
                return Trial(drawn, 50_000_000, Measures(top1, {}), top1)

    told = [with_kernel(3, 0.9) for _ in range(20)] + [with_kernel(7, 0.1) for _ in range(20)]
    children = ALGORITHMS["nsga2"](population=20).ask(SPACE, WHOLE, told, Random(5))
    kernels = [block["kernel"] for child in children for _, _, block in child.blocks()]
    assert kernels.count(3) > 2 * kernels.count(7)


def test_one_run_over_all_sizes_gives_a_better_front_than_chance():
    """The best reward up to a size, on average over sizes: 60 candidates each, six problems."""

    def front(told):
        sizes = np.linspace(LOW, HIGH, 40)[4:]
        return np.mean([max([trial.reward for trial in told if trial.macs <= size], default=0.4) for size in sizes])

    gains = []
    for seed in range(6):
        problem = Problem(SPACE, WHOLE, seed)
        searched, drawn = (
            front(play(ALGORITHMS[name](), SPACE, WHOLE, 60, problem.trial, seed)) for name in ("nsga2", "random")
        )
        gains.append(searched - drawn)
    assert np.mean(gains) > 4 * np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert min(gains) > 0
