from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.space import EvenSampler, contains
from regnas.training.shrinking import Progressive, WholeSpace
from regnas.training.sub_networks import Given, Nested, Sandwich
from supernets.elastic_resnet import ElasticResNet

SPACE = ElasticResNet(widths=((4, 8), (8, 16)), depths=(1, 2), stem_width=4).space((1, 8, 8), 3)
EVEN = EvenSampler(SPACE)


def draw(choice, seed):
    return choice.draw(SPACE, EVEN, Random(seed), lambda _: 0.0)


def costs(architectures):
    return [SPACE.cost(architecture).macs for architecture in architectures]


def test_the_sandwich_is_the_largest_the_smallest_and_random_ones_in_order():
    drawn = draw(Sandwich(random=3), 7)
    assert drawn[0] == SPACE.largest
    assert drawn[-1] == SPACE.smallest
    assert costs(drawn) == sorted(costs(drawn), reverse=True)
    assert len(drawn) == 5
    assert drawn == draw(Sandwich(random=3), 7)
    assert any(draw(Sandwich(random=3), seed) != drawn for seed in range(7))


def test_random_sub_networks_cover_the_whole_range_of_costs():
    low, high = SPACE.macs_range
    parts = [(cost - low) / (high - low) for seed in range(200) for cost in costs(draw(Sandwich(2), seed)[1:-1])]
    quarters = [sum(q <= 4 * part < q + 1 for part in parts) / len(parts) for q in range(4)]
    assert all(0.15 < share < 0.35 for share in quarters)


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_every_network_of_a_nested_chain_contains_the_next(seed, random, ends):
    if not ends:
        random += 1
    chain = draw(Nested(random, ends), seed)
    assert len(chain) == random + 2 * ends
    for larger, smaller in pairwise(chain):
        assert contains(larger, smaller)
    if ends:
        assert (chain[0], chain[-1]) == (SPACE.largest, SPACE.smallest)


def test_nested_chains_reach_all_sizes():
    low, high = SPACE.macs_range
    parts = [(cost - low) / (high - low) for seed in range(200) for cost in costs(draw(Nested(2), seed)[1:-1])]
    assert all(sum(q <= 4 * part < q + 1 for part in parts) > 0.1 * len(parts) for q in range(4))


def test_given_networks_are_always_the_same():
    assert draw(Given((SPACE.largest, SPACE.smallest)), 0) == [SPACE.largest, SPACE.smallest]


def test_a_chain_has_two_networks():
    with pytest.raises(ValueError, match="a chain of at least two networks"):
        Nested(random=1, ends=False)


def test_progressive_shrinking_frees_one_dimension_after_the_other():
    shrinking = Progressive(("depth", "expansion", "width"), until=0.6)
    shrinking.check(SPACE)
    progresses = (0.0, 0.19, 0.21, 0.39, 0.41, 0.59, 0.61, 0.99)
    assert [shrinking.phase(progress) for progress in progresses] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert shrinking.space(SPACE, 0).smallest == SPACE.largest  # nothing else is left
    largest = SPACE.largest
    for phase, fixed in ((1, ("expansion", "width")), (2, ("width",)), (3, ())):
        space = shrinking.space(SPACE, phase)
        sampler = EvenSampler(space)
        drawn = [sampler.sample(Random(seed)) for seed in range(60)]
        assert space.largest == largest
        assert len({architecture.depths for architecture in drawn}) == 4
        for gene in ("expansion", "width"):
            as_largest = all(
                dict(block.genes)[gene] == dict(largest.stages[stage][position].genes)[gene]
                for architecture in drawn
                for stage, position, block in architecture.blocks()
            )
            assert as_largest == (gene in fixed)
    assert WholeSpace().space(SPACE, 0) is SPACE


def test_an_order_that_leaves_a_dimension_out_is_refused():
    with pytest.raises(ValueError, match=r"all elastic dimensions \(depth, expansion, width\), got depth, kernel"):
        Progressive(("depth", "kernel")).check(SPACE)
    with pytest.raises(ValueError, match="each of them once"):
        Progressive(("depth", "depth"))
