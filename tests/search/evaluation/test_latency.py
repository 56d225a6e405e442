from __future__ import annotations

import json
import signal

import pytest
import torch
from torch import nn

from regnas.errors import ArtifactError, ConfigurationError, Interrupted
from regnas.runtime import signals
from regnas.runtime.files import write_sealed_json
from regnas.runtime.randomness import chooser
from regnas.search.evaluation import latency
from regnas.search.evaluation.latency import additivity, find_table, measure_in_turn, measure_latencies
from regnas.space import Budget, BudgetSampler, Conditions, LatencyTable, latency_range, part_keys, with_latencies
from regnas.space.graph import reachable
from supernets.elastic_resnet import ElasticResNet

SHAPE = (1, 8, 8)
CLASSES = 3
CPU = torch.device("cpu")
PLUGIN = ElasticResNet(widths=((4, 6), (6, 8)), depths=(1, 2), expansions=(1.0,), stem_width=4)
SPACE = PLUGIN.space(SHAPE, CLASSES)
CONDITIONS = Conditions(SPACE.name, SHAPE, CLASSES, 2, {"device": "cpu", "threads": 1})
ROUNDS = 2


@pytest.fixture(scope="module", autouse=True)
def few_rounds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency, "ROUNDS", ROUNDS)
        yield


def weight_of(module):
    """A time that can be worked out by hand: a microsecond per parameter, and one per run."""
    return 0.001 * (1 + sum(parameter.numel() for parameter in module.parameters()))


class Stopwatch:
    """Derive the times of modules from their weights, and record how many were timed at once."""

    def __init__(self, factor=lambda calls: 1.0, stop_after=None):
        self.timed = []
        self.factor = factor
        self.stop_after = stop_after

    def __call__(self, modules, images):
        assert images.shape == (2, *SHAPE)
        assert not any(module.training for module in modules)
        assert not any(isinstance(each, nn.BatchNorm2d) for module in modules for each in module.modules())
        self.timed.append(len(modules))
        if len(self.timed) == self.stop_after:
            signals.ask_to_stop(signal.SIGINT)
        return [self.factor(len(self.timed)) * weight_of(module) for module in modules]


def folded_parameters(architecture):
    """Parameters once batch norms are folded: a bias for each channel in the place of a factor and an offset."""
    network = PLUGIN.network(architecture, SHAPE, CLASSES)
    norms = sum(each.num_features for each in network.modules() if isinstance(each, nn.BatchNorm2d))
    return sum(parameter.numel() for parameter in network.parameters()) - norms


@pytest.fixture(autouse=True)
def no_signal_is_left():
    yield
    with signals.postponed_signals():
        pass


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "table.json"
    return measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, path, Stopwatch()), path


def test_every_edge_of_the_space_is_in_the_table(measured):
    table, path = measured
    assert LatencyTable.load(path) == table
    assert min(table.entries.values()) > 0
    timed = with_latencies(SPACE, table)
    places = reachable(timed, [timed.rules.start(None)[0]])  # asks for every edge, and fails where one is missing
    edges = [edge for place in places for edge in place.edges if edge.block is not None]
    ends = [place.finish for place in places if place.finish is not None]
    assert all(edge.cost.latency > 0 for edge in edges)
    assert len(table.entries) == 1 + len(edges) + len(ends)
    assert not path.with_name("table.json.partial").exists()


def test_the_latency_of_a_network_is_what_the_stopwatch_says_of_its_parts(measured):
    table, _ = measured
    timed = with_latencies(SPACE, table)
    sampler = BudgetSampler(SPACE, Budget(*SPACE.macs_range))
    for index in range(20):
        network = sampler.sample(chooser(index))
        parts = sum(network.depths) + 2
        by_hand = 0.001 * (folded_parameters(network) + parts)
        assert sum(table.entries[key] for key in part_keys(SPACE, network)) == pytest.approx(by_hand)
        assert timed.cost(network).latency == pytest.approx(table.additivity.scale * by_hand)
    low, high = latency_range(timed)
    assert 0 < low < high


def test_whole_networks_set_the_scale_and_show_the_error(measured):
    table, _ = measured
    assert table.additivity.networks == 12
    assert table.additivity.scale == pytest.approx(1, abs=0.01)  # a whole network is started once, not once a part
    assert table.additivity.scale < 1
    assert table.additivity.median_error < 0.01
    assert table.additivity.rank_correlation == pytest.approx(1, abs=0.01)


def test_the_scale_is_the_median_ratio_and_the_error_is_what_it_leaves():
    found = additivity([1.0, 2.0, 4.0], [2.0, 3.8, 8.8])  # ratios 2.0, 1.9, 2.2
    assert found.scale == 2.0
    assert found.median_error == pytest.approx(4 / 3.8 - 1)  # of 0, 4 / 3.8 - 1 = 5.3 % and 1 - 8 / 8.8 = 9.1 %
    assert found.rank_correlation == 1.0
    assert additivity([1.0, 1.0], [2.0, 2.0]).rank_correlation is None


def test_parts_that_are_alike_are_timed_once_a_round(tmp_path):
    """Three blocks of one width: from the second on they are the same module on the same input."""
    plugin = ElasticResNet(widths=((4,),), depths=(1, 4), expansions=(1.0,), stem_width=4)
    watch = Stopwatch()
    table = measure_latencies(plugin, plugin.space(SHAPE, CLASSES), CONDITIONS, CPU, tmp_path / "a", watch)
    assert sorted(watch.timed) == sorted([6, 1, 1, 1, 1] * ROUNDS)  # one network of four blocks; four whole ones
    assert len({table.entries[key] for key in table.entries if "block" in key}) == 1


def test_a_slow_moment_of_the_machine_leaves_no_trace(tmp_path, measured):
    slow = Stopwatch(factor=lambda calls: 7.0 if calls <= 10 else 1.0)
    table = measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, tmp_path / "slow.json", slow)
    assert table.entries == pytest.approx(measured[0].entries)


def test_an_interrupted_measurement_is_resumed(tmp_path, measured):
    whole = Stopwatch()
    measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, tmp_path / "whole.json", whole)
    path = tmp_path / "table.json"
    first = Stopwatch(stop_after=5)
    with signals.postponed_signals(), pytest.raises(Interrupted):
        measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, path, first)
    assert not path.exists()
    second = Stopwatch()
    with signals.postponed_signals():
        table = measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, path, second)
    assert first.timed + second.timed == whole.timed
    assert table.entries == measured[0].entries
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "whole.json"]


def test_times_of_other_conditions_are_not_gone_on_with(tmp_path):
    path = tmp_path / "table.json"
    with signals.postponed_signals(), pytest.raises(Interrupted):
        measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, path, Stopwatch(stop_after=3))
    partial = tmp_path / "table.json.partial"
    content = json.loads(partial.read_text())
    assert latency._kept_times(partial, CONDITIONS) == content["times"] != {}
    content["conditions"]["machine"]["threads"] = 2
    write_sealed_json(partial, content)
    assert latency._kept_times(partial, CONDITIONS) == {}


@pytest.mark.parametrize("content", ["[]", "{}", '{"conditions": {}}', '{"conditions": null, "times": 3}'])
def test_a_damaged_half_is_refused(tmp_path, content):
    (tmp_path / "table.json.partial").write_text(content)
    problem = r"table\.json\.partial (must be a partial latency table|is damaged).*\. Delete it"
    with pytest.raises(ArtifactError, match=problem):
        measure_latencies(PLUGIN, SPACE, CONDITIONS, CPU, tmp_path / "table.json", Stopwatch())


def test_an_existing_table_is_used_and_a_table_of_something_else_is_refused(measured):
    table, path = measured
    assert find_table(path, SPACE, CONDITIONS, overwrite=False) == table
    assert find_table(path, SPACE, CONDITIONS, overwrite=True) is None
    assert find_table(path.with_name("none.json"), SPACE, CONDITIONS, overwrite=False) is None
    wider = ElasticResNet(widths=((4, 6), (6, 10)), depths=(1, 2), stem_width=4).space(SHAPE, CLASSES)
    others = [(SPACE, Conditions(SPACE.name, SHAPE, CLASSES, 4, CONDITIONS.machine)), (wider, CONDITIONS)]
    for space, conditions in others:
        with pytest.raises(ConfigurationError, match=r"another configuration or machine .*batch of 2, cpu, 1 thread"):
            find_table(path, space, conditions, overwrite=False)
    with pytest.raises(ConfigurationError, match="must be a file, got the folder"):
        find_table(path.parent, SPACE, CONDITIONS, overwrite=True)


def test_a_file_that_is_not_a_table_is_not_replaced(tmp_path):
    (tmp_path / "notes.json").write_text('{"to": "do"}')
    with pytest.raises(ArtifactError, match="lacks format"):
        find_table(tmp_path / "notes.json", SPACE, CONDITIONS, overwrite=True)


class Whole(ElasticResNet):
    """Networks that are not divided into parts."""

    def network(self, architecture, input_shape, classes):
        return nn.Sequential(super().network(architecture, input_shape, classes))


def test_a_supernet_without_parts_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r'"elastic_resnet" cannot be timed: .* must return 6 modules, got 0'):
        measure_latencies(Whole(), SPACE, CONDITIONS, CPU, tmp_path / "a.json", Stopwatch())


def test_modules_are_run_one_after_the_other_and_each_gets_a_time():
    seen = []

    class Noted(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def forward(self, x):
            seen.append((self.name, float(x)))
            return x + 1

    times = measure_in_turn([Noted("a"), Noted("b")], torch.zeros(1))
    assert len(times) == 2
    assert min(times) > 0
    assert seen[:4] == [("a", 0.0), ("b", 1.0)] * 2
