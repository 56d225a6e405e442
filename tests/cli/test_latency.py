"""Budgets in milliseconds: measuring, using and refusing tables."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks.tiny import write_tiny
from regnas.family.family import load_family
from regnas.runs.config import load_config
from regnas.runtime.files import write_sealed_json
from regnas.search.evaluation import latency
from regnas.space import Additivity, Conditions, LatencyTable, covering, latency_range, part_keys, with_latencies

SHAPE = (1, 8, 8)


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    """Made-up times, without measuring; files go beside the configuration."""
    monkeypatch.setattr(latency, "ROUNDS", 1)
    monkeypatch.setattr(latency, "FEWEST_PASSES", 1)
    monkeypatch.setattr(latency, "SECONDS_A_VISIT", 0.0)
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def config(tmp_path):
    """With limits in milliseconds, and without the baselines and a third member, which these tests do not need."""
    path = write_tiny(tmp_path)
    text = path.read_text().replace('small = "80k +- 5 %"', 'small = "<= 200k, <= 2 ms"')
    text = text.replace('medium = "120k +- 5 %"\n', "").replace('large = "200k +- 5 %"', 'large = "<= 200k, <= 3 ms"')
    text = text.replace("stem_width = 4", "stem_width = 4\nexpansions = [1.0]")
    path.write_text(text[: text.index("[baselines.independent]")] + text[text.index("[machine]") :])
    return path


@pytest.fixture
def table(config, tmp_path):
    """A millisecond for every block and nothing for the rest, so that a limit is one on the depth."""
    space = load_config(str(config)).values.supernet.space(SHAPE, 3)
    keys = [key for network in covering(space) for key in part_keys(space, network)]
    conditions = Conditions(space.name, SHAPE, 3, 1, {"device": "cpu", "threads": 1})
    entries = {key: float(key.startswith("('block'")) for key in keys}
    path = tmp_path / "tiny-latency.json"
    LatencyTable(conditions, entries, Additivity(12, 1.0, 0.0, 1.0)).save(path)
    return path


def use(config, table="tiny-latency.json"):
    config.write_text(config.read_text().replace("[search]", f'[search]\nlatency_table = "{table}"'))


def test_a_table_is_measured_shown_and_not_measured_again(command, config, tmp_path):
    outcome = command("latency-table", config)
    assert outcome.code == 0, outcome.stderr
    path = tmp_path / "tiny-latency.json"
    written = path.read_bytes()
    table = LatencyTable.load(path)
    assert (table.conditions.space, table.conditions.input_shape) == ("elastic_resnet", SHAPE)
    assert (table.conditions.classes, table.conditions.batch_size, table.conditions.machine["threads"]) == (3, 1, 1)
    low, high = latency_range(with_latencies(load_config(str(config)).values.supernet.space(SHAPE, 3), table))
    lines = outcome.stdout.splitlines()
    assert lines[0] == f"attainable: {low:.3g} to {high:.3g} ms (batch of 1, cpu, 1 thread)"
    assert lines[1] == f"check: {table.additivity}"
    assert "against 12 whole networks: median error" in lines[1]
    assert lines[3:] == ["[search]", 'latency_table = "tiny-latency.json"']
    assert {path.name for path in tmp_path.iterdir()} == {"data.npz", "tiny.toml", "tiny-latency.json"}

    again = command("latency-table", config)
    assert again.code == 0
    assert again.stdout.splitlines() == [
        "tiny-latency.json is complete; --overwrite measures it again",
        *lines,
    ]
    assert path.read_bytes() == written
    refused = command("latency-table", config, "--batch-size", 4)
    assert refused.code == 2
    assert "Choose another --out, or measure again with --overwrite" in refused.stderr
    assert path.read_bytes() == written
    assert command("latency-table", config, "--batch-size", 2, "--overwrite").code == 0
    assert LatencyTable.load(path).conditions.batch_size == 2


def test_the_file_is_written_to_the_path_of_the_configuration_or_the_command(command, config, tmp_path):
    use(config, "tables/mine.json")
    assert command("latency-table", config).code == 0
    assert command("latency-table", config, "--out", "other.json", "--threads", 2).code == 0
    assert LatencyTable.load(tmp_path / "tables" / "mine.json").conditions.machine["threads"] == 1
    assert LatencyTable.load(tmp_path / "other.json").conditions.machine["threads"] == 2


def test_validate_shows_the_range_and_counts_what_is_quick_enough(command, config, table):
    use(config)
    outcome = command("validate", config)
    assert outcome.code == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert f"attainable: 2 to 4 ms, by {config.parent / 'tiny-latency.json'}" in lines
    # One block of three widths in each of two stages; the largest of these takes 113k.
    assert "budgets.small: at most 200 k MACs, at most 2 ms, about 9 architectures" in lines


def test_every_member_of_a_family_is_as_quick_as_its_budget_says(command, config, table, tmp_path):
    use(config)
    outcome = command("export", config, "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.stderr
    depths = {member.name: sum(member.architecture.depths) for member in load_family(tmp_path / "run/family").members}
    assert depths["small"] == 2
    assert depths["large"] <= 3


def test_milliseconds_without_a_table_are_refused(refusal, config, tmp_path):
    for words in (["validate", config], ["run", config, "--out", tmp_path / "run"]):
        assert refusal(*words) == (
            2,
            [
                "regnas: search.latency_table must name a file, because budgets.small limits the latency, got none. "
                "Measure one with `regnas latency-table CONFIG`."
            ],
        )


@pytest.mark.parametrize(
    ("change", "code", "problem"),
    [
        (("tiny-latency", "none"), 3, "/none.json. Measure it with `regnas latency-table CONFIG`"),
        (("<= 2 ms", "<= 1.9 ms"), 4, "budgets.small: no architecture takes at most 1.9 ms; the attainable range is 2"),
        (("stem_width = 4", "stem_width = 3"), 3, "another configuration of the supernet. Measure again with"),
        (("[8, 12, 16]", "[8, 12, 20]"), 3, "another configuration of the supernet. Measure again with"),
    ],
)
def test_tables_that_do_not_fit_are_refused(refusal, config, table, change, code, problem):
    use(config)
    config.write_text(config.read_text().replace(*change))
    found, (line,) = refusal("validate", config)
    assert found == code
    assert problem in line


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("space", "mobile", "was measured for the space mobile, not elastic_resnet"),
        ("input_shape", [3, 32, 32], "was measured for images of (3, 32, 32), not (1, 8, 8)"),
        ("classes", 10, "was measured for 10 classes, not 3"),
    ],
)
def test_a_table_of_another_space_or_data_set_is_refused(refusal, config, table, key, value, problem):
    use(config)
    content = json.loads(table.read_text())
    content["conditions"][key] = value
    write_sealed_json(table, content)
    code, (line,) = refusal("validate", config)
    assert code == 3
    assert problem in line


def test_wrong_usage_is_refused_before_anything_is_measured(refusal, command, config, tmp_path):
    code, (line,) = refusal("latency-table", config, "--device", "gpu")
    assert (code, "machine.device = \"gpu\": input should be 'auto'" in line) == (2, True)
    assert refusal("latency-table", config, "--threads", -1)[0] == 2
    assert refusal("latency-table", config, "--out", tmp_path)[0] == 2
    assert command("latency-table", config, "--batch-size", 0).code == 2
    code, (line,) = refusal("latency-table", config, "--out", config)
    assert (code, "it is not JSON" in line) == (3, True)
    assert not (tmp_path / "tiny-latency.json").exists()
