"""A few attacks of the campaign ``search_workers``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from benchmarks.reliability.campaign import run_campaign
from benchmarks.reliability.search_workers import CAMPAIGN, begin

KINDS = ("processes", "scheduler")


@pytest.mark.slow
@pytest.mark.distributed
def test_a_search_whose_workers_and_scheduler_stop_finds_every_candidate_once():
    record = run_campaign(replace(CAMPAIGN, begin=partial(begin, only=KINDS)), attacks=len(KINDS) * 2)
    assert record.failed == []
    assert record.attacks >= len(KINDS) * 2
