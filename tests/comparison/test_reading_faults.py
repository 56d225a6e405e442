"""Files that cannot be used are refused with their name, the reason, and exit code 3."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regnas.comparison import read_predictions
from regnas.comparison.files import columns, parquet, text_files
from regnas.errors import ArtifactError

from .helpers import FORMATS, write


def refusal(path: Path, **options) -> str:
    with pytest.raises(ArtifactError) as caught:
        read_predictions(path, **options)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert caught.value.exit_code == 3
    return message


@pytest.fixture(params=FORMATS)
def path(tmp_path: Path, request) -> Path:
    return tmp_path / f"mine.{request.param}"


def test_missing_columns_with_what_there_is_and_the_nearest_name(path):
    message = refusal(write(path, id=[1], targets=[0], predicted=[0]))
    assert 'lacks target; it holds id, predicted, targets; did you mean "targets"?' in message.replace(
        "id, targets, predicted", "id, predicted, targets"
    )
    assert "lacks predicted (or logits, or probabilities)" in refusal(write(path, id=[1], target=[0]))


def test_repeated_ids(path):
    message = refusal(write(path, id=["a", "b", "a"], target=[0, 0, 0], predicted=[0, 0, 0]))
    assert "1 ids occur more than once, such as a" in message


def test_missing_and_undefined_numbers(path):
    nothing = np.nan if path.suffix in (".npz", ".csv") else None
    message = refusal(write(path, id=[1, 2, 3], target=[0, nothing, 2], predicted=[0, 1, 2]))
    assert "got none in 1 of 3 rows, such as row 2" in message


def test_scores_that_are_not_finite(path):
    message = refusal(write(path, id=[1, 2], target=[0, 0], logits=[[0.5, 1.0], [float("nan"), 1.0]]))
    assert '"logits" must be finite, got other values in 1 rows, such as row 2' in message


def test_probabilities_that_are_none(path):
    message = refusal(write(path, id=[1, 2], target=[0, 0], probabilities=[[0.5, 7.0], [0.5, 1.0]]))
    assert '"probabilities" must be between 0 and 1, got 0.5 to 7' in message


def test_classes_with_a_fraction(path):
    assert "must be integers or names, got 0.5" in refusal(write(path, id=[1, 2], target=[0.5, 1.0], predicted=[0, 1]))


def test_negative_classes(path):
    assert "holds -1, but classes are numbered from 0" in refusal(
        write(path, id=[1, 2], target=[0, -1], predicted=[0, 1])
    )


def test_scores_without_answers_do_not_tell_which_class_has_which_name(path):
    message = refusal(write(path, id=[1, 2], target=["cat", "dog"], logits=[[0.5, 1.0], [0.5, 1.0]]))
    assert "the class of each column of scores is unknown" in message


def test_integers_and_names_in_one_file(tmp_path):
    for suffix in ("npz", "parquet", "jsonl"):
        message = refusal(write(tmp_path / f"a.{suffix}", id=[1, 2], target=["cat", "dog"], predicted=[0, 1]))
        assert '"target" and "predicted" must both be integers or both be names' in message


def test_no_sample_at_all(tmp_path):
    (tmp_path / "a.csv").write_text("id,target,predicted\n")
    assert "ids must have at least one sample, got none" in refusal(tmp_path / "a.csv")
    pq.write_table(
        pa.table({name: pa.array([], pa.int64()) for name in ("id", "target", "predicted")}), tmp_path / "a.parquet"
    )
    assert "ids must have at least one sample, got none" in refusal(tmp_path / "a.parquet")
    empty = np.array([], dtype=np.int64)
    np.savez(tmp_path / "a.npz", id=empty, target=empty, predicted=empty)
    assert "ids must have at least one sample, got none" in refusal(tmp_path / "a.npz")


def test_empty_file(path):
    path.write_bytes(b"")
    refusal(path)


def test_truncated_files(path):
    columns = {"id": [f"sample-{n}" for n in range(50)], "target": [0] * 50, "predicted": [1] * 50}
    content = write(path, **columns).read_bytes()
    end = content.rindex(b"sample-20") if path.suffix in (".csv", ".jsonl", ".ndjson") else len(content) // 2
    path.write_bytes(content[: end + 9])
    assert "damaged" in refusal(path)


def test_content_of_another_format(path):
    path.write_bytes(b"\x00\x01\xff\xfe not what the suffix says\n\x80\x81")
    refusal(path)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_bytes_are_refused_or_harmless(path, seed):
    """A changed byte leads to predictions or to an error of one line."""
    random = np.random.default_rng(seed)
    columns = {"id": [f"sample-{n}" for n in range(30)], "target": [0, 1, 2] * 10, "predicted": [1] * 30}
    content = bytearray(write(path, **columns).read_bytes())
    for place in random.integers(0, len(content), 5):
        content[place] = random.integers(0, 256)
    path.write_bytes(content)
    try:
        read_predictions(path)
    except ArtifactError as error:
        assert "\n" not in str(error)


def test_wrong_suffix_missing_file_and_folder(tmp_path):
    (tmp_path / "a.txt").write_text("id,target,predicted\n1,0,0\n")
    assert 'must have the suffix .npz, .csv, .parquet, .jsonl or .ndjson, got the suffix ".txt"' in refusal(
        tmp_path / "a.txt"
    )
    assert "is missing" in refusal(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "must be a file, got something else" in refusal(tmp_path / "folder.csv")


def test_ragged_lines_in_csv(tmp_path):
    (tmp_path / "a.csv").write_text("id,target,predicted\n1,0,0\n2,0\n")
    assert "row 2 must have 3 fields like the header, got 2" in refusal(tmp_path / "a.csv")


def test_two_columns_of_one_name(tmp_path):
    (tmp_path / "a.csv").write_text("id,target,target,predicted\n1,0,0,0\n")
    assert 'columns with different names, got "target" several times' in refusal(tmp_path / "a.csv")


def test_scores_of_csv_with_a_gap(tmp_path):
    (tmp_path / "a.csv").write_text("id,target,logits_0,logits_2\n1,0,0.5,0.5\n")
    assert "got 2 without logits_1" in refusal(tmp_path / "a.csv")


def test_lists_of_different_lengths(tmp_path):
    for suffix in ("parquet", "jsonl"):
        message = refusal(write(tmp_path / f"a.{suffix}", id=[1, 2], target=[0, 0], logits=[[0.5, 1.0], [0.5]]))
        assert "got 2 in row 1 and 1 in row 2" in message


def test_json_lines_that_are_not_objects_or_change_their_types(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("[1, 2]\n")
    assert "holds a list in its first line, expected an object" in refusal(path)
    path.write_text('{"id": 1, "target": 0, "predicted": 0}\n{"id": "two", "target": 0, "predicted": 0}\n')
    assert 'key "id" must be an integer of 64 bits as in the first line, got "two" in line 2' in refusal(path)
    path.write_text("[" * 100_000 + "\n")
    assert "damaged or not JSON lines" in refusal(path)
    path.write_text('{"id": 1, "target": null, "predicted": 0}\n')
    assert 'key "target" has no value in the first line' in refusal(path)


def test_arrays_of_other_lengths_and_shapes(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, id=np.arange(3), target=np.zeros(3, int), predicted=np.zeros(2, int))
    assert '"predicted" must have 3 values, one per sample, got 2' in refusal(path)
    np.savez(path, id=np.arange(3), target=np.zeros((3, 1), int), predicted=np.zeros(3, int))
    assert 'array "target" has shape (3, 1), expected 1 dimension(s)' in refusal(path)
    np.savez(path, id=np.array([object()]), target=np.zeros(1, int), predicted=np.zeros(1, int), allow_pickle=True)
    assert "pickled Python objects" in refusal(path)
    np.savez(path, id=np.arange(3), target=np.zeros(3, int), logits=np.zeros((2, 4)))
    assert '"logits" has shape [2, 4], expected [3, C]' in refusal(path)


def test_a_compressed_bomb_is_refused_before_it_expands(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, id=np.zeros(10_000_000, np.int64), target=np.zeros(1, int), predicted=np.zeros(1, int))
    assert 'array "id" would expand from' in refusal(path)


def test_parquet_of_more_rows_than_the_limit_is_refused_from_its_metadata(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", id=list(range(5000)), target=[0] * 5000, predicted=[0] * 5000)
    monkeypatch.setattr(parquet, "SIZE_LIMIT", 100_000)
    assert "would unpack to 12" in (message := refusal(path))
    assert "over the limit of 100,000" in message


def test_a_long_text_that_repeats_is_not_unpacked(tmp_path, monkeypatch):
    """One id of a megabyte for every sample: small in the file, as codes, and 4 MB for each row as an array."""
    path = tmp_path / "a.parquet"
    ids = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), pa.array(["x" * 1_000_000]))
    zeros = pa.array([0] * 5000)
    pq.write_table(pa.table({"id": ids, "target": zeros, "predicted": zeros}), path)
    assert path.stat().st_size < 2_000_000
    assert "texts of up to 1,000,000 characters" in refusal(path)


def test_text_files_over_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "SIZE_LIMIT", 100)
    for suffix in ("csv", "jsonl"):
        path = write(tmp_path / f"a.{suffix}", id=list(range(50)), target=[0] * 50, predicted=[0] * 50)
        assert "must have at most 100 bytes, got " in refusal(path)


def test_wide_texts_are_refused_before_they_are_laid_out(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "SIZE_LIMIT", 10_000)
    path = write(tmp_path / "a.csv", id=["x" * 500, *(str(n) for n in range(50))], target=[0] * 51, predicted=[0] * 51)
    assert "texts of up to 500 characters, which take 102,000 bytes for 51 samples" in refusal(path)


def test_ids_with_a_nul_character(tmp_path):
    path = write(tmp_path / "a.parquet", id=["a\0", "a"], target=[0, 0], predicted=[0, 0])
    assert "NUL character" in refusal(path)


def test_long_texts_that_are_not_requested_are_not_laid_out(tmp_path, monkeypatch):
    """Prompts beside the predictions: as slices they are useless, and as an array they would take 40 MB each."""
    monkeypatch.setattr(columns, "SIZE_LIMIT", 2**20)
    prompts = [f"{n} {'x' * 5000}" for n in range(200)]
    for suffix in ("csv", "parquet", "jsonl"):
        path = write(
            tmp_path / f"a.{suffix}", id=list(range(200)), target=[0] * 200, predicted=[0] * 200, prompt=prompts
        )
        read = read_predictions(path)
        assert not read.slices
        assert read.left_out["prompt"].startswith("it holds texts of up to 5,004 characters")
