"""A few attacks of the campaign ``kills``."""

from __future__ import annotations

import pytest

from benchmarks.reliability.campaign import run_campaign
from benchmarks.reliability.kills import CAMPAIGN


@pytest.mark.slow
def test_a_run_that_is_killed_at_file_operations_ends_with_the_same_bytes():
    record = run_campaign(CAMPAIGN, attacks=2)
    assert record.failed == []
    assert record.attacks >= 2
