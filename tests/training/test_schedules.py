from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.training.schedules import SCHEDULES, Constant, HalfCosine, Ramp


def test_a_ramp_rises_between_start_and_full():
    ramp = Ramp(start=0.25, full=0.75)
    assert [ramp(progress) for progress in (0.0, 0.2, 0.25, 0.5, 0.75, 1.0)] == [0, 0, 0, 0.5, 1.0, 1.0]
    sudden = Ramp(start=0.5, full=0.5)
    assert [sudden(progress) for progress in (0.49, 0.51)] == [0, 1.0]


def test_half_a_cosine_rises_from_start_to_the_end():
    schedule = HalfCosine(start=0.5)
    assert [schedule(progress) for progress in (0.0, 0.5, 0.75, 1.0)] == pytest.approx([0, 0, 0.5, 1.0])


@given(st.sampled_from([Constant(), Ramp(0.2, 0.9), HalfCosine(0.3)]), st.floats(0, 1), st.floats(0, 1))
def test_no_schedule_falls_or_leaves_its_range(schedule, one, other):
    early, late = sorted((one, other))
    assert 0 <= schedule(early) <= schedule(late) <= 1


def test_a_ramp_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="0 <= start <= full <= 1"):
        Ramp(start=0.5, full=0.4)
    assert set(SCHEDULES) == {"constant", "ramp", "half_cosine"}
