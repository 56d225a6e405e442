"""Models are compared sample by sample, for every order of their files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.flips import Predictions, align

from .helpers import answers, shuffled
from .test_predictions import full, same


def refusal(*predictions: Predictions) -> str:
    with pytest.raises(ArtifactError) as caught:
        align(predictions)
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    return str(caught.value)


def named(model: str, ids: list[str] | list[int], targets: list[int] | None = None) -> Predictions:
    zeros = np.zeros(len(ids), dtype=np.int64)
    return Predictions(model, np.array(ids), zeros if targets is None else np.array(targets), zeros)


@settings(deadline=None)
@given(first=st.integers(0, 1000), second=st.integers(0, 1000))
def test_every_field_follows_the_order_of_the_first(first: int, second: int) -> None:
    leader = shuffled(full(), first)
    follower = align([leader, shuffled(full(), second)])[1]
    assert same(follower, leader)


def test_the_first_keeps_its_order() -> None:
    leader = named("a", ["z", "x", "y"])
    aligned = align([leader, named("b", ["x", "y", "z"]), named("c", ["y", "z", "x"])])
    assert [each.model for each in aligned] == ["a", "b", "c"]
    assert all(each.ids.tolist() == ["z", "x", "y"] for each in aligned)


def test_differing_ids_are_counted_and_shown() -> None:
    message = refusal(named("old", ["a", "b", "c", "d", "e"]), named("new", ["a", "x"]))
    assert '"old" and "new" were not evaluated on the same samples' in message
    assert '4 ids only in "old" (b, c, d), 1 ids only in "new" (x)' in message


def test_samples_missing_on_one_side_only() -> None:
    message = refusal(named("old", [1, 2, 3]), named("new", [3, 1]))
    assert '1 ids only in "old" (2), 0 ids only in "new".' in message


def test_differing_targets_are_counted_and_shown() -> None:
    message = refusal(named("old", [5, 6, 7, 8, 9], [0, 1, 1, 1, 1]), named("new", [9, 8, 7, 6, 5], [0, 0, 0, 0, 0]))
    assert '"old" and "new" have different targets on 4 of 5 samples, such as 6, 7, 8' in message


def test_text_and_integer_ids_do_not_mix() -> None:
    message = refusal(named("old", [1, 2]), named("new", ["1", "2"]))
    assert "by integers (1, 2) and by text (1, 2)" in message


def test_nothing_to_align() -> None:
    assert refusal() == "predictions must be those of at least one model, got none"


def test_one_model_alone_is_aligned() -> None:
    only = answers("10")
    assert align([only]) == (only,)
