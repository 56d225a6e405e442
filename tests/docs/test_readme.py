"""The README is short, its Python runs, and its numbers are those of the benchmarks."""

from __future__ import annotations

import inspect
import json
import re
import shutil

import numpy as np
import pytest

from tests.docs.markdown import README, ROOT, blocks_of, rows_of

PYTHON = [block for block in blocks_of(README) if block.language == "python"]
TRAINS = [block for block in PYTHON if "regnas.run(" in block.text]
ROWS = {
    "**REG-NAS family**, polished": "REG-NAS family",
    "The same before polishing": "Before polishing",
    "Independent training": "Independent training",
    "Focal distillation (FD-LM)": "FD-LM",
    "Co-training (LDI, separate weights)": "Co-training (LDI)",
    "ELODI (m = 2)": "ELODI (m = 2, K = 10)",
    "Accuracy-only search": "Accuracy-only search (OFA)",
}


def test_the_readme_has_at_most_250_lines():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 250


def test_the_first_screen_compares_two_arrays():
    first = "\n".join(README.read_text(encoding="utf-8").splitlines()[:40])
    assert "pip install regnas" in first
    assert 'regnas.compare({"old": p_old, "new": p_new}, target=y)' in first
    assert "regnas gate" in first


@pytest.fixture
def predictions():
    """The arrays that the README's reader has: 50 samples, of which the new model breaks one and mends three."""
    y = np.arange(50) % 5
    p_old, p_new = y.copy(), y.copy()
    p_old[[1, 2, 3]] = (y[[1, 2, 3]] + 1) % 5
    p_new[7] = (y[7] + 1) % 5
    return {"y": y, "p_old": p_old, "p_new": p_new}


@pytest.mark.parametrize(
    "block", [each for each in PYTHON if "p_old" in each.text], ids=lambda block: block.place.partition(":")[2]
)
def test_the_blocks_that_compare_run(block, predictions, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, block.place, "exec"), dict(predictions))
    assert "0.02" in capsys.readouterr().out  # 1 of 50


def test_the_block_that_loads_a_family_runs(finished_run, tmp_path, monkeypatch, capsys):
    shutil.copytree(finished_run / "family", tmp_path / "runs" / "digits" / "family")
    monkeypatch.chdir(tmp_path)
    (block,) = [each for each in PYTHON if "load_family" in each.text]
    shape = json.loads((finished_run / "family" / "manifest.json").read_text())["input_shape"]
    images = np.zeros((4, *shape), dtype=np.uint8)
    exec(compile(block.text, block.place, "exec"), {"images": images})
    assert "('small', " in capsys.readouterr().out


def test_the_block_that_trains_calls_what_exists():
    import regnas

    (block,) = TRAINS
    assert 'regnas.run("digits", out="runs/digits")' in block.text
    parameters = inspect.signature(regnas.run).parameters
    assert "out" in parameters


def test_no_python_block_is_left_out_above():
    assert len(PYTHON) == 4


def test_the_results_are_those_of_the_benchmark():
    results = json.loads((ROOT / "benchmarks" / "digits_seeds.json").read_text())
    summaries = {entry["title"]: entry for entry in results["summary"]}
    shown = {row[0]: row[1:] for row in rows_of(README.read_text(encoding="utf-8")) if row[0] in ROWS}
    assert set(shown) == set(ROWS)
    macs = {
        title: [next(m["training_macs"] for m in seed["methods"] if m["title"] == title) for seed in results["seeds"]]
        for title in summaries
    }
    for label, cells in shown.items():
        summary = summaries[ROWS[label]]
        for cell, top1 in zip(cells[:3], summary["top1"], strict=True):
            assert cell == f"{100 * top1['mean']:.1f} ± {100 * top1['sd']:.1f}"
        nfr = summary["mean_nfr"]
        assert cells[3].strip("*") == f"{100 * nfr['mean']:.2f} ± {100 * nfr['sd']:.2f}"
        if cells[4]:
            low, high = summary["mean_nfr_minus_family_interval"]
            mean = summary["mean_nfr_minus_family"]["mean"]
            assert cells[4] == f"{100 * mean:+.2f} [{100 * low:.2f}, {100 * high:.2f}]"
        ratio = np.mean(macs[ROWS[label]]) / np.mean(macs["Independent training"])
        assert cells[5] == f"{ratio:.1f}x"


def test_the_sentences_below_the_results_follow_from_them():
    results = json.loads((ROOT / "benchmarks" / "digits_seeds.json").read_text())
    nfr = {entry["title"]: entry["mean_nfr"]["mean"] for entry in results["summary"]}
    family = nfr["REG-NAS family"]
    separate = min(nfr[title] for title in ("FD-LM", "Co-training (LDI)", "ELODI (m = 2, K = 10)"))
    assert round(nfr["Independent training"] / family) == 4  # "about a quarter"
    assert 2.7 < separate / family < 3.3  # "about a third"
    small, _, large = next(entry["top1"] for entry in results["summary"] if entry["title"] == "REG-NAS family")
    text = re.sub(r"\s+", " ", README.read_text(encoding="utf-8"))
    assert "about a quarter of the negative flips of independently trained networks, and about a third of those" in text
    assert f"large member is {100 * (large['mean'] - small['mean']):.1f} points better than the small one" in text


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "comparing.md"], ids=lambda page: page.name)
def test_the_speed_of_comparisons_is_that_of_the_benchmark(page):
    runs = json.loads((ROOT / "benchmarks" / "compare_speed.json").read_text())["runs"]
    largest = [run for run in runs if run["samples"] == 1_000_000]
    seconds = [run["seconds"] for run in largest]
    gigabytes = max(run["peak_bytes"] for run in largest) / 1e9
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    assert f"take {min(seconds):.0f} to {max(seconds):.0f} s and at most {gigabytes:.1f} GB" in text


def test_the_counts_of_the_campaigns_are_those_of_the_json_files():
    text = re.sub(r"\s+", " ", README.read_text(encoding="utf-8"))
    for campaign, what in {
        "kills": "kills",
        "full_disk": "failed writes",
        "signals": "signals",
        "fuzzing": "damaged inputs",
        "bit_flips": "flipped bits",
        "search_workers": "losses of search workers",
    }.items():
        record = json.loads((ROOT / "benchmarks" / "reliability" / f"{campaign}.json").read_text())
        assert record["failures"] == 0
        assert f"{record['attacks']:,} {what}" in text
