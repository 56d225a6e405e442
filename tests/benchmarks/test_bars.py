from __future__ import annotations

import pytest

from benchmarks.cifar10.results import results
from benchmarks.cifar10.rows import read_rows
from tests.benchmarks.recorded import row_of, write_family

SAMPLES = 1000
ARCHITECTURES = ["a", "b"]


def write(tmp_path, name, right, flipped, **facts):
    """1,000 samples; the smaller network is correct on 500."""
    write_family(tmp_path, name, row_of(right, flipped, SAMPLES), **{"architectures": ARCHITECTURES, **facts})


def bars(tmp_path):
    found = results(read_rows(tmp_path), resamples=200)
    return {bar["bar"]: bar for bar in found["bars"]}, found


def by_end(found, end):
    [bar] = [bar for name, bar in found.items() if name.endswith(end)]
    return bar


def whole_study(tmp_path, polished=(798, 20), training_macs=400):
    write(tmp_path, "independent", 800, 90, training_macs=100)
    write(tmp_path, "focal_distillation_lm", 790, 80, training_macs=150)
    write(tmp_path, "elodi", 795, 50, training_macs=500)
    write(tmp_path, "regnas", 760, 40, training_macs=300)
    write(tmp_path, "polished_plain", 800, 40, training_macs=400)
    write(tmp_path, "polished", *polished, training_macs=training_macs, search_macs=100)


def test_all_met(tmp_path):
    whole_study(tmp_path)
    found, everything = bars(tmp_path)
    assert everything["best"] == "polished"
    assert len(found) == 7
    measured = {
        "independent training": 20 / 90,
        "(LM)": 20 / 80,
        "Top-1 / ELODI": 20 / 50,
        "plain REG-NAS": 20 / 40,
        "worst member": -0.002,
        "row / ELODI": 400 / 500,
    }
    for end, value in measured.items():
        bar = by_end(found, end)
        assert bar["measured"] == pytest.approx(value), end
        assert bar["met"] is True
        assert bar["verdict"].startswith("met")
    information = by_end(found, "without congruence")
    assert (information["limit"], information["met"], information["verdict"]) == (None, None, "for information")
    assert information["measured"] == pytest.approx(20 / 40)
    assert "1.00 with its search" in by_end(found, "row / ELODI")["note"]


def test_all_missed(tmp_path):
    whole_study(tmp_path, polished=(794, 45), training_macs=501)
    found, _ = bars(tmp_path)
    independent = by_end(found, "independent training")
    assert (independent["measured"], independent["met"]) == (pytest.approx(0.5), False)
    assert independent["verdict"] == "missed"
    assert by_end(found, "(LM)")["verdict"].startswith("missed")
    assert "trained for more than ELODI" in by_end(found, "(LM)")["note"]
    assert by_end(found, "plain REG-NAS")["met"] is False
    assert by_end(found, "worst member")["measured"] == pytest.approx(-0.006)
    assert by_end(found, "worst member")["met"] is False
    assert by_end(found, "row / ELODI")["measured"] == pytest.approx(501 / 500)
    assert by_end(found, "row / ELODI")["met"] is False


def test_an_accuracy_that_is_not_reached_is_a_miss(tmp_path):
    whole_study(tmp_path, polished=(794, 1))
    bar = by_end(bars(tmp_path)[0], "Top-1 / ELODI")
    assert (bar["measured"], bar["met"], bar["verdict"]) == (None, False, "missed (Top-1 not reached)")
    assert bar["note"] == "Top-1 of elodi: 79.50 %, at most 79.40 % by regnas"


def test_an_interval_that_contains_the_limit_is_reported(tmp_path):
    whole_study(tmp_path, polished=(798, 29))  # 29 / 90 is just below a third
    bar = by_end(bars(tmp_path)[0], "independent training")
    assert bar["met"] is True
    assert bar["verdict"] == "met (interval crosses the limit)"


def test_exactly_at_the_limit_is_met(tmp_path):
    whole_study(tmp_path, polished=(795, 30), training_macs=500)  # 30 / 90, half a point behind, as much compute
    found, _ = bars(tmp_path)
    for end in ("independent training", "worst member", "row / ELODI"):
        assert by_end(found, end)["met"] is True, end


def test_rows_that_are_missing_are_not_measured(tmp_path):
    write(tmp_path, "polished", 798, 20)
    found, everything = bars(tmp_path)
    assert everything["best"] == "polished"
    assert {bar["met"] for bar in found.values()} == {None}
    assert {bar["verdict"] for bar in found.values()} == {"not measured", "for information"}


def test_without_rows_of_regnas_nothing_is_decided(tmp_path):
    for name in ("independent", "elodi", "focal_distillation_lm"):
        write(tmp_path, name, 800, 20)
    found, everything = bars(tmp_path)
    assert everything["best"] is None
    assert {bar["met"] for bar in found.values()} == {None}


def test_members_are_compared_with_the_same_architecture_and_seed_alone(tmp_path):
    for seed, (own, theirs) in enumerate([("b", "b"), ("b", "other")]):
        right = 810 if seed else 800
        write(tmp_path, "independent", right, 50, seed=seed, architectures=["a", theirs])
        write(tmp_path, "polished", 798, 10, seed=seed, architectures=["a", own])
    found, everything = bars(tmp_path)
    bar = by_end(found, "worst member")
    assert bar["measured"] == pytest.approx(-0.002)  # seed 1, twelve samples behind, is another network
    assert bar["note"].startswith("small +0.00 ± 0.00 [0.00, 0.00] (2 seeds), medium -0.20 [")
    assert bar["note"].endswith("(1 seed)")
    assert [one["difference"]["mean"] for one in everything["top1_minus_independent"]] == pytest.approx([0, -0.002])


def test_a_member_without_its_like_leaves_the_bar_open(tmp_path):
    write(tmp_path, "independent", 800, 50, architectures=["a", "other"])
    write(tmp_path, "polished", 850, 10)
    bar = by_end(bars(tmp_path)[0], "worst member")
    assert (bar["measured"], bar["met"], bar["verdict"]) == (None, None, "not measured")
    assert "medium of another architecture in every seed" in bar["note"]
