from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.space import Architecture, Block, Cost, contains
from tests.space.toy import enumerate_space, toy_space

SPACE = toy_space()
ALL = enumerate_space(SPACE)
architectures = st.sampled_from(ALL)


def test_cost_by_hand():
    # stem 10; stage 1: 1*2*3*1 = 6, then 2*3*1*1 = 6; stage 2: 3*4*1*2 = 24; head 4
    network = Architecture(
        "toy",
        ((Block.of(width=2, k=3), Block.of(width=3, k=1)), (Block.of(width=4, k=1),)),
    )
    assert SPACE.cost(network) == Cost(10 + 6 + 6 + 24 + 4, 1 + 2 + 3 + 4 + 2, 5.0)


def test_smallest_and_largest_are_those_of_an_exhaustive_look():
    costs = [SPACE.cost(network).macs for network in ALL]
    assert SPACE.macs_range == (min(costs), max(costs))


@given(architectures)
def test_above_is_exactly_what_contains_the_floor(floor):
    assert set(enumerate_space(SPACE.above(floor))) == {network for network in ALL if contains(network, floor)}


@given(architectures)
def test_below_is_exactly_what_the_ceiling_contains(ceiling):
    assert set(enumerate_space(SPACE.below(ceiling))) == {network for network in ALL if contains(ceiling, network)}


@given(architectures, architectures)
def test_above_and_below_compose(a, b):
    between = set(enumerate_space(SPACE.above(a).below(b)))
    assert between == {network for network in ALL if contains(network, a) and contains(b, network)}


@given(architectures)
def test_the_smallest_network_above_a_floor_is_the_floor(floor):
    assert SPACE.above(floor).smallest == floor
    assert SPACE.below(floor).largest == floor


@given(architectures)
def test_nothing_free_leaves_the_parent_alone(parent):
    assert enumerate_space(SPACE.around(parent, [], [])) == [parent]


def test_one_free_block_varies_that_block_only():
    parent = Architecture("toy", ((Block.of(width=1, k=1),), (Block.of(width=4, k=3),)))
    found = enumerate_space(SPACE.around(parent, [(0, 0)], []))
    assert {network.stages[0][0] for network in found} == set(SPACE.stages[0].options[0])
    assert {network.stages[1] for network in found} == {parent.stages[1]}


@given(architectures, architectures)
def test_children_take_every_block_from_a_parent_and_may_be_either(mother, father):
    children = enumerate_space(SPACE.mixing(mother, father))
    assert mother in children
    assert father in children
    for child in children:
        for stage, position, block in child.blocks():
            parents = [parent.stages[stage][position : position + 1] for parent in (mother, father)]
            assert (block,) in parents


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        (Architecture("other", ALL[0].stages), 'the space of the architecture must be "toy", got "other"'),
        (Architecture("toy", ALL[0].stages[:1]), "toy must have 2 stages, got 1"),
        (Architecture("toy", ((), ())), "stage 1 of toy must have 1 to 2 blocks, got 0"),
        (Architecture("toy", ((Block.of(width=9, k=1),), ())), r"block 1 of stage 1 \(k=1,width=9\) is not a choice"),
        (
            Architecture("toy", ((Block.of(width=2, k=1), Block.of(width=1, k=1)), ())),
            "block 2 of stage 1 .* is not allowed there",
        ),
    ],
)
def test_what_is_not_of_the_space_is_refused_with_the_place(network, problem):
    with pytest.raises(ArtifactError, match=problem):
        SPACE.check(network)


@given(architectures)
def test_what_is_of_the_space_passes(network):
    SPACE.check(network)
