"""Configurations and run folders that attack the parser, or that another program wrote."""

from __future__ import annotations

import time

import pytest

from regnas.errors import ArtifactError, ConfigurationError
from regnas.runs.folder import RunFolder
from regnas.runs.tables import DOT_LIMIT, SIZE_LIMIT, load_table
from regnas.runtime.files import write_sealed_json

FACTS = {
    "format": 1,
    "name": "x",
    "digest": "0",
    "threads": 1,
    "versions": {},
    "machine": {"platform": "Linux", "device": "cpu"},
    "data": {"digest": "0", "splits": {"report": {"digest": "0"}}},
    "timings": {"train": 1.5},
    "configuration": {},
}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = " + "[" * 100_000, "must be TOML: it must be nested at most 32 deep"),
        ("[" * 100_000, "must be TOML: "),
        ("x = " + "[" * 40 + "]" * 40, "a configuration must be nested at most 32 deep"),
        ("a." * 500 + "b = 1", "must be nested at most 32 deep"),
        ("[" + "a." * 50_000 + "b]", f"must be TOML: a line must have at most {DOT_LIMIT:,} dots"),
        ("x = 1\n" * SIZE_LIMIT, f"must have at most {SIZE_LIMIT:,} bytes as a configuration, got more"),
        ("x = " + "9" * 5000, "must be TOML: "),
    ],
)
def test_a_configuration_is_bounded_in_size_depth_and_time(tmp_path, text, problem):
    (tmp_path / "x.toml").write_text(text)
    began = time.process_time()
    with pytest.raises(ConfigurationError) as caught:
        load_table(str(tmp_path / "x.toml"))
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert time.process_time() - began < 5  # 50,000 dotted keys took 20 s


@pytest.mark.parametrize("change", ["a" + ".a" * 500 + "=1", "data.x=" + "[" * 40 + "]" * 40])
def test_a_changed_key_is_bounded_in_depth(change):
    with pytest.raises(ConfigurationError, match="must be nested at most 32 deep"):
        load_table("digits", [change])


def test_a_changed_key_that_cannot_be_parsed_is_a_text():
    assert load_table("digits", ["data.x=" + "[" * 5000])[1]["data"]["x"] == "[" * 5000


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("data", "x"),
        ("data", {"digest": "0"}),
        ("data", {"digest": 0, "splits": {}}),
        ("data", {"digest": "0", "splits": {"report": 3}}),
        ("name", 3),
        ("digest", None),
        ("threads", "1"),
        ("processes", "x"),
        ("versions", [1]),
        ("machine", True),
        ("machine", {"device": "cpu"}),
        ("timings", {"train": "long"}),
        ("configuration", [1]),
        ("added_budgets", 1),
        ("later_members", []),
        ("polished_members", ["small", 1]),
        ("held_out", 2),
        ("polish", {"settings": {}}),
        ("polish", {"settings": {}, "alpha": "x"}),
        ("polished", {"settings": 1, "alpha": None}),
        ("anchors", {"absolute": {}, "from_run": {}, "keys": []}),
        ("anchors", {"absolute": {"file": 1, "given": "."}, "from_run": {"file": ".", "given": "."}, "keys": []}),
        ("anchors", {"absolute": {"file": ".", "given": "."}, "from_run": {"file": ".", "given": "."}, "keys": [1]}),
    ],
)
def test_a_fact_of_a_wrong_kind_is_refused_with_its_file(tmp_path, fact, value):
    write_sealed_json(tmp_path / "run.json", FACTS)
    assert RunFolder.open(tmp_path).facts == FACTS
    write_sealed_json(tmp_path / "run.json", {**FACTS, fact: value})
    with pytest.raises(ArtifactError, match=r"run\.json (is damaged|lacks)"):
        RunFolder.open(tmp_path)


def test_one_changed_digit_in_run_json_is_found(tmp_path):
    write_sealed_json(tmp_path / "run.json", FACTS)
    path = tmp_path / "run.json"
    path.write_text(path.read_text().replace('"train": 1.5', '"train": 1.4'))
    with pytest.raises(ArtifactError, match=r"run\.json is damaged: its content does not match its own digest"):
        RunFolder.open(tmp_path)
