"""Data frames of pandas, polars and pyarrow, with every type of column that can hold classes, slices and scores."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import regnas
from regnas.comparison.files.columns import Coded
from regnas.comparison.files.frames import FrameColumns
from regnas.errors import ArtifactError

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

WHERE = 'model "m"'


def content(frame, *columns):
    """The columns as lists; of a column that cannot be a slice, the reason."""
    file = FrameColumns(frame, WHERE)
    assert set(columns) <= set(file.columns), file.columns
    read = file.read(columns or file.columns, None).columns
    return {name: each if isinstance(each, str) else listed(each) for name, each in read.items()}


def listed(column):
    return (column.values[column.codes] if isinstance(column, Coded) else column).tolist()


def refusal(frame, *columns, scores=None) -> str:
    with pytest.raises(ArtifactError) as caught:
        FrameColumns(frame, WHERE).read(columns, scores)
    assert str(caught.value).startswith(WHERE) and "\n" not in str(caught.value)
    return str(caught.value).removeprefix(WHERE)


TEXTS = {
    "object": lambda values, name="x": pandas.DataFrame({name: pandas.Series(values, dtype=object)}),
    "string": lambda values, name="x": pandas.DataFrame({name: pandas.array(values, dtype="string")}),
    "string of arrow": lambda values, name="x": pandas.DataFrame({name: pandas.array(values, dtype="string[pyarrow]")}),
    "arrow": lambda values, name="x": pandas.DataFrame(
        {name: pandas.array(values, dtype=pandas.ArrowDtype(pa.string()))}
    ),
    "category": lambda values, name="x": pandas.DataFrame({name: pandas.Categorical(values)}),
    "polars": lambda values, name="x": polars.DataFrame({name: values}),
    "polars category": lambda values, name="x": polars.DataFrame(
        {name: polars.Series(values, dtype=polars.Categorical)}
    ),
    "polars enum": lambda values, name="x": polars.DataFrame(
        {name: polars.Series(values, dtype=polars.Enum(["ä", "b", ""]))}
    ),
    "polars lazy": lambda values, name="x": polars.LazyFrame({name: values}),
    "pyarrow": lambda values, name="x": pa.table({name: values}),
    "pyarrow chunks": lambda values, name="x": pa.table({name: pa.chunked_array([values[:1], values[1:]])}),
    "pyarrow large": lambda values, name="x": pa.table({name: pa.array(values, pa.large_string())}),
    "pyarrow view": lambda values, name="x": pa.table({name: pa.array(values, pa.string_view())}),
    "pyarrow dictionary": lambda values, name="x": pa.table({name: pa.array(values).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_of_every_type(kind):
    frame = TEXTS[kind]
    assert content(frame(["ä", "b", "ä"]), "x") == {"x": ["ä", "b", "ä"]}
    assert content(frame(["ä", None, "", "b"]), "x") == {"x": ["ä", "", "", "b"]}


@pytest.mark.parametrize("kind", TEXTS)
def test_missing_texts_are_refused_by_row_where_they_are_needed(kind):
    for name in ("id", "target", "predicted", "group"):
        assert refusal(TEXTS[kind](["ä", None, "b", None], name), name) == (
            f': column "{name}" must have a value for every sample, got none in 2 of 4 rows, such as row 2, 4'
        )


NUMBERS = {
    "int64": lambda values: pandas.DataFrame({"x": pandas.array(values, dtype="Int64")}),
    "uint8": lambda values: pandas.DataFrame({"x": pandas.array(values, dtype="UInt8")}),
    "float": lambda values: pandas.DataFrame({"x": np.array(values, dtype=float)}),
    "object": lambda values: pandas.DataFrame({"x": pandas.Series(values, dtype=object)}),
    "category": lambda values: pandas.DataFrame({"x": pandas.Categorical(values)}),
    "arrow": lambda values: pandas.DataFrame({"x": pandas.array(values, dtype=pandas.ArrowDtype(pa.int16()))}),
    "polars": lambda values: polars.DataFrame({"x": polars.Series(values, dtype=polars.Int32)}),
    "pyarrow": lambda values: pa.table({"x": pa.array(values, pa.uint64())}),
    "pyarrow dictionary": lambda values: pa.table({"x": pa.array(values).dictionary_encode()}),
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_integers_of_every_type(kind):
    assert content(NUMBERS[kind]([3, 0, 40]), "x") == {"x": [3, 0, 40]}
    assert content(NUMBERS[kind]([3, None, 40]), "x") == {"x": ["3", "", "40"]}


BOOLEANS = {
    "boolean": lambda values: pandas.DataFrame({"x": pandas.array(values, dtype="boolean")}),
    "object": lambda values: pandas.DataFrame({"x": pandas.Series(values, dtype=object)}),
    "polars": lambda values: polars.DataFrame({"x": values}),
    "pyarrow": lambda values: pa.table({"x": values}),
}


@pytest.mark.parametrize("kind", BOOLEANS)
def test_booleans_of_every_type(kind):
    assert content(BOOLEANS[kind]([True, False]), "x") == {"x": [True, False]}
    assert content(BOOLEANS[kind]([True, None, False]), "x") == {"x": ["true", "", "false"]}


ROWS = [[0.5, 1.0], [2.0, -3.0]]
LISTS = {
    "lists": lambda rows: pandas.DataFrame({"logits": rows}),
    "arrays": lambda rows: pandas.DataFrame({"logits": [np.array(row) for row in rows]}),
    "arrow": lambda rows: pandas.DataFrame(
        {"logits": pandas.array(rows, dtype=pandas.ArrowDtype(pa.list_(pa.float64())))}
    ),
    "polars": lambda rows: polars.DataFrame({"logits": rows}),
    "pyarrow": lambda rows: pa.table({"logits": pa.chunked_array([rows[:1], rows[1:]])}),
    "pyarrow large": lambda rows: pa.table({"logits": pa.array(rows, pa.large_list(pa.float32()))}),
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_scores_of_every_type(kind):
    file = FrameColumns(LISTS[kind](ROWS), WHERE)
    assert (file.columns, file.scores) == ([], ["logits"])
    assert file.read([], "logits").scores.tolist() == ROWS
    assert file.read([], "logits").scores.dtype == np.float32
    message = refusal(LISTS[kind]([[0.5, 1.0], [1.0]]), scores="logits")
    assert message == ': column "logits" must have as many values in every row, got 2 in row 1 and 1 in row 2'


@pytest.mark.parametrize("kind", ["lists", "arrow", "polars", "pyarrow", "pyarrow large"])
def test_missing_lists_and_scores(kind):
    message = refusal(LISTS[kind]([[0.5, 1.0], None]), scores="logits")
    assert message == ': column "logits" must have a value for every sample, got none in 1 of 2 rows, such as row 2'
    scores = FrameColumns(LISTS[kind]([[0.5, 1.0], [None, 2.0]]), WHERE).read([], "logits").scores
    assert np.isnan(scores).tolist() == [[False, False], [True, False]]


def test_arrays_of_a_fixed_size_are_scores():
    frames = [
        polars.DataFrame({"logits": polars.Series(ROWS, dtype=polars.Array(polars.Float32, 2))}),
        pa.table({"logits": pa.array(ROWS, pa.list_(pa.float64(), 2))}),
    ]
    for frame in frames:
        assert FrameColumns(frame, WHERE).read([], "logits").scores.tolist() == ROWS


def test_lists_of_something_else_are_refused():
    for frame in (pa.table({"logits": [["a"], ["b"]]}), pandas.DataFrame({"logits": [["a"], ["b"]]})):
        assert ': column "logits" must hold lists of numbers, got ' in refusal(frame, scores="logits")
    nested = polars.DataFrame({"logits": [[[1.0], [2.0]]]})
    assert ': column "logits" must hold lists of numbers, got List(List(Float64))' in refusal(nested, scores="logits")


def test_columns_of_scores():
    for library in (pandas.DataFrame, polars.DataFrame, pa.table):
        frame = library({"logits_1": [1.0, 3.0], "logits_0": [0, 2], "id": [1, 2]})
        file = FrameColumns(frame, WHERE)
        assert (file.columns, file.scores) == (["id"], ["logits"])
        assert file.read([], "logits").scores.tolist() == [[0, 1], [2, 3]]
        assert "must have columns of logits numbered from 0, one per class, got 2 without logits_1" in refusal(
            library({"logits_0": [0.5], "logits_2": [0.5]}), scores="logits"
        )
        assert ': column "logits_1" must hold numbers, got String' in refusal(
            library({"logits_0": [0.5], "logits_1": ["a"]}), scores="logits"
        )
    missing = polars.DataFrame({"logits_0": [0.5, None], "logits_1": [1, None]})
    assert np.isnan(FrameColumns(missing, WHERE).read([], "logits").scores).tolist() == [[False] * 2, [True] * 2]


def test_columns_that_cannot_be_used_are_left_out():
    day = datetime.date(2026, 1, 1)
    for frame in (
        pandas.DataFrame({"id": [1], "day": [pandas.Timestamp(day)], "list": [[1, 2]]}, index=[7]),
        polars.DataFrame({"id": [1], "day": [day], "list": [[1, 2]], "nothing": [None]}),
        pa.table({"id": [1], "day": [day], "list": [[1, 2]], "bytes": [b"a"], "__index_level_0__": [7]}),
    ):
        assert FrameColumns(frame, WHERE).columns == ["id"]
    mixed = pandas.DataFrame({"target": [1, "a"], "day": [day, day]})
    assert content(mixed, "day") == {"day": "it must be all integers or all text, got date"}
    assert refusal(mixed, "target") == ': column "target" must be all integers or all text, got int, str'


def test_fractions_and_values_that_are_not_numbers_are_not_slices():
    frame = polars.DataFrame(
        {"x": [0.5, None], "y": [float("nan"), 1.0], "z": [1e300, None], "i": [float("inf"), None]}
    )
    read = FrameColumns(frame, WHERE).read(["x", "y", "z", "i"], None).columns
    assert [each.dtype.kind for each in read.values()] == ["f"] * 4


def test_names_of_columns():
    assert content(pandas.DataFrame([[5, 6]]), "0", "1") == {"0": [5], "1": [6]}
    for frame in (
        pandas.DataFrame([[5, 6]], columns=["a", "a"]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pandas.DataFrame([[5, 6]], columns=["a", 1]).rename(columns={"a": "1"}),
    ):
        with pytest.raises(ArtifactError, match=r'must have columns with different names, got "." several times'):
            FrameColumns(frame, WHERE)


def test_ids_are_not_coded():
    frame = pandas.DataFrame({"id": pandas.Categorical(["b", "a", "b"])})
    assert FrameColumns(frame, WHERE).read(["id"], None).columns["id"].tolist() == ["b", "a", "b"]


def test_lazy_frames_are_compared():
    old, new = (polars.LazyFrame({"target": [0, 1], "predicted": answers}) for answers in ([0, 1], [0, 0]))
    assert regnas.compare({"old": old, "new": new})["old", "new"].nfr == 0.5


def test_what_narwhals_does_not_read_is_refused():
    class Frame:
        columns = ("target", "predicted")

    with pytest.raises(ArtifactError) as caught:
        regnas.compare({"old": Frame(), "new": [0]}, [0])
    assert str(caught.value) == (
        'model "old" must be a data frame that narwhals reads, such as one of pandas, polars or pyarrow, got Frame. '
        "Convert it to one of these."
    )


def test_texts_that_are_not_unicode_are_refused():
    frame = pandas.DataFrame({"target": pandas.Series(["\ud800"], dtype=object)})
    assert refusal(frame, "target").startswith(" cannot be read: ")


def test_texts_with_a_nul_character():
    frame = polars.DataFrame({"id": ["a\0", "a"], "s": ["x", "x\0"]})
    assert ': column "id" must have texts without NUL characters' in refusal(frame, "id")
    assert "NUL character" in content(frame, "s")["s"]
