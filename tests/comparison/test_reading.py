"""The same content in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regnas.comparison import read_predictions
from regnas.flips import Predictions

from .helpers import FORMATS, write


@pytest.fixture(params=FORMATS)
def path(tmp_path: Path, request) -> Path:
    return tmp_path / f"mine.{request.param}"


def test_integers(path):
    read = read_predictions(write(path, id=[7, 5], target=[0, 1], predicted=[1, 1]))
    assert read.predictions.model == "mine"
    assert read.predictions.ids.tolist() == [7, 5]
    assert read.predictions.ids.dtype == np.int64
    assert read.predictions.targets.tolist() == [0, 1]
    assert read.predictions.predicted.tolist() == [1, 1]
    assert (read.classes, dict(read.slices), read.predictions.groups) == (None, {}, None)


def test_names_are_numbered_over_targets_and_answers(path):
    read = read_predictions(write(path, id=["ä", "b"], target=["owl", "cat"], predicted=["dog", "cat"]))
    assert read.predictions.ids.tolist() == ["ä", "b"]
    assert read.classes == ("cat", "dog", "owl")
    assert read.predictions.targets.tolist() == [2, 0]
    assert read.predictions.predicted.tolist() == [1, 0]


def test_the_answer_is_the_highest_score(path):
    scores = [[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]]
    for name in ("logits", "probabilities"):
        read = read_predictions(write(path, id=[1, 2], target=[0, 0], **{name: scores}))
        assert read.predictions.predicted.tolist() == [0, 2]
        assert read.predictions.logits is None
        assert not read.slices


def test_scores_are_kept_where_asked_and_probabilities_become_logits(path):
    scores = [[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]]
    write(path, id=[1, 2], target=[0, 0], predicted=[1, 1], probabilities=scores)
    assert read_predictions(path).predictions.logits is None
    kept = read_predictions(path, keep_scores=True).predictions
    assert kept.predicted.tolist() == [1, 1]  # the column of the file, not the highest score
    assert np.exp(kept.logits) == pytest.approx(np.array(scores), abs=1e-6)


def test_further_columns_are_slices_and_groups_are_clusters(path):
    write(path, id=[1, 2, 3], target=[0, 0, 1], predicted=[0, 1, 1], country=["de", "fr", "de"], age=[3, 3, 40],
          group=[9, 9, 4], model=["x", "x", "x"], split=["s", "s", "s"])  # fmt: skip
    read = read_predictions(path)
    assert set(read.slices) == {"country", "age"}
    assert read.slices["country"].tolist() == ["de", "fr", "de"]
    assert [str(each) for each in read.slices["age"].tolist()] == ["3", "3", "40"]
    assert read.predictions.groups.tolist() == [9, 9, 4]


def test_clusters_may_have_names(path):
    groups = read_predictions(
        write(path, id=[1, 2, 3], target=[0, 0, 1], predicted=[0, 1, 1], group=["p2", "p1", "p2"])
    ).predictions.groups
    assert groups.tolist() == [1, 0, 1]


def test_a_column_of_many_values_is_not_a_slice(path):
    ids = list(range(1001))
    write(path, id=ids, target=[0] * 1001, predicted=[0] * 1001, picture=[f"{each}.png" for each in ids])
    read = read_predictions(path)
    assert not read.slices
    assert read.left_out == {"picture": "it has 1,001 different values, more than 1,000"}


def test_slices_that_are_known_already_are_not_read(path):
    write(path, id=[1], target=[0], predicted=[0], country=["de"], device=["phone"])
    assert set(read_predictions(path, without_slices={"country"}).slices) == {"device"}


def test_ids_with_leading_zeros_stay_texts_in_csv(tmp_path):
    path = write(tmp_path / "a.csv", id=["007", "7"], target=[0, 1], predicted=[0, 1])
    assert read_predictions(path).predictions.ids.tolist() == ["007", "7"]


def test_floats_without_a_fraction_are_classes(tmp_path):
    for suffix in ("csv", "parquet", "npz"):
        path = write(tmp_path / f"a.{suffix}", id=[1, 2], target=[0.0, 3.0], predicted=[1.0, 3.0])
        assert read_predictions(path).predictions.targets.tolist() == [0, 3]


def test_classes_of_which_only_some_look_like_numbers_are_names(tmp_path):
    read = read_predictions(write(tmp_path / "a.csv", id=[1, 2], target=["0", "other"], predicted=["0", "0"]))
    assert read.classes == ("0", "other")


def test_regnas_own_files(tmp_path):
    own = Predictions("ignored", np.array(["a", "b"]), np.array([0, 1]), np.array([1, 1]),
                      np.array([[0, 1], [0, 1]], dtype=np.float32), np.array([5, 5]), "report")  # fmt: skip
    own.save(tmp_path / "small.npz")
    read = read_predictions(tmp_path / "small.npz", keep_scores=True)
    assert read.predictions.model == "small"
    assert read.predictions.groups.tolist() == [5, 5]
    assert read.predictions.logits.tolist() == [[0, 1], [0, 1]]
    assert not read.slices


def test_quotes_newlines_and_a_byte_order_mark_in_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeffid,target,predicted,text\n"a,1",0,1,"two\nlines"\nb,1,1,x\n'.encode())
    read = read_predictions(path)
    assert read.predictions.ids.tolist() == ["a,1", "b"]
    assert read.slices["text"].tolist() == ["two\nlines", "x"]


def test_parquet_of_pandas_with_categories_missing_slices_and_an_index(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "id": pa.array(["a", "b"], pa.large_string()),
        "target": pa.array(["x", "y"]).dictionary_encode(),
        "predicted": pa.array(["x", "x"]).dictionary_encode(),
        "country": pa.array(["de", None]),
        "is_night": pa.array([True, False]),
        "is_wet": pa.array([None, False]),
        "age": pa.array([None, 40], pa.int16()),
        "seconds": pa.array([0.5, 0.25]),
        "__index_level_0__": pa.array([0, 1]),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1)
    read = read_predictions(path)
    assert read.predictions.ids.tolist() == ["a", "b"]
    assert read.predictions.correct.tolist() == [True, False]
    assert {name: values.tolist() for name, values in read.slices.items()} == {
        "country": ["de", ""],
        "is_night": ["true", "false"],
        "is_wet": ["", "false"],
        "age": ["", "40"],
    }
    assert read.left_out == {"seconds": "it holds floating point numbers"}
