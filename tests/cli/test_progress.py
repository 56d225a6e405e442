"""Progress as the command line shows it."""

from __future__ import annotations

import pytest

from regnas.cli import progress
from regnas.cli.progress import TerminalProgress
from regnas.runtime.progress import Bar, in_stage, listening, planned_stages, track


@pytest.fixture
def every_line(monkeypatch):
    """Read lines without waiting for them."""
    monkeypatch.setattr(progress, "FIRST_LINE_AFTER", 0.0)
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)


def test_lines_name_the_stage_once_and_the_work_each_time(every_line, capsys):
    with listening(TerminalProgress()), planned_stages(["train", "export"]):
        with in_stage("train"), Bar("train elodi: medium 0 992aa5, seed 3", 2, done=1) as bar:
            bar.advance("loss 0.3")
        with in_stage("export"):
            list(track("ab", "predict members", 2))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "stage 1 of 2: train",
        "train elodi: medium 0 992aa5, seed 3: 1/2, about 0 s left",
        "train elodi: medium 0 992aa5, seed 3: 2/2, about 0 s left, loss 0.3",
        "stage 2 of 2: export",
        "predict members: 0/2, about 0 s left",
        "predict members: 1/2, about 0 s left",
        "predict members: 2/2, about 0 s left",
    ]


def test_work_of_less_than_two_seconds_is_not_shown(capsys):
    with listening(TerminalProgress()), planned_stages(["train"]), in_stage("train"):
        list(track("abc", "letters", 3))
    assert capsys.readouterr() == ("", "")
