"""What is a valid set of predictions, and its file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.flips import Predictions, load_predictions

from .helpers import answers


def full() -> Predictions:
    return Predictions(
        model="ofa-300M",
        ids=np.array(["cat/1", "cat/2", "дом"]),
        targets=np.array([0, 1, 2]),
        predicted=np.array([0, 2, 2]),
        logits=np.array([[2, 1, 0], [0, 1, 3], [0, 0, 1]], dtype=np.float32),
        groups=np.array([7, 7, 9]),
        split="report",
    )


def test_accuracy_and_error_rate_by_hand() -> None:
    predictions = answers("1101")
    assert predictions.correct.tolist() == [True, True, False, True]
    assert predictions.accuracy == 0.75
    assert predictions.error_rate == 0.25
    assert len(predictions) == 4


def test_small_integers_and_wide_floats_become_the_declared_types() -> None:
    predictions = Predictions(
        "m", np.arange(2, dtype=np.uint8), np.zeros(2, np.int8), np.ones(2, np.int32), np.zeros((2, 3))
    )
    assert predictions.logits is not None
    kinds = [predictions.ids.dtype, predictions.targets.dtype, predictions.predicted.dtype, predictions.logits.dtype]
    assert kinds == [np.int64, np.int64, np.int64, np.float32]


IDS, ZEROS = np.arange(3), np.zeros(3, dtype=np.int64)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"ids": np.array(["b", "a", "b"])}, "1 ids occur more than once, such as b"),
        ({"ids": np.array([0.5, 1.5, 2.5])}, "ids must be text or integers of shape [N], got float64 [3]"),
        ({"ids": np.array(["a", None, "b"], dtype=object)}, "ids must be text or integers of shape [N], got object"),
        ({"ids": IDS[:, None]}, "got int64 [3, 1]"),
        ({"ids": IDS[:0]}, "ids must have at least one sample, got none"),
        ({"targets": ZEROS[:2]}, "targets must be integers of shape [3] like the ids, got int64 of shape [2]"),
        ({"predicted": np.zeros(3)}, "predicted must be integers of shape [3] like the ids, got float64"),
        ({"targets": np.array([0, -1, 0])}, "targets holds -1, but classes are numbered from 0"),
        ({"groups": np.zeros(4, dtype=np.int64)}, "groups must be integers of shape [3]"),
        ({"logits": np.zeros(3, dtype=np.float32)}, "logits must be floats of shape [3, C], got float32 of shape [3]"),
        ({"logits": np.zeros((2, 5), dtype=np.float32)}, "got float32 of shape [2, 5]"),
        ({"logits": np.zeros((3, 5), dtype=np.int64)}, "got int64 of shape [3, 5]"),
        ({"logits": np.array([[0.0], [np.nan], [np.inf]])}, "2 samples have logits that are not finite, such as 1, 2"),
        ({"logits": np.array([[0.0], [0.0], [1e300]])}, "1 samples have logits that are not finite, such as 2"),
    ],
)
def test_predictions_must_have_one_answer_per_sample(arguments: dict[str, np.ndarray], problem: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        Predictions(**{"model": "m", "ids": IDS, "targets": ZEROS, "predicted": ZEROS, **arguments})
    message = str(caught.value)
    assert message.startswith('predictions of "m": ')
    assert problem in message
    assert "\n" not in message
    assert caught.value.exit_code == 3


def same(one: Predictions, other: Predictions) -> bool:
    arrays = [
        (one.ids, other.ids),
        (one.targets, other.targets),
        (one.predicted, other.predicted),
        (one.logits, other.logits),
        (one.groups, other.groups),
    ]
    alike = all(
        (a is None and b is None) or (a is not None and b is not None and a.dtype == b.dtype and np.array_equal(a, b))
        for a, b in arrays
    )
    return alike and one.model == other.model and one.split == other.split


def test_file_gives_back_every_field(tmp_path: Path) -> None:
    full().save(tmp_path / "full.npz")
    assert same(load_predictions(tmp_path / "full.npz"), full())
    plain = answers("101", "plain")
    plain.save(tmp_path / "plain.npz")
    loaded = load_predictions(tmp_path / "plain.npz")
    assert same(loaded, plain)
    assert loaded.logits is None
    assert loaded.groups is None
    assert not same(loaded, full())


@settings(deadline=None)
@given(
    ids=st.lists(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])), min_size=1, unique=True),
    data=st.data(),
)
def test_round_trip_of_any_text_ids(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], data: st.DataObject
) -> None:
    classes = st.lists(st.integers(0, 2**62), min_size=len(ids), max_size=len(ids))
    predictions = Predictions("m", np.array(ids), np.array(data.draw(classes)), np.array(data.draw(classes)))
    path = tmp_path_factory.mktemp("any") / "p.npz"
    predictions.save(path)
    assert same(load_predictions(path), predictions)


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    full().save(tmp_path / "a.npz")
    full().save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    # The same second would hide a clock in the file.
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_memory_layout_of_the_logits_does_not_change_the_bytes(tmp_path: Path) -> None:
    original = full()
    transposed = Predictions(
        original.model,
        original.ids,
        original.targets,
        original.predicted,
        np.asfortranarray(original.logits),
        original.groups,
        original.split,
    )
    original.save(tmp_path / "c.npz")
    transposed.save(tmp_path / "f.npz")
    assert (tmp_path / "c.npz").read_bytes() == (tmp_path / "f.npz").read_bytes()


def test_the_file_is_an_ordinary_npz_under_the_very_name_asked_for(tmp_path: Path) -> None:
    full().save(tmp_path / "no_suffix")
    with np.load(tmp_path / "no_suffix", allow_pickle=False) as arrays:
        assert set(arrays) == {"id", "target", "predicted", "logits", "group", "model", "split"}
        assert arrays["group"].tolist() == [7, 7, 9]
        assert arrays["model"].item() == "ofa-300M"
        assert arrays["split"].shape == ()


def test_reads_what_numpy_itself_wrote_compressed(tmp_path: Path) -> None:
    np.savez_compressed(
        tmp_path / "p.npz",
        id=np.arange(1000),
        target=np.zeros(1000, dtype=np.int64),
        predicted=np.zeros(1000, dtype=np.int64),
        model=np.array("m"),
        split=np.array(""),
    )
    assert load_predictions(tmp_path / "p.npz").accuracy == 1.0
