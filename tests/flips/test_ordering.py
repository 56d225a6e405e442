"""Ids are ordered by fingerprints, and two ids may have the same fingerprint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.flips import Predictions, align, ordering
from regnas.flips.ordering import distinct, fingerprints, quick_order, same_ids

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6), min_size=1)


def named(model: str, ids: list[str]) -> Predictions:
    return Predictions(model, np.array(ids), np.arange(len(ids)) % 2, np.zeros(len(ids), dtype=np.int64))


@pytest.fixture
def colliding(monkeypatch):
    """Fingerprints that are the same for all texts of one length."""
    monkeypatch.setattr(ordering, "fingerprints", lambda ids: np.char.str_len(ids).astype(np.uint64))


def test_the_width_of_the_array_does_not_matter():
    short, wide = np.array(["ab", "c"]), np.array(["ab", "c", "a much longer one"])
    assert fingerprints(short).tolist() == fingerprints(wide)[:2].tolist()


def test_characters_in_another_order_have_another_fingerprint():
    assert len(set(fingerprints(np.array(["ab", "ba", "a", "b", ""])).tolist())) == 5


@given(texts)
def test_repeated_ids_are_those_that_a_plain_count_finds(ids):
    array = np.array(ids)
    expected = sorted({each for each in ids if ids.count(each) > 1})
    assert quick_order(array)[1].tolist() == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_repeated_integers(ids):
    array = np.array(ids, dtype=np.int64)
    assert quick_order(array)[1].tolist() == sorted({each for each in ids if ids.count(each) > 1})


def test_same_ids_looks_at_the_texts_themselves_in_arrays_of_any_width():
    position = np.array([1, 0])
    assert same_ids(np.array(["a", "b"]), np.array(["b", "a"], dtype="U9"), position)
    assert not same_ids(np.array(["a", "b"]), np.array(["b", "ax"]), position)


def test_ids_with_the_same_fingerprint_are_distinguished(colliding):
    first, other = named("a", ["cat", "dog", "owl"]), named("b", ["dog", "owl", "cat"])
    assert named("a", ["cat", "dog"]).id_order.tolist() == [0, 1]
    with pytest.raises(ArtifactError, match="different targets on 2 of 3"):
        align([first, other])
    other = Predictions("b", other.ids, np.array([1, 0, 0]), np.array([1, 0, 2]))
    assert align([first, other])[1].predicted.tolist() == [2, 1, 0]


def test_repeated_ids_are_found_among_those_with_the_same_fingerprint(colliding):
    with pytest.raises(ArtifactError, match="1 ids occur more than once, such as dog"):
        named("a", ["cat", "dog", "owl", "dog"])


@given(texts)
def test_distinct_values_are_those_of_numpy(ids):
    array = np.array(ids)
    values, codes = distinct(array)
    assert values.tolist() == sorted(set(ids))
    assert values[codes].tolist() == ids


def test_distinct_integers_are_sorted_as_numbers():
    values, codes = distinct(np.array([3, -1, 10, 3]))
    assert (values.tolist(), codes.tolist()) == ([-1, 3, 10], [1, 0, 2, 1])


def test_distinct_values_with_the_same_fingerprint(colliding):
    values, codes = distinct(np.array(["owl", "cat", "owl"]))
    assert (values.tolist(), codes.tolist()) == (["cat", "owl"], [1, 0, 1])
