"""Shares of the training data, and the classes in another order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.data import WHOLE, DataFraction, Preprocessing, Split, Splits, in_random_class_order


def split(targets, groups=None, name="train", first=0):
    targets = torch.as_tensor(targets, dtype=torch.int64)
    samples = len(targets)
    numbers = np.arange(first, first + samples)
    pixels = torch.from_numpy(numbers % 251).to(torch.uint8)[:, None, None, None].expand(samples, 1, 2, 2)
    return Split(name, pixels, targets, np.array([f"s{n}" for n in numbers]), numbers if groups is None else groups)


def splits(classes=5):
    parts = [split(np.arange(20) % classes, None, name, 100 * index) for index, name in enumerate(["train", "search"])]
    report = split(np.arange(15) % classes, None, "report", 300)
    names = tuple(f"class {number}" for number in range(classes))
    return Splits(*parts, report, names, Preprocessing((0.5,), (0.2,)))


def held(share, whole, classes=4, seed=0):
    return set(share.of(whole, classes, seed).ids.tolist())


fractions = st.floats(0.05, 1.0)


@settings(max_examples=60, deadline=None)
@given(fractions, fractions, fractions, fractions, st.integers(0, 3), st.booleans(), st.randoms())
def test_a_larger_share_holds_every_sample_of_a_smaller_one(samples, more, classes, further, seed, grouped, random):
    variants = 2 if grouped else 1
    targets = np.repeat(np.repeat(np.arange(4), [9, 2, 14, 1]), variants)
    groups = np.repeat(np.arange(26), variants)
    order = random.sample(range(len(targets)), len(targets))
    whole = split(targets[order], groups[order])
    small = DataFraction(min(samples, more), min(classes, further))
    large = DataFraction(max(samples, more), max(classes, further))
    assert held(small, whole, seed=seed) <= held(large, whole, seed=seed)


@pytest.mark.parametrize(
    ("share", "counts"),
    [
        (DataFraction(0.5, 1.0), [5, 10, 1, 4]),
        (DataFraction(0.25, 0.5), [2, 5]),  # of 10, 7.5 are held out, rounded to the even 8
        (DataFraction(1.0, 0.75), [10, 20, 2]),
        (DataFraction(0.01, 1.0), [1, 1, 1, 1]),  # no class is lost
        (DataFraction(0.99, 1.0), [9, 19, 1, 7]),  # and some of each is left for later
    ],
)
def test_samples_are_taken_class_by_class(share, counts):
    whole = split(np.repeat(np.arange(4), [10, 20, 2, 8]))
    assert np.bincount(share.of(whole, 4, 0).targets.numpy()).tolist() == counts


def test_the_samples_come_with_all_that_belongs_to_them_and_in_their_order():
    whole = split(np.arange(40) % 4)
    part = DataFraction(0.5, 0.5).of(whole, 4, 0)
    chosen = [whole.ids.tolist().index(name) for name in part.ids.tolist()]
    assert chosen == sorted(chosen)
    assert len(chosen) == 10
    assert part.name == "train"
    assert torch.equal(part.images, whole.images[chosen])
    assert torch.equal(part.targets, whole.targets[chosen])
    assert part.groups.tolist() == whole.groups[chosen].tolist()


def test_another_seed_is_another_half():
    whole = split(np.arange(80) % 4)
    assert held(DataFraction(0.5), whole, seed=0) != held(DataFraction(0.5), whole, seed=1)
    assert held(DataFraction(0.5), whole, seed=0) == held(DataFraction(0.5), whole, seed=0)


def test_variants_of_an_original_stay_together():
    groups = np.arange(60) // 3 % 20
    whole = split(groups % 4, groups)
    part = DataFraction(0.4).of(whole, 4, 0)
    _, counts = np.unique(part.groups, return_counts=True)
    assert counts.tolist() == [3] * 8  # 2 of the 5 originals of each of 4 classes, each with its 3 variants


@pytest.mark.parametrize(
    ("fraction", "total", "known"),
    [(1.0, 10, 10), (0.5, 10, 5), (0.5, 4, 2), (0.26, 10, 3), (0.01, 10, 2), (0.01, 2, 2), (0.99, 3, 3), (0.7, 3, 2)],
)
def test_a_share_of_the_classes_is_rounded_and_at_least_two(fraction, total, known):
    assert DataFraction(classes=fraction).classes_of(total) == known


def test_the_classes_of_a_share_are_the_first_ones():
    part = DataFraction(classes=0.5).of(split(np.arange(40) % 4), 4, 0)
    assert sorted(set(part.targets.tolist())) == [0, 1]
    assert len(part) == 20


def test_a_share_that_leaves_nothing_out_is_the_split_itself():
    whole = split(np.arange(12) % 3)
    assert WHOLE.of(whole, 3, 0) is whole
    assert DataFraction(1.0, 0.9).of(whole, 3, 0) is whole  # 2.7 of 3 classes are 3
    singles = split(np.arange(3))
    assert DataFraction(0.5, 1.0).of(singles, 3, 0) is singles  # a class with one sample keeps it


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.01, float("nan")])
@pytest.mark.parametrize("key", ["samples", "classes"])
def test_an_impossible_share_is_refused_with_its_name_and_value(key, bad):
    with pytest.raises(ValueError, match=f"{key} must be above 0 and at most 1, got {bad}"):
        DataFraction(**{key: bad})


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 9))
def test_in_another_order_every_sample_keeps_the_name_of_its_class(seed, classes):
    before = splits(classes)
    after = in_random_class_order(before, seed)
    assert sorted(after.classes) == sorted(before.classes)
    for old, new in zip(before.all, after.all, strict=True):
        assert [before.classes[t] for t in old.targets.tolist()] == [after.classes[t] for t in new.targets.tolist()]
        assert new.ids.tolist() == old.ids.tolist()
        assert torch.equal(new.images, old.images)


def test_the_order_of_the_classes_is_keyed_by_the_seed_and_not_the_one_they_had():
    orders = [in_random_class_order(splits(9), seed).classes for seed in range(5)]
    assert len(set(orders)) == 5
    assert in_random_class_order(splits(9), 3).classes == orders[3]
    assert splits(9).classes not in orders
    assert in_random_class_order(splits(9), 0).digest != splits(9).digest
