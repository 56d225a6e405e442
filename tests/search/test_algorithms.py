"""Requirements on every algorithm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from random import Random

import pytest

from regnas.search import ALGORITHMS, Measures, Trial
from regnas.space import Budget, BudgetSampler, contains
from supernets.elastic_resnet import ElasticResNet
from tests.search.synthetic import play
from tests.space.toy import enumerate_space, sized_space, toy_space

SPACE = ElasticResNet().space((1, 16, 16), 10)
BUDGET = Budget(1_960_000, 2_040_000)
TOY = toy_space()
TOY_BUDGET = Budget(40, 50)


def small(name, size=6):
    """The algorithm with generations, and a start by chance, of this size."""
    kind = ALGORITHMS[name]
    sizes = {"population", "generation", "startup"} & {field.name for field in fields(kind)}
    return kind(**dict.fromkeys(sizes, size))


def telling(space):
    """Deep networks are good; flips are random, but fixed for each architecture."""

    def tell(architecture):
        measures = Measures(sum(architecture.depths) / 20, {"small": Random(architecture.id).random() / 10})
        macs = space.cost(architecture).macs
        return Trial(architecture, macs, measures, measures.top1 - measures.mean_nfr)

    return tell


@pytest.mark.parametrize("name", ALGORITHMS)
def test_candidates_are_inside_the_budget_and_never_repeat(name):
    told = play(small(name), SPACE, BUDGET, 24, telling(SPACE))
    assert len(told) == 24
    assert len({trial.architecture for trial in told}) == 24
    assert all(SPACE.cost(trial.architecture) in BUDGET for trial in told)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_generation_is_as_large_as_it_says(name):
    algorithm = ALGORITHMS[name]()
    assert len(algorithm.ask(SPACE, BUDGET, [], Random(0))) == algorithm.generation_size == 20


@pytest.mark.parametrize("name", ALGORITHMS)
def test_above_a_floor_every_candidate_contains_it(name):
    floor = BudgetSampler(SPACE, Budget(900_000, 1_000_000)).sample(Random(3))
    space = SPACE.above(floor)
    for trial in play(small(name), space, BUDGET, 18, telling(space)):
        space.check(trial.architecture)
        assert contains(trial.architecture, floor)
        assert space.cost(trial.architecture) in BUDGET


@pytest.mark.parametrize(
    "limits", [{"max_parameters": 9}, {"max_latency": 6.0}, {"max_parameters": 9, "max_latency": 6.0}]
)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_limits_beside_macs_hold(name, limits):
    budget = Budget(20, 60, **limits)
    told = play(small(name), TOY, budget, 18, telling(TOY))
    assert len(told) >= 18
    assert all(TOY.cost(trial.architecture) in budget for trial in told)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_budget_without_a_window_on_macs_will_do(name):
    budget = Budget.parse("<= 9 parameters")
    told = play(small(name), TOY, budget, 18, telling(TOY))
    assert len(told) >= 18
    assert all(TOY.cost(trial.architecture) in budget for trial in told)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_resolution_is_searched_too(name):
    space, budget = sized_space(), Budget(40, 90)
    told = play(small(name), space, budget, 30, telling(space))
    for trial in told:
        space.check(trial.architecture)
        assert space.cost(trial.architecture) in budget
    assert len({trial.architecture.resolution for trial in told[6:]}) > 1


@pytest.mark.parametrize("count", [0, 1, 9, 12])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_asking_again_gives_the_same_candidates_and_none_that_are_known(name, count):
    """Also with one candidate, or in the middle of a generation."""
    algorithm, sampler = small(name), BudgetSampler(SPACE, BUDGET)
    drawn = dict.fromkeys(sampler.sample(Random(index)) for index in range(2 * count))
    told = [telling(SPACE)(architecture) for architecture in list(drawn)[:count]]
    first, second = (algorithm.ask(SPACE, BUDGET, told, Random(9)) for _ in range(2))
    assert first == second
    assert len(set(first)) == 6
    assert not set(first) & {trial.architecture for trial in told}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_other_random_numbers_give_other_candidates(name):
    algorithm = small(name)
    told = play(algorithm, SPACE, BUDGET, 6, telling(SPACE))
    assert algorithm.ask(SPACE, BUDGET, told, Random(1)) != algorithm.ask(SPACE, BUDGET, told, Random(2))


SCRIPT = """
import json
from regnas.search import ALGORITHMS
from tests.search.test_algorithms import BUDGET, SPACE, play, small, telling
print(json.dumps({name: [trial.architecture.id for trial in play(small(name), SPACE, BUDGET, 12, telling(SPACE))]
                  for name in ALGORITHMS}))
"""


@pytest.mark.slow
def test_another_process_asks_for_the_same():
    """A search is resumed in a new process, where sets of names have another order."""
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", SCRIPT]
    output = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    there = json.loads(output.stdout)
    for name in ALGORITHMS:
        here = play(small(name), SPACE, BUDGET, 12, telling(SPACE))
        assert [trial.architecture.id for trial in here] == there[name]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_budget_with_few_architectures_is_searched_to_the_last_one(name):
    """A generation may give up a little early; the next one finds the rest, and then there is nothing more."""
    existing = {network for network in enumerate_space(TOY) if TOY.cost(network) in TOY_BUDGET}
    algorithm, told = small(name, 20), []
    for generation in range(8):
        asked = algorithm.ask(TOY, TOY_BUDGET, told, Random(generation))
        told += [telling(TOY)(architecture) for architecture in asked]
    assert {trial.architecture for trial in told} == existing
    assert len(told) == len(existing)
    assert algorithm.ask(TOY, TOY_BUDGET, told, Random(9)) == []


@pytest.mark.parametrize("name", ALGORITHMS)
def test_candidates_with_equal_rewards_are_accepted(name):
    algorithm, told = small(name), []
    for generation in range(3):
        asked = algorithm.ask(SPACE, BUDGET, told, Random(generation))
        told += [Trial(each, SPACE.cost(each).macs, Measures(0.5, {}), 0.5) for each in asked]
    assert len({trial.architecture for trial in told}) == 18


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("evolution", {"population": 0}),
        ("evolution", {"parents": 0.0}),
        ("evolution", {"mutated": 1.5}),
        ("random", {"generation": 0}),
        ("tpe", {"generation": 0}),
        ("tpe", {"startup": 0}),
        ("nsga2", {"population": 1}),
        ("predictor_guided", {"population": 0}),
        ("predictor_guided", {"pool": 19}),
        ("predictor_guided", {"startup": 1}),
        ("predictor_guided", {"explore": 1.1}),
    ],
)
def test_impossible_settings_are_refused(name, settings):
    with pytest.raises(ValueError, match=r"must be (at least|above|between)"):
        ALGORITHMS[name](**settings)
