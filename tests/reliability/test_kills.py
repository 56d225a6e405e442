"""A few attacks of the campaign ``kills``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from benchmarks.reliability.campaign import run_campaign
from benchmarks.reliability.kills import CAMPAIGN, begin


@pytest.mark.slow
def test_an_update_that_is_killed_at_file_operations_ends_with_the_same_bytes():
    few = replace(CAMPAIGN, begin=partial(begin, only=("update",), kills=3))
    record = run_campaign(few, attacks=1)
    assert record.failed == []
    assert record.attacks >= 1
