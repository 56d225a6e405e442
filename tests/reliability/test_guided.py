"""A few seconds of the campaign ``guided``, if atheris is installed."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.reliability import guided
from benchmarks.reliability.artifacts import Artifacts, write_inputs
from benchmarks.reliability.campaign import Campaign, run_campaign


def inputs(folder):
    write_inputs(made := Artifacts(folder))
    return made


@pytest.mark.slow
def test_guided_inputs_are_refused_in_one_line_and_kept(tmp_path):
    pytest.importorskip("atheris", reason="pip install atheris")
    begin = partial(guided.begin, make=inputs, parsers=("predictions.csv",), seconds=6, corpora=tmp_path)
    record = run_campaign(Campaign("guided", 1, begin, ""))
    assert record.failed == []
    assert record.attacks > 10
    assert len(list((tmp_path / "predictions.csv").iterdir())) > 3
