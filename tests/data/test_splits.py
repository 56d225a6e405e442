"""Splits share nothing, and say so with counts when they would."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from regnas.data import Preprocessing, Split, Splits, hold_out
from regnas.errors import ArtifactError, DataError

PREPROCESSING = Preprocessing((0.5,), (0.25,))


def make_split(name: str, targets: list[int], first_group: int, side: int = 2) -> Split:
    number = len(targets)
    images = (torch.arange(number * side * side) % 256).to(torch.uint8).reshape(number, 1, side, side)
    ids = np.array([f"{name}/{index}" for index in range(number)], dtype=np.str_)
    return Split(name, images, torch.tensor(targets, dtype=torch.int64), ids, np.arange(number) + first_group)


def make_splits(**changes: object) -> Splits:
    parts: dict[str, object] = {
        "train": make_split("train", [0, 1, 0, 1], 0),
        "search": make_split("search", [0, 1], 10),
        "report": make_split("report", [1, 0, 1], 20),
        "classes": ("cat", "dog"),
        "preprocessing": PREPROCESSING,
    }
    return Splits(**(parts | changes))  # type: ignore[arg-type]


def test_sound_splits_describe_themselves() -> None:
    splits = make_splits()
    assert splits.input_shape == (1, 2, 2)
    summary = splits.summary()
    assert {name: part["samples"] for name, part in summary["splits"].items()} == {"train": 4, "search": 2, "report": 3}
    assert summary["classes"] == ["cat", "dog"]
    assert summary["digest"] == make_splits().digest


def test_an_empty_split_is_refused_with_the_counts_of_all() -> None:
    with pytest.raises(
        DataError, match=r"the search split must have samples, got none \(train 4, search 0, report 3\)"
    ):
        make_splits(search=make_split("search", [], 10))


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="report split must be 1 x 2 x 2 as in the train split, got 1 x 3 x 3"):
        make_splits(report=make_split("report", [0, 1], 20, side=3))


def test_a_single_class_is_refused() -> None:
    with pytest.raises(DataError, match='all 3 samples of the train split are "dog"'):
        make_splits(train=make_split("train", [1, 1, 1], 0))


def test_classes_without_training_samples_are_named() -> None:
    with pytest.raises(DataError, match='2 classes of the report split have no training sample: "emu", "fox"'):
        make_splits(report=make_split("report", [3, 2, 0], 20), classes=("cat", "dog", "emu", "fox"))


@pytest.mark.parametrize(("wrong", "first"), [([0, 2, 1, -1], "2 of search/1"), ([-5, 0, 9, 1], "-5 of search/0")])
def test_targets_outside_the_classes_are_counted(wrong: list[int], first: str) -> None:
    with pytest.raises(DataError, match=rf"2 of 4 targets of the search split are outside 0\.\.1, first {first}"):
        make_splits(search=make_split("search", wrong, 10))


def test_an_id_in_two_splits_is_refused() -> None:
    report = make_split("report", [0, 1, 0], 20)
    report = dataclasses.replace(report, ids=np.array(["train/1", "train/3", "x"]))
    with pytest.raises(DataError, match="2 sample ids are used more than once, first train/1"):
        make_splits(report=report)


def test_variants_of_one_original_in_two_splits_are_refused() -> None:
    with pytest.raises(DataError, match=r"2 originals .* train and the report split, first train/2 and report/0"):
        make_splits(report=make_split("report", [0, 1, 0], 2))


def test_repeated_class_names_are_refused() -> None:
    with pytest.raises(DataError, match='1 class names are used twice, first "cat"'):
        make_splits(classes=("cat", "cat"))


def test_preprocessing_for_other_channels_is_refused() -> None:
    with pytest.raises(DataError, match="must have 3 channels as the preprocessing, got 1"):
        make_splits(preprocessing=Preprocessing((0.5,) * 3, (0.5,) * 3))


def test_a_split_of_unequal_lengths_or_wrong_types_is_refused() -> None:
    split = make_split("train", [0, 1], 0)
    with pytest.raises(DataError, match=r"2 images and ids of shape \[1\]"):
        dataclasses.replace(split, ids=split.ids[:1])
    with pytest.raises(DataError, match="must be uint8"):
        dataclasses.replace(split, images=split.images.float())
    with pytest.raises(DataError, match="must be int64"):
        dataclasses.replace(split, targets=split.targets.int())


def test_digest_depends_on_every_part_and_on_nothing_else() -> None:
    split = make_split("train", [0, 1, 0], 0)
    images, targets, ids, groups = split.images.clone(), split.targets.clone(), split.ids.copy(), split.groups.copy()
    assert dataclasses.replace(split, images=images, name="other").digest == split.digest
    images[2, 0, 1, 1] += 1
    targets[2] = 1
    ids[2] = "train/9"
    groups[2] = 9
    changed = [{"images": images}, {"targets": targets}, {"ids": ids}, {"groups": groups}]
    digests = {dataclasses.replace(split, **change).digest for change in changed}  # type: ignore[arg-type]
    assert len(digests | {split.digest}) == 5


def test_digest_of_the_splits_depends_on_the_names_of_the_classes() -> None:
    assert make_splits().digest != make_splits(classes=("cat", "cow")).digest


def test_holding_out_takes_the_search_split_from_the_training_samples() -> None:
    train, report = make_split("train", [0, 1] * 10, 0), make_split("report", [0, 1], 50)
    splits = Splits.holding_out(train, report, ("cat", "dog"), 0.2, seed=3)
    assert (len(splits.train), len(splits.search), len(splits.report)) == (16, 4, 2)
    assert splits.search.targets.bincount().tolist() == [2, 2]
    assert sorted([*splits.train.ids, *splits.search.ids]) == sorted(train.ids)
    assert splits.preprocessing == Preprocessing.fitted_to(splits.train.images)


def test_preprocessing_by_hand() -> None:
    images = torch.tensor([[[[0, 255]], [[51, 51]]]], dtype=torch.uint8)  # [1, 2, 1, 2]
    normalized = Preprocessing((0.5, 0.0), (0.5, 0.1))(images)
    assert normalized.dtype == torch.float32
    torch.testing.assert_close(normalized, torch.tensor([[[[-1.0, 1.0]], [[2.0, 2.0]]]]))


def test_preprocessing_is_fitted_to_each_channel() -> None:
    images = torch.tensor([[[[0]], [[51]]], [[[255]], [[51]]]], dtype=torch.uint8)  # [2, 2, 1, 1]
    fitted = Preprocessing.fitted_to(images)
    assert fitted.mean == pytest.approx((0.5, 0.2))
    assert fitted.std == pytest.approx((0.5, 1 / 255))  # the second channel is constant
    assert Preprocessing.from_json(fitted.to_json()) == fitted
    assert torch.isfinite(fitted(images)).all()


def test_fitted_preprocessing_agrees_with_a_float_copy_of_all() -> None:
    images = torch.randint(0, 256, (5000, 3, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    fitted, floats = Preprocessing.fitted_to(images), images.double() / 255
    assert fitted.mean == pytest.approx(floats.mean(dim=(0, 2, 3)).tolist())
    assert fitted.std == pytest.approx(floats.std(dim=(0, 2, 3), correction=0).tolist())


@pytest.mark.parametrize(
    "value", [{}, {"mean": [0.5]}, {"mean": [0.5], "std": [0.0]}, {"mean": [0.5], "std": [1, 1]}, {"mean": 1, "std": 1}]
)
def test_damaged_preprocessing_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ArtifactError, match="cannot be used"):
        Preprocessing.from_json(value)


targets_and_groups = st.integers(1, 60).flatmap(
    lambda number: st.tuples(
        arrays.arrays(np.int64, number, elements=st.integers(0, 4)),
        arrays.arrays(np.int64, number, elements=st.integers(0, 15)),
    )
)


@given(targets_and_groups, st.floats(0.01, 0.99), st.integers(0, 5))
def test_hold_out_divides_every_class(drawn: tuple[np.ndarray, np.ndarray], fraction: float, seed: int) -> None:
    targets, _ = drawn
    kept, held = hold_out(targets, fraction, seed)
    assert sorted([*kept, *held]) == list(range(len(targets)))
    again = hold_out(targets, fraction, seed)
    assert np.array_equal(kept, again[0]) and np.array_equal(held, again[1])
    for target, number in zip(*np.unique(targets, return_counts=True), strict=True):
        held_number = int((targets[held] == target).sum())
        assert abs(held_number - fraction * number) <= 1
        assert held_number == 0 if number == 1 else 1 <= held_number <= number - 1


@given(targets_and_groups, st.floats(0.01, 0.99), st.integers(0, 5))
def test_hold_out_never_divides_a_group(drawn: tuple[np.ndarray, np.ndarray], fraction: float, seed: int) -> None:
    targets, groups = drawn
    kept, held = hold_out(targets, fraction, seed, groups)
    assert sorted([*kept, *held]) == list(range(len(targets)))
    assert not set(groups[kept]) & set(groups[held])


def test_hold_out_of_one_class_does_not_depend_on_the_others() -> None:
    many, few = np.array([0] * 20 + [1] * 20), np.array([0] * 20)
    held = hold_out(many, 0.3, seed=1)[1]
    assert held[held < 20].tolist() == hold_out(few, 0.3, seed=1)[1].tolist()
    assert held.tolist() != hold_out(many, 0.3, seed=2)[1].tolist()


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_a_fraction_that_leaves_nothing_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        hold_out(np.array([0, 1]), fraction, seed=0)
