"""Files of any formats and orders, joined by id."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regnas.comparison.inputs import join_models
from regnas.comparison.joining import model_names
from regnas.errors import ArtifactError, ConfigurationError

from .helpers import FORMATS, write


def refusal(*paths: Path, kind=ArtifactError) -> str:
    with pytest.raises(kind) as caught:
        join_models(list(paths))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("ids", [["a", "b", "c"], [5, 6, 7]])
def test_any_format_in_any_order(tmp_path, suffix, ids):
    first = write(
        tmp_path / "old.npz", id=ids, target=["x", "y", "z"], predicted=["x", "y", "x"], place=["p", "q", "q"]
    )
    order = [2, 0, 1]
    second = write(
        tmp_path / f"new.{suffix}",
        id=[ids[place] for place in order],
        target=["z", "x", "y"],
        predicted=["z", "w", "y"],
        device=["d2", "d0", "d1"],
    )
    joined = join_models([first, second])
    assert joined.models == ("old", "new")
    assert joined.correct.tolist() == [[True, True, False], [False, True, True]]
    assert [joined.classes[target] for target in joined.targets] == ["x", "y", "z"]
    assert joined.slices["place"].tolist() == ["p", "q", "q"]
    assert joined.slices["device"].tolist() == ["d0", "d1", "d2"]


def test_a_slice_is_taken_from_the_first_file_that_has_it(tmp_path):
    common = {"id": [1, 2], "target": [0, 0], "predicted": [0, 1]}
    a = write(tmp_path / "a.csv", **common)
    b = write(tmp_path / "b.csv", **common, device=["x", "y"])
    c = write(tmp_path / "c.csv", **common, device=["other", "other"])
    assert join_models([a, b, c]).slices["device"].tolist() == ["x", "y"]


def test_integer_ids_match_the_same_texts(tmp_path):
    a = write(tmp_path / "a.csv", id=["1", "2"], target=[0, 1], predicted=[0, 0])
    b = write(tmp_path / "b.npz", id=["2", "1"], target=[1, 0], predicted=[1, 1])
    assert join_models([a, b]).correct.tolist() == [[True, False], [False, True]]
    assert join_models([b, a]).correct.tolist() == [[True, False], [False, True]]


def test_classes_called_like_numbers_match_those_that_were_taken_for_numbers(tmp_path):
    a = write(tmp_path / "a.csv", id=[1, 2], target=["0", "1"], predicted=["0", "0"])
    b = write(tmp_path / "b.csv", id=[1, 2], target=["0", "1"], predicted=["none of these", "1"])
    joined = join_models([a, b])
    assert joined.correct.tolist() == [[True, False], [False, True]]
    assert set(joined.classes) == {"0", "1", "none of these"}
    assert join_models([b, a]).correct.tolist() == [[False, True], [True, False]]


def test_numbers_and_names_are_refused(tmp_path):
    a = write(tmp_path / "a.csv", id=[1, 2], target=[0, 1], predicted=[0, 0])
    b = write(tmp_path / "b.csv", id=[1, 2], target=["cat", "dog"], predicted=["cat", "cat"])
    assert 'got numbers from "a" (0, 1) and names from "b" (cat, dog)' in refusal(a, b)
    assert 'got numbers from "a" (0, 1) and names from "b" (cat, dog)' in refusal(b, a)


def test_other_ids_targets_and_lengths(tmp_path):
    a = write(tmp_path / "a.csv", id=[1, 2, 3, 4, 5], target=[0] * 5, predicted=[0] * 5)
    b = write(tmp_path / "b.csv", id=[1, 9], target=[0, 0], predicted=[0, 0])
    assert '4 ids only in "a" (2, 3, 4), 1 ids only in "b" (9)' in refusal(a, b)
    c = write(tmp_path / "c.csv", id=[5, 4, 3, 2, 1], target=[0, 1, 1, 1, 1], predicted=[0] * 5)
    assert '"a" and "c" have different targets on 4 of 5 samples, such as 1, 2, 3' in refusal(a, c)


def test_clusters_of_one_file_hold_for_all_and_must_not_differ(tmp_path):
    common = {"id": [1, 2, 3], "target": [0] * 3, "predicted": [0] * 3}
    a = write(tmp_path / "a.csv", **common)
    b = write(tmp_path / "b.csv", **{name: values[::-1] for name, values in common.items()}, group=[8, 7, 7])
    c = write(tmp_path / "c.csv", **common, group=[7, 7, 7])
    assert join_models([a, b]).groups.tolist() == [7, 7, 8]
    assert "different clusters" in refusal(a, b, c)


def test_a_single_file_cannot_be_compared(tmp_path):
    assert "at least two models, got 1" in refusal(tmp_path / "a.csv", kind=ConfigurationError)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.csv", "b.v2.npz"], ("a", "b.v2")),
        (["x/m.csv", "y/m.npz", "n.csv"], ("x/m", "y/m", "n")),
        (["r1/predictions/small.npz", "r2/predictions/small.npz"], ("r1/predictions/small", "r2/predictions/small")),
    ],
)
def test_names_of_models(paths, names):
    assert model_names([Path(path) for path in paths]) == names


def test_two_files_of_one_name():
    with pytest.raises(ConfigurationError, match=r'must differ, got "m" for .*m.csv and .*m.npz'):
        model_names([Path("m.csv"), Path("m.npz")])
    with pytest.raises(ConfigurationError, match=r'must differ, got "m" for .*m.csv and .*m.csv'):
        model_names([Path("m.csv"), Path("m.csv")])


def test_a_name_that_is_not_valid_unicode_can_be_written():
    assert model_names([Path("a\udcff.csv"), Path("b.csv")]) == ("a\ufffd", "b")


def test_shuffled_texts_find_their_place(tmp_path):
    """Texts with the same beginning, against the predictions by position."""
    random = np.random.default_rng(0)
    ids = [f"folder/with/a/long/name/{n:06d}.png" for n in range(3000)]
    right = random.random(3000) < 0.5
    order = random.permutation(3000)
    a = write(tmp_path / "a.npz", id=ids, target=[0] * 3000, predicted=[0] * 3000)
    b = write(
        tmp_path / "b.parquet",
        id=[ids[place] for place in order],
        target=[0] * 3000,
        predicted=[int(not right[place]) for place in order],
    )
    assert np.array_equal(join_models([a, b]).correct[1], right)
