"""A few attacks of the campaign ``shared_database``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from benchmarks.reliability.campaign import run_campaign
from benchmarks.reliability.shared_database import CAMPAIGN, begin


@pytest.mark.slow
def test_commands_that_start_on_one_run_at_the_same_moment_do_not_disturb_each_other():
    record = run_campaign(replace(CAMPAIGN, begin=partial(begin, only=("one run",))), attacks=2)
    assert record.failed == []
    assert record.attacks >= 2
