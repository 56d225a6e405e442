from __future__ import annotations

import hashlib
from dataclasses import replace
from random import Random

import pytest

from regnas.search import Evolution, Measures, RandomSearch, Trial
from regnas.space import Budget, BudgetSampler
from supernets.elastic_resnet import ElasticResNet
from tests.space.toy import enumerate_space, sized_space

SPACE = ElasticResNet().space((1, 16, 16), 10)
BUDGET = Budget(1_960_000, 2_040_000)


def told_of(space, architecture, reward):
    return Trial(architecture, space.cost(architecture).macs, Measures(reward, {}), reward)


def play(algorithm, generations, reward):
    told = []
    for generation in range(generations):
        asked = algorithm.ask(SPACE, BUDGET, told, Random(generation))
        told += [told_of(SPACE, architecture, reward(architecture)) for architecture in asked]
    return told


def depth_of(architecture):
    return float(sum(architecture.depths))


@pytest.mark.parametrize(
    ("algorithm", "digest"), [(Evolution(), "cc24a7fdb652eb65"), (RandomSearch(), "e478d3a8973b942b")]
)
def test_the_draws_of_earlier_versions_are_drawn_again(algorithm, digest):
    """A search that an earlier version began goes on with the same candidates."""
    told = play(algorithm, 4, lambda architecture: int(architecture.id, 16) % 1000 / 1000 + depth_of(architecture))
    assert hashlib.sha256(" ".join(trial.architecture.id for trial in told).encode()).hexdigest()[:16] == digest


def test_evolution_finds_more_than_chance():
    """Deep networks are rare in this window; evolution has to climb to them."""
    evolved = play(Evolution(population=20), 10, depth_of)
    sampler, random = BudgetSampler(SPACE, BUDGET), Random(0)
    by_chance = [depth_of(sampler.sample(random)) for _ in range(200)]
    assert sum(trial.reward for trial in evolved[-20:]) / 20 > sum(by_chance) / 200 + 0.5


def test_children_resemble_their_parents():
    """With one parent family, a mutated child keeps most of its parent's blocks."""
    sampler, random = BudgetSampler(SPACE, BUDGET), Random(0)
    told = [told_of(SPACE, sampler.sample(random), 1.0 if index == 0 else 0.0) for index in range(2)]
    children = Evolution(population=30, parents=0.01, mutated=1.0, mutation_probability=0.1).ask(
        SPACE, BUDGET, told, Random(1)
    )

    def shared(one, other):
        pairs = [(block, other.stages[stage][position : position + 1]) for stage, position, block in one.blocks()]
        return sum((block,) == there for block, there in pairs) / len(pairs)

    likeness = [max(shared(child, trial.architecture) for trial in told) for child in children]
    assert sum(likeness) / len(likeness) > 0.6


def test_a_mutation_can_change_the_resolution():
    """If all parents have one resolution, children get other resolutions by mutation, not by mixing."""
    space, budget = sized_space(), Budget(30, 200)
    inside = [network for network in enumerate_space(space) if space.cost(network) in budget]
    parents = Random(0).sample([network for network in inside if network.resolution == 2], 8)
    told = [told_of(space, network, depth_of(network)) for network in parents]
    mutated = Evolution(population=20, mutated=1.0).ask(space, budget, told, Random(1))
    assert {child.resolution for child in mutated} == {1, 2, 3}
    mixing = Evolution(mutated=1e-9)
    assert all(mixing.offspring(space, parents, Random(seed)).space(space).resolutions == (2,) for seed in range(50))


def test_if_all_near_children_are_known_the_neighborhood_grows():
    """One changed block is all that chance gives here, and all such children of the two parents are known."""
    parent = BudgetSampler(SPACE, BUDGET).sample(Random(4))
    parents = [parent, next(filter(SPACE.holds, one_block_changed(SPACE, parent)))]
    near = {child for one in parents for child in one_block_changed(SPACE, one) if SPACE.holds(child)}
    told = [told_of(SPACE, child, float(child in parents)) for child in near | {parent}]
    evolution = Evolution(population=10, parents=0.01, mutated=1.0, mutation_probability=1e-9)
    children = evolution.ask(SPACE, Budget(*SPACE.macs_range), told, Random(0))
    assert len(children) == 10
    changed = [min(differences(child, one) for one in parents) for child in children]
    assert all(2 <= count <= 5 for count in changed)
    assert sum(changed) / len(changed) < 3


def one_block_changed(space, parent):
    for stage, position, own in parent.blocks():
        for block in space.stages[stage].options[position]:
            if block != own:
                blocks = list(parent.stages[stage])
                blocks[position] = block
                yield replace(parent, stages=(*parent.stages[:stage], tuple(blocks), *parent.stages[stage + 1 :]))


def differences(one, other):
    """Blocks that differ, between architectures of the same depths."""
    assert one.depths == other.depths
    return sum(a != b for a, b in zip(one.blocks(), other.blocks(), strict=True))


def test_the_resolution_mutates_with_its_own_probability():
    space = sized_space()
    parent = next(network for network in enumerate_space(space) if network.resolution == 2)

    def share(**settings):
        random = Random(0)
        return sum(Evolution(**settings).mutated_at(space, parent, random).resolution for _ in range(2000)) / 2000

    assert share(mutation_probability=0.1) == pytest.approx(0.1, abs=0.03)
    assert share(mutation_probability=0.1, resolution_probability=0.5) == pytest.approx(0.5, abs=0.04)
    assert share(mutation_probability=0.1, resolution_probability=0.0) == 0
