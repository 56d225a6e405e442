from __future__ import annotations

import doctest

import pytest

from regnas.runtime import progress
from regnas.runtime.progress import Bar, Progress, in_stage, listening, planned_stages, track


def test_without_a_listener_nothing_is_printed(capsys):
    with in_stage("train"):
        assert list(track("abc", "letters", 3)) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_a_listener_hears_the_stage_and_every_step_of_its_work():
    heard: list[Progress] = []
    stages = ["train", "search", "export"]
    with (
        listening(heard.append),
        planned_stages(stages),
        in_stage("search"),
        Bar("search family small", total=8, done=2) as bar,
    ):
        bar.advance("best 0.9", steps=3)
    assert {(event.stage, event.stage_number, event.stages, event.heading) for event in heard} == {
        ("search", 2, 3, "stage 2 of 3: search")
    }
    assert [(event.description, event.done, event.total, event.note, event.finished) for event in heard] == [
        ("", 0, 0, "", False),
        ("search family small", 2, 8, "", False),
        ("search family small", 5, 8, "best 0.9", False),
        ("search family small", 5, 8, "", True),
    ]


def test_work_that_fails_is_finished_for_the_listener():
    heard: list[Progress] = []
    with pytest.raises(ValueError, match="broken"), listening(heard.append), Bar("train", 3) as bar:
        bar.advance()
        raise ValueError("broken")
    assert (heard[-1].done, heard[-1].finished) == (1, True)


def test_an_inner_call_without_a_listener_keeps_the_outer_one_and_the_outer_ends_with_its_block():
    heard: list[Progress] = []
    with listening(heard.append), listening(None):
        list(track("a", "inner", 1))
    list(track("a", "after", 1))
    assert {event.description for event in heard} == {"inner"}


def test_the_example_of_the_module_is_true():
    assert doctest.testmod(progress).failed == 0
