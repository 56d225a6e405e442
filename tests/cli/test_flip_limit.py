"""`search.max_nfr` and `search.old_predictions` on the command line."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks.tiny import write_tiny
from regnas.data import Arrays
from regnas.flips import Predictions
from regnas.search import OLD, Study, sqlite_storage
from supernets.elastic_resnet import ElasticResNet

pytestmark = pytest.mark.slow

SPACE = ElasticResNet(widths=((4, 6, 8), (8, 12, 16)), depths=(1, 2), stem_width=4).space((1, 8, 8), 3)


@pytest.fixture
def tiny(tmp_path):
    """A configuration, and an old model that is always correct: every error of a new one is a negative flip."""
    config = write_tiny(tmp_path, workers=1)
    splits = Arrays(str(tmp_path / "data.npz"), search_fraction=0.3).load()
    for split in (splits.search, splits.report):
        targets = split.targets.numpy()
        Predictions("old", split.ids[::-1], targets[::-1], targets[::-1]).save(tmp_path / f"{split.name}.npz")
    return config


def arguments(tiny, *assignments, out="run"):
    common = ("training.epochs=1", "baselines={}", "search.candidates=4")
    sets = [part for assignment in (*common, *assignments) for part in ("--set", assignment)]
    return ("run", tiny, "--out", tiny.parent / out, *sets)


def test_flips_from_old_predictions_are_counted_and_a_limit_out_of_reach_is_exit_4(tiny, command, refusal):
    old = f"search.old_predictions={tiny.parent / 'search.npz'}"
    outcome = command(*arguments(tiny, old, "search.max_nfr=95 %"))
    assert outcome.code == 0, outcome.stderr
    page = (tiny.parent / "run" / "report" / "index.html").read_text()
    assert "NFR at most 95 % on the search split" in page
    assert "search.npz included" in page
    for name in ("small", "large"):
        trials = Study(sqlite_storage(tiny.parent / "run" / "study.db"), f"family/{name}", SPACE).trials()
        assert trials
        for trial in trials:
            assert trial.measures.nfr[OLD] == pytest.approx(1 - trial.measures.top1)
            assert trial.excess == pytest.approx(max(trial.measures.nfr.values()) - 0.95)

    for reuse in ((), ("--resume",)):
        code, lines = refusal(*arguments(tiny, old, "search.max_nfr=0", out="strict"), *reuse)
        assert (code, len(lines)) == (4, 1)
        told = r"at most 0 % .* got ([\d.]+) % against old predictions at best, with Top-1 ([\d.]+) %"
        found = re.search(told, lines[0])
        assert found, lines
        assert float(found[1]) + float(found[2]) == pytest.approx(100, abs=1e-3)
    assert not (tiny.parent / "strict" / "family").exists()


@pytest.mark.parametrize(
    ("assignment", "code", "expected"),
    [
        ("search.old_predictions={folder}/report.npz", 3, "must have all 60 samples, got 0 of them"),
        ("search.old_predictions={folder}/none.npz", 3, "none.npz is missing. Write the file with `regnas predict "),
        ("search.max_nfr=2", 2, 'For 2 percent write "2 %"'),
        ("search.max_nfr=few", 2, 'a rate must be a text such as "1 %"'),
        ('search={{order="joint", algorithm={{name="tpe"}}}}', 2, "algorithm must be evolution or random"),
        ('search={{reward={{name="R0"}}, old_predictions="x.npz"}}', 2, "got R0 without max_nfr"),
    ],
)
def test_an_impossible_search_is_refused_in_one_line_before_training(tiny, refusal, assignment, code, expected):
    found, lines = refusal("run", tiny, "--out", tiny.parent / "run", "--set", assignment.format(folder=tiny.parent))
    assert (found, len(lines)) == (code, 1), lines
    assert expected in lines[0]
    assert not (tiny.parent / "run" / "supernet").exists()


def test_another_file_of_old_predictions_does_not_continue_a_run(tiny, command, refusal):
    path = tiny.parent / "search.npz"
    given = arguments(tiny, f"search.old_predictions={path}")
    train = ("train", *given[1:])
    outcome = command(*train)
    assert outcome.code == 0, outcome.stderr
    with np.load(path) as arrays:
        changed = dict(arrays)
    changed["predicted"] = (changed["predicted"] + 1) % 3
    np.savez(path, **changed)
    code, lines = refusal(*given, "--resume")
    assert code == 3
    assert "old_predictions" in lines[0]
    assert "must be the file that" in lines[0]
