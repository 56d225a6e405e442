from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from benchmarks.reliability.campaign import Campaign, Outcome, run_campaign


def campaign(attempt, goal=10):
    @contextmanager
    def begin(folder):
        yield attempt

    return Campaign("sample", goal, begin, "A sample.")


def drawn(numbers):
    """A campaign that keeps what each try draws, and whose try 3 fails."""

    def attempt(number, generator):
        numbers.append((number, int(generator.integers(1 << 30))))
        return Outcome(kind="even" if number % 2 == 0 else "odd", problem="broken" if number == 3 else "")

    return campaign(attempt)


def test_attacks_and_failures_are_counted_by_kind(tmp_path):
    lines = []
    record = run_campaign(drawn([]), tmp_path / "sample.json", attacks=5, show=lines.append)
    assert (record.attacks, record.failures) == (5, 1)
    written = json.loads((tmp_path / "sample.json").read_text())
    assert written["kinds"] == {"even": {"attacks": 3, "failures": 0}, "odd": {"attacks": 2, "failures": 1}}
    assert written["failed"] == [{"try": 3, "kind": "odd", "problem": "broken"}]
    assert lines == ["sample 3, odd: broken"]


def test_a_try_counts_every_attack_that_it_made():
    def attempt(number, generator):
        return Outcome("kills", count=4)

    record = run_campaign(campaign(attempt))
    assert (record.attacks, record.next_try) == (12, 3)  # the goal is 10


def test_a_stopped_campaign_continues_with_the_tries_that_are_left(tmp_path):
    whole, parts = [], []
    run_campaign(drawn(whole), attacks=8)
    for attacks in (3, 8):
        run_campaign(drawn(parts), tmp_path / "sample.json", attacks=attacks)
    assert parts == whole


def test_a_campaign_ends_after_the_try_in_which_its_time_has_passed(tmp_path):
    numbers = []
    run_campaign(drawn(numbers), tmp_path / "sample.json", seconds=0)
    assert [number for number, _ in numbers] == [0]


def test_one_try_is_repeated_exactly_and_not_recorded(tmp_path):
    whole, again = [], []
    run_campaign(drawn(whole))
    run_campaign(drawn(again), tmp_path / "sample.json", only=6)
    assert again == [whole[6]]
    assert not (tmp_path / "sample.json").exists()


def test_another_seed_draws_other_numbers_and_does_not_continue_the_same_file(tmp_path):
    first, second = [], []
    run_campaign(drawn(first), tmp_path / "sample.json", attacks=2)
    run_campaign(drawn(second), attacks=2, seed=1)
    assert {value for _, value in first}.isdisjoint(value for _, value in second)
    with pytest.raises(SystemExit, match="has campaign sample with seed 0"):
        run_campaign(drawn([]), tmp_path / "sample.json", seed=1)
