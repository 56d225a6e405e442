"""A few attacks of the campaign ``signals``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from benchmarks.processes import Outcome
from benchmarks.reliability.campaign import run_campaign
from benchmarks.reliability.scenarios import printed_command
from benchmarks.reliability.signals import CAMPAIGN, begin


@pytest.mark.slow
def test_an_update_that_signals_interrupt_is_continued_by_the_printed_commands():
    few = replace(CAMPAIGN, begin=partial(begin, only=("update",), signals=2))
    record = run_campaign(few, attacks=1)
    assert record.failed == []
    assert record.attacks >= 1


def test_the_printed_command_is_split_as_a_shell_splits_it():
    stderr = (
        "regnas: interrupted by SIGINT; everything up to here is kept\ncontinue with: regnas run 'a run' --resume\n"
    )
    assert printed_command(Outcome(130, "", stderr)) == ("run", "a run", "--resume")
    assert printed_command(Outcome(143, "", "regnas: interrupted by SIGTERM\n")) == ()
