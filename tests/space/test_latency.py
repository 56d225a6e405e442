from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.space import (
    Additivity,
    Architecture,
    Block,
    Budget,
    BudgetSampler,
    Conditions,
    Cost,
    LatencyTable,
    SearchSpace,
    Stage,
    covering,
    latency_range,
    part_keys,
    with_latencies,
)
from tests.space.toy import ToyRules, enumerate_space, sized_space, toy_space

CONDITIONS = Conditions("toy", (1, 2, 3), 2, 1, {"device": "cpu", "threads": 1, "versions": {"torch": "2"}})
SOURCE = Path("mine-latency.json")


def table_of(space, milliseconds, scale=1.0):
    """A table with an entry for every part of every architecture, by brute force."""
    keys = dict.fromkeys(key for network in enumerate_space(space) for key in part_keys(space, network))
    return LatencyTable(CONDITIONS, {key: milliseconds(key) for key in keys}, Additivity(12, scale, 0.02, 0.9))


def uneven(key):
    """A number that is different for nearly every part."""
    return 0.1 + (sum(key.encode()) % 97) * math.pi / 100


def edges_of(space):
    """Every (resolution, stage, position, block, state before) and (resolution, state at the end), by brute force."""
    found = set()
    for network in enumerate_space(space):
        state, _ = space.rules.start(network.resolution)
        for stage, position, block in network.blocks():
            found.add((stage, position, block, state))
            state, _ = space.rules.step(state, stage, position, block)
        found |= {("start", network.resolution), ("end", state)}
    return found


def test_the_latency_of_a_network_is_the_scaled_sum_of_its_entries():
    entries = {
        "('start', None, 10, 1)": 1.0,
        "('block', 0, 0, (('k', 3), ('width', 2)), (1, 1), 6, 2)": 0.5,
        "('block', 1, 0, (('k', 1), ('width', 4)), (1, 2), 16, 4)": 0.25,
        "('finish', (1, 4), 4, 2)": 0.125,
    }
    space = with_latencies(toy_space(), LatencyTable(CONDITIONS, entries, Additivity(12, 2.0, 0.02, 0.9)))
    network = Architecture("toy", ((Block.of(width=2, k=3),), (Block.of(width=4, k=1),)))
    assert space.cost(network) == Cost(36, 9, 2 * (1.0 + 0.5 + 0.25 + 0.125))
    assert space.rules.step((1, 2), 1, 0, Block.of(width=1, k=1)) is None  # what may not follow still may not


def test_all_but_the_latency_stays_as_it_was():
    plain = sized_space()
    space = with_latencies(plain, table_of(plain, uneven))
    for network in enumerate_space(plain):
        assert space.cost(network)[:2] == plain.cost(network)[:2]
        assert space.cost(network).latency == pytest.approx(sum(uneven(key) for key in part_keys(plain, network)))
    assert (space.smallest, space.largest) == (plain.smallest, plain.largest)


TIMED = with_latencies(sized_space(), table_of(sized_space(), uneven, scale=1.5))
ALL = {network: TIMED.cost(network) for network in enumerate_space(TIMED)}


def test_the_range_goes_from_the_quickest_to_the_slowest_of_all():
    latencies = [cost.latency for cost in ALL.values()]
    assert latency_range(TIMED) == pytest.approx((min(latencies), max(latencies)))


@given(st.floats(1.0, 30.0), st.integers(10, 200), st.integers(0, 2**32))
def test_draws_stay_below_the_milliseconds_and_inside_the_window(limit, low, seed):
    budget = Budget(low, 2 * low, max_latency=limit)
    inside = [network for network, cost in ALL.items() if cost in budget]
    sampler = BudgetSampler(TIMED, budget)
    assert sampler.count >= len(inside)
    if inside:
        assert sampler.sample(Random(seed)) in inside


def test_a_limit_on_milliseconds_alone_leaves_all_that_is_quick_enough_to_be_drawn():
    space = with_latencies(toy_space(), table_of(toy_space(), uneven))
    inside = {network for network in enumerate_space(space) if space.cost(network).latency <= 5}
    assert 10 < len(inside) < 50
    random = Random(5)
    sampler = BudgetSampler(space, Budget.parse("<= 5 ms"))
    assert {sampler.sample(random) for _ in range(15 * len(inside))} == inside


@pytest.mark.parametrize(("space", "fewest"), [(toy_space(), 12), (sized_space(), 36)], ids=["toy", "sized"])
def test_a_covering_has_every_part_of_the_space_in_few_architectures(space, fewest):
    """In one place ten blocks can stand, and two states can end a network only without it: twelve at least."""
    networks = covering(space)
    assert set(networks) <= set(enumerate_space(space))
    everything = {key for network in enumerate_space(space) for key in part_keys(space, network)}
    assert {key for network in networks for key in part_keys(space, network)} == everything
    assert fewest <= len(networks) < 1.1 * fewest


def test_a_covering_has_every_edge_and_no_redundant_network():
    space = sized_space()
    networks = covering(space)
    taken = set()
    for network in networks:
        state, _ = space.rules.start(network.resolution)
        before = len(taken)
        taken.add(("start", network.resolution))
        for stage, position, block in network.blocks():
            taken.add((stage, position, block, state))
            state, _ = space.rules.step(state, stage, position, block)
        taken.add(("end", state))
        assert len(taken) > before
    assert taken == edges_of(space)


class Unsized(ToyRules):
    """Resolutions that are not part of the state."""

    def start(self, resolution):
        return (1, 1), Cost(10 * resolution, 1)


def test_resolutions_that_leave_the_same_state_share_its_parts():
    space = replace(sized_space(), rules=Unsized())
    networks = covering(space)
    assert {network.resolution for network in networks} == {1, 2, 3}
    assert len(networks) == len(covering(toy_space())) + 2
    timed = with_latencies(space, table_of(space, uneven))
    latencies = [timed.cost(network).latency for network in enumerate_space(space)]
    assert latency_range(timed) == pytest.approx((min(latencies), max(latencies)))


class Blocking(ToyRules):
    """Nothing may follow a block of width 2."""

    def step(self, state, stage, position, block):
        return None if state[1] == 2 else super().step(state, stage, position, block)


def test_ways_that_lead_nowhere_are_left_out():
    options = tuple(Block.of(width=width, k=1) for width in (1, 2))
    space = SearchSpace("toy", (Stage(1, (options,)), Stage(1, (options,))), Blocking())
    for network in covering(space):
        space.check(network)
    assert {network.stages[0][0]["width"] for network in covering(space)} == {1}


def test_json_and_back_is_the_same_table(tmp_path):
    table = table_of(sized_space(), uneven, scale=1.03)
    assert LatencyTable.from_json(json.loads(json.dumps(table.to_json())), SOURCE) == table
    table.save(tmp_path / "a.json")
    assert LatencyTable.load(tmp_path / "a.json") == table


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda value: [], "must be a latency table, got no JSON object"),
        (lambda value: {"members": []}, "lacks format, conditions, additivity, entries"),
        (lambda value: value | {"format": 2}, "must have format 1, got 2"),
        (lambda value: value | {"entries": [1.0]}, "must be a latency table"),
        (lambda value: value | {"entries": {"a": "long"}}, "must be a latency table"),
        (lambda value: value | {"entries": {"a": -1.0}}, "the part a must be finite and 0 or above, got -1.0 ms"),
        (lambda value: value | {"entries": {"a": math.nan}}, "the part a must be finite and 0 or above, got nan ms"),
        (lambda value: value | {"entries": {"a": math.inf}}, "the part a must be finite and 0 or above, got inf ms"),
        (lambda value: value | {"conditions": {"space": "toy"}}, "must be a latency table"),
        (
            lambda value: value | {"conditions": value["conditions"] | {"input_shape": [1, 2]}},
            "must be a latency table",
        ),
        (lambda value: value | {"additivity": {"scale": 1.0}}, "must be a latency table"),
        (lambda value: value | {"additivity": value["additivity"] | {"scale": 0.0}}, "must be positive, got 0.0"),
        (lambda value: value | {"additivity": value["additivity"] | {"scale": "x"}}, "must be a latency table"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused_in_one_line(change, problem):
    value = json.loads(json.dumps(table_of(toy_space(), uneven).to_json()))
    with pytest.raises(ArtifactError, match=r"mine-latency\.json") as refusal:
        LatencyTable.from_json(change(value), SOURCE)
    assert problem in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "shape", "classes", "problem"),
    [
        ("other", (1, 2, 3), 2, "measured for the space toy, not other"),
        ("toy", (1, 2, 2), 2, r"measured for images of \(1, 2, 3\), not \(1, 2, 2\)"),
        ("toy", (1, 2, 3), 3, "measured for 2 classes, not 3"),
    ],
)
def test_a_table_for_something_else_is_refused(name, shape, classes, problem):
    table = table_of(toy_space(), uneven)
    table.require(toy_space(), (1, 2, 3), 2, SOURCE)
    with pytest.raises(ArtifactError, match=problem):
        table.require(replace(toy_space(), name=name), shape, classes, SOURCE)


def test_whole_networks_that_take_far_longer_than_their_parts_show_a_busy_machine():
    assert str(Additivity(12, 1.02, 0.0123, 0.958)) == (
        "sums of parts, multiplied by 1.020, against 12 whole networks: median error 1.2 %, rank correlation 0.958"
    )
    assert "the machine was busy" in str(Additivity(12, 2.2, 0.07, None))


def test_a_configuration_whose_parts_cost_something_else_is_not_in_the_table():
    """The same states and blocks, twice the multiply-adds: other tensors, so other times."""
    space = with_latencies(toy_space(scale=2), table_of(toy_space(), uneven))
    with pytest.raises(ArtifactError, match=r"of toy lacks the part .* another configuration of the supernet"):
        space.cost(space.smallest)
