"""A few damaged files of each kind that needs no run; the campaign ``fuzzing`` makes 300,000 of all kinds."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.reliability import fuzzing
from benchmarks.reliability.artifacts import Artifacts, write_inputs
from benchmarks.reliability.campaign import Campaign, run_campaign
from benchmarks.reliability.mutations import Marked, json_bytes, toml_bytes

KINDS = (
    "run configuration",
    "--set",
    "predictions.csv",
    "predictions.jsonl",
    "predictions.npz",
    "image.png",
    "public key",
)


def inputs(folder):
    write_inputs(made := Artifacts(folder))
    return made


@pytest.mark.slow
def test_damaged_files_are_refused_in_one_line():
    begin = partial(fuzzing.begin, make=inputs, cases=30, only=KINDS)
    record = run_campaign(Campaign("fuzzing", 1, begin, ""), attacks=30 * len(KINDS))
    assert record.failed == []
    assert {kind: count["attacks"] for kind, count in record.kinds.items()} == dict.fromkeys(KINDS, 30)


def test_marked_texts_are_written_as_they_are():
    value = {"a": [Marked("NaN"), 1], "b": {"c": Marked("[[")}}
    assert json_bytes(value) == b'{"a": [NaN, 1], "b": {"c": [[}}'
    assert toml_bytes(value) == b"a = [NaN, 1]\n[b]\nc = [["
