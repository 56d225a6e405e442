"""Which output is which class: by name, by number if the order is well known, and never by guessing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import DataError
from regnas.prediction.classes import outputs_by_class

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8, unique=True)


@given(NAMES, st.randoms(use_true_random=False), st.booleans())
def test_names_in_any_order_are_found_by_name(known, random, by_number):
    wanted = random.sample(known, len(known))
    outputs = outputs_by_class("m", known, "d", wanted, by_number=by_number)
    if set(known) != {str(number) for number in range(len(known))}:
        assert [known[output] for output in outputs] == wanted


def test_a_class_too_few_or_too_many_is_refused_with_counts_and_three_examples():
    with pytest.raises(DataError) as caught:
        outputs_by_class("net", ["a", "b"], "photos", ["a", "c", "d", "e", "f"], by_number=False)
    assert str(caught.value) == (
        'photos and net must have the same classes, got 4 of 5 only in photos ("c", "d", "e"), 1 of 2 only in net ("b")'
    )
    with pytest.raises(DataError, match=r'0 of 1 only in photos, 1 of 2 only in net \("b"\)'):
        outputs_by_class("net", ["a", "b"], "photos", ["a"], by_number=False)


def test_as_many_classes_under_other_names_are_taken_in_order_only_where_the_order_is_well_known():
    known, wanted = ["tench", "goldfish", "shark"], ["n01440764", "n01443537", "n01484850"]
    assert outputs_by_class("net", known, "imagenet", wanted, by_number=True) == [0, 1, 2]
    with pytest.raises(DataError):
        outputs_by_class("net", known, "imagenet", wanted, by_number=False)


def test_names_that_contradict_the_order_are_refused():
    with pytest.raises(DataError, match=r'the names or the order of those of net, got 1 at another number \("tench"\)'):
        outputs_by_class("net", ["tench", "goldfish", "shark"], "fish", ["cod", "tench", "ray"], by_number=True)


def test_some_of_the_published_classes_come_first_and_the_others_after_them():
    known = ["tench", "goldfish", "shark", "ray"]
    assert outputs_by_class("net", known, "fish", ["ray", "goldfish"], by_number=True) == [3, 1, 0, 2]


def test_numbers_as_names_are_numbers_although_folders_sort_them_as_text():
    wanted = sorted(str(number) for number in range(12))
    known = [f"category {number}" for number in range(12)]
    assert wanted[:4] == ["0", "1", "10", "11"]
    assert outputs_by_class("net", known, "folder", wanted, by_number=True) == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
