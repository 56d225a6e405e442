"""A few flipped bits; the campaign ``bit_flips`` flips 10,000."""

from __future__ import annotations

import shutil
from functools import partial

import numpy as np
import pytest

from benchmarks.reliability import bit_flips
from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.campaign import Campaign, run_campaign
from regnas.runtime.files import read_json, read_sealed_json, write_json, write_sealed_json

TABLE = {"losses": [0.25, 0.125, 0.5], "steps": 1234567}


def flips_of(path, read, count=60):
    target = bit_flips.Target("x", path, lambda: read(path))
    return [bit_flips.flip_one(target, read(path), np.random.default_rng(number)) for number in range(count)]


def test_no_flip_in_a_sealed_file_changes_its_content(tmp_path):
    path = tmp_path / "x.json"
    write_sealed_json(path, TABLE)
    found = flips_of(path, lambda path: {key: value for key, value in read_sealed_json(path).items() if key in TABLE})
    assert {"found"} <= set(found) <= {"found", "harmless"}
    assert read_sealed_json(path) == TABLE  # every flip was restored


def test_a_flip_that_changes_a_result_is_a_failure(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, TABLE)
    assert any("x.json changes the result without a word" in each for each in flips_of(path, read_json))


@pytest.mark.slow
def test_every_flip_in_a_run_is_found_or_harmless(finished_run, finished_update):
    def make(folder):
        shutil.copytree(finished_run, folder / "run")
        shutil.copytree(finished_update, folder / "update")
        shutil.copy(finished_run.parent / "tiny.toml", folder)
        return Artifacts(folder)

    begin = partial(bit_flips.begin, make=make, flips=2, skip=("run, export",))
    record = run_campaign(Campaign("bit_flips", 1, begin, ""), attacks=34)
    assert record.failed == []
    assert sum(count["attacks"] for kind, count in record.kinds.items() if kind.endswith("found")) > 20
