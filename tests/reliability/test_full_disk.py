"""A few failing writes; ``python -m benchmarks.reliability full_disk`` makes them at every place of every command."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial

import pytest

from benchmarks.reliability.campaign import run_campaign
from benchmarks.reliability.full_disk import CAMPAIGN, begin

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="the failing library needs a C compiler"),
]


def test_a_command_whose_writes_fail_ends_with_5_and_continues_with_the_same_bytes():
    few = replace(CAMPAIGN, begin=partial(begin, only=("compare",)))
    record = run_campaign(few, attacks=6)
    assert record.failed == []
    assert record.failures == 0
    assert record.attacks >= 6
