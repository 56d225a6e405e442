from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from regnas.search import ALGORITHMS, Evolution
from regnas.space import Architecture, Budget, BudgetSampler
from supernets.elastic_resnet import ElasticResNet
from tests.space.toy import enumerate_space, toy_space

SPACE = ElasticResNet().space((1, 16, 16), 10)
BUDGET = Budget(1_960_000, 2_040_000)


@dataclass(frozen=True)
class Told:
    architecture: Architecture
    reward: float


def play(algorithm, space, budget, generations, reward):
    told = []
    for generation in range(generations):
        asked = algorithm.ask(space, budget, told, Random(generation))
        told += [Told(architecture, reward(architecture)) for architecture in asked]
    return told


def depth_of(architecture):
    return float(sum(architecture.depths))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_candidates_are_inside_the_budget_and_never_repeat(name):
    algorithm = ALGORITHMS[name]()
    told = play(algorithm, SPACE, BUDGET, 6, depth_of)
    assert len(told) == 6 * algorithm.generation_size
    assert len({trial.architecture for trial in told}) == len(told)
    assert all(SPACE.cost(trial.architecture) in BUDGET for trial in told)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_asking_again_gives_the_same(name):
    algorithm = ALGORITHMS[name]()
    told = play(algorithm, SPACE, BUDGET, 2, depth_of)
    first, second = (algorithm.ask(SPACE, BUDGET, told, Random(9)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_budget_with_few_architectures_is_searched_to_the_last_one(name):
    space = toy_space()
    budget = Budget(40, 50)
    existing = {network for network in enumerate_space(space) if space.cost(network) in budget}
    told = play(ALGORITHMS[name](), space, budget, 8, depth_of)
    assert {trial.architecture for trial in told} == existing
    assert len(told) == len(existing)


def test_evolution_finds_more_than_chance():
    """Deep networks are rare in this window; evolution has to climb to them."""
    evolved = play(Evolution(population=20), SPACE, BUDGET, 10, depth_of)
    sampler, random = BudgetSampler(SPACE, BUDGET), Random(0)
    by_chance = [depth_of(sampler.sample(random)) for _ in range(200)]
    assert sum(trial.reward for trial in evolved[-20:]) / 20 > sum(by_chance) / 200 + 0.5


def test_children_resemble_their_parents():
    """With one parent family, a mutated child keeps most of its parent's blocks."""
    sampler, random = BudgetSampler(SPACE, BUDGET), Random(0)
    told = [Told(sampler.sample(random), 1.0 if index == 0 else 0.0) for index in range(2)]
    children = Evolution(population=30, parents=0.01, mutated=1.0, mutation_probability=0.1).ask(
        SPACE, BUDGET, told, Random(1)
    )

    def shared(one, other):
        pairs = [(block, other.stages[stage][position : position + 1]) for stage, position, block in one.blocks()]
        return sum((block,) == there for block, there in pairs) / len(pairs)

    likeness = [max(shared(child, trial.architecture) for trial in told) for child in children]
    assert sum(likeness) / len(likeness) > 0.6


@pytest.mark.parametrize("settings", [{"population": 0}, {"parents": 0.0}, {"mutated": 1.5}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        Evolution(**settings)
