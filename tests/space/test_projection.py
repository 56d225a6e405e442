from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.errors import BudgetInfeasible
from regnas.space import Architecture, Block, Budget, BudgetSampler, Projection, gene_choices, projection
from tests.space.mobile import mobile_space
from tests.space.toy import enumerate_space, sized_space, toy_space

SIZED = sized_space()
ALL = enumerate_space(SIZED)
CHOICES = gene_choices(SIZED)
LOW, HIGH = SIZED.macs_range

windows = st.tuples(st.integers(LOW, HIGH), st.integers(LOW, HIGH)).map(sorted)
limits = st.tuples(st.none() | st.integers(4, 16), st.none() | st.integers(1, 12).map(float))
budgets = st.tuples(windows, limits).map(lambda parts: Budget(*parts[0], *parts[1]))
suggestions = st.fixed_dictionaries({gene: st.sampled_from(values) for gene, values in CHOICES.items()})


def distance(network, wanted):
    """Count the genes that differ from the wanted ones, and the genes of wanted blocks that the network lacks."""
    own = network.genes()
    missing = [
        gene
        for gene in wanted.keys() - own.keys()
        if ".block" in gene and int(gene.split(".block")[1][0]) <= wanted.get(f"{gene.split('.')[0]}.depth", 0)
    ]
    return sum(wanted.get(gene, value) != value for gene, value in own.items()) + len(missing)


@given(budgets, suggestions, st.sampled_from([2, 5, 1 << 10]), st.integers(0, 2**32))
def test_nothing_inside_the_budget_is_nearer_by_an_exhaustive_look(budget, wanted, bins, seed):
    """Also if bins are so coarse that they hardly distinguish costs."""
    inside = [network for network in ALL if SIZED.cost(network) in budget]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "MOST_BINS", bins)
        near = Projection(SIZED, budget)
        if inside:
            found = near.nearest(wanted, Random(seed))
            assert found in inside
            assert distance(found, wanted) == min(distance(network, wanted) for network in inside)
        else:
            with pytest.raises(BudgetInfeasible, match="no architecture takes"):
                near.nearest(wanted, Random(seed))


@given(suggestions, st.sets(st.sampled_from(list(CHOICES))), st.integers(0, 2**32))
def test_what_is_not_named_may_be_anything(wanted, unnamed, seed):
    named = {gene: value for gene, value in wanted.items() if gene not in unnamed}
    budget = Budget(40, 60)
    found = Projection(SIZED, budget).nearest(named, Random(seed))
    assert distance(found, named) == min(distance(each, named) for each in ALL if SIZED.cost(each) in budget)


@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_what_is_inside_stays_as_it_is(network, seed):
    macs = SIZED.cost(network).macs
    assert Projection(SIZED, Budget(macs - 3, macs + 3)).nearest(network.genes(), Random(seed)) == network


def test_a_worked_example():
    """Two blocks of width 2 and k 3 in the first stage of the toy and none in the second.

    The stem costs 10, the blocks 1 * 2 * 3 and 2 * 2 * 3, the head 2: 30 in all. For 22 a single gene has to change,
    the second k to 1: 8 less. Without the second block it would be 18.
    """
    space, block = toy_space(), Block.of(width=2, k=3)
    whole = Architecture("toy", ((block, block), ()))
    assert space.cost(whole).macs == 30
    found = Projection(space, Budget(22, 22)).nearest(whole.genes(), Random(0))
    assert found == Architecture("toy", ((block, Block.of(width=2, k=1)), ()))


def test_networks_come_out_as_deep_as_they_are_wanted():
    """In a window around what suggestions by chance cost in the middle, neither more nor fewer blocks help."""
    space, random = mobile_space(2, 4), Random(0)
    choices = gene_choices(space)
    wanted = [{gene: random.choice(values) for gene, values in choices.items()} for _ in range(100)]
    middle = statistics.median(space.cost(network_of(space, each)).macs for each in wanted)
    near = Projection(space, Budget(int(0.98 * middle), int(1.02 * middle)))
    asked = [each["stage1.depth"] + each["stage2.depth"] for each in wanted]
    found = [sum(near.nearest(each, random).depths) for each in wanted]
    assert statistics.mean(found) == pytest.approx(statistics.mean(asked), abs=0.6)


def network_of(space, wanted):
    return Architecture(
        space.name,
        tuple(
            tuple(
                Block.of(**{name: wanted[f"stage{stage}.block{block}.{name}"] for name in ("kernel", "expansion")})
                for block in range(1, wanted[f"stage{stage}.depth"] + 1)
            )
            for stage in (1, 2)
        ),
    )


def test_equals_are_chosen_by_chance():
    space, budget = toy_space(), Budget(40, 60)
    networks = [network for network in enumerate_space(space) if space.cost(network) in budget]
    wanted = {gene: values[-1] for gene, values in gene_choices(space).items()}
    fewest = min(distance(network, wanted) for network in networks)
    equals = {network for network in networks if distance(network, wanted) == fewest}
    assert len(equals) > 2
    near = Projection(space, budget)
    counts = Counter(near.nearest(wanted, Random(seed)) for seed in range(200))
    assert set(counts) == equals
    assert near.nearest(wanted, Random(7)) == near.nearest(wanted, Random(7))


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_a_narrow_space_is_not_left(seed):
    random = Random(seed)
    floor = random.choice(ALL)
    space = SIZED.above(floor)
    wanted = {gene: random.choice(values) for gene, values in CHOICES.items()}
    space.check(Projection(space, Budget(SIZED.cost(floor).macs, HIGH)).nearest(wanted, random))


@pytest.mark.parametrize("quantile", [0.02, 0.2, 0.5])
def test_tight_limits_on_a_large_space_are_met_after_a_few_hundred_places(monkeypatch, quantile):
    """The bound on what a beginning needs is what keeps the walk from trying all that cannot be completed."""
    monkeypatch.setattr(projection, "MOST_PLACES", 1000)
    space, random = mobile_space(), Random(0)
    budget = Budget.parse("60M +- 2 %")
    sampler = BudgetSampler(space, budget)
    costs = [space.cost(sampler.sample(random)) for _ in range(50)]
    latency = sorted(cost.latency for cost in costs)[int(50 * quantile)]
    tight = replace(budget, max_latency=latency)
    near, choices = Projection(space, tight), gene_choices(space)
    for _ in range(5):
        found = near.nearest({gene: random.choice(values) for gene, values in choices.items()}, random)
        assert space.cost(found) in tight
