"""CSV files are read as Python's csv module reads them, or refused in one line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regnas.comparison import read_predictions
from regnas.comparison.files import csv as csv_file
from regnas.comparison.files import csv_rows, texts
from regnas.comparison.files.columns import Coded
from regnas.comparison.files.csv import CsvFile
from regnas.comparison.files.text_files import BLOCK
from regnas.errors import ArtifactError

from .helpers import write

BLOCKS = st.sampled_from([1, 2, 3, 7, 64, BLOCK])

# characters that matter to the format come often
CHARACTERS = st.one_of(
    st.sampled_from(',"\n\r a0ä\u2028😀'), st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)
CELLS = st.text(CHARACTERS)
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1))


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("csv") / "a.csv"


def rows_of(path: Path, block: int) -> list[list[str]]:
    return [
        [field.decode("utf-8") for field in rows.after(place).first().tolist()]
        for rows in csv_rows.read_rows(path, block)
        for place in range(len(rows))
    ]


def expected_of(content: bytes) -> list[list[str]]:
    text = content.decode("utf-8-sig")
    return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ArtifactError) as caught:
        read_predictions(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message.removeprefix(str(path))


def content_of(path: Path, column: str, block: int = BLOCK) -> list:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "BLOCK", block)
        found = CsvFile(path).read([column], None).columns[column]
    assert not isinstance(found, str), found
    if isinstance(found, Coded):
        assert len(set(found.values.tolist())) == len(found.values)
        return found.values[found.codes].tolist()
    return found.tolist()


@given(
    TABLES,
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
    st.booleans(),
    BLOCKS,
)
def test_what_python_writes_is_read_as_python_reads_it(path, table, quoting, line_break, mark, is_ended, block):
    if any(character in cell for row in table for cell in row for character in "\n\r"):
        quoting = csv.QUOTE_ALL  # Python before 3.13 leaves such a cell without quotes if lines end otherwise
    written = io.StringIO()
    csv.writer(written, quoting=quoting, lineterminator=line_break).writerows(table)
    text = written.getvalue()
    path.write_bytes((mark + (text if is_ended else text.removesuffix(line_break))).encode())
    assert rows_of(path, block) == table == expected_of(path.read_bytes())


@given(st.one_of(st.binary(), st.lists(st.sampled_from(b',"\n\r a\x00\xc3\xa4\xef\xbb\xbf')).map(bytes)), BLOCKS)
@example(b'\xef\xbb\xbf"a"\r', 1)
@example(b'a,"b""c"\n\n""\r\n', 2)
@settings(max_examples=500)
def test_any_bytes_are_read_as_python_reads_them_or_refused(path, content, block):
    path.write_bytes(content)
    try:
        found = rows_of(path, block)
    except ArtifactError as error:
        assert "\n" not in str(error)
    else:
        assert found == expected_of(content)


@given(
    st.lists(
        st.one_of(CELLS, st.sampled_from(["cat", "dog", "a class of 17 by", "a class of 17 bytes", "x" * 300])),
        min_size=1,
    ),
    BLOCKS,
)
def test_columns_hold_the_texts_of_the_file(path, cells, block):
    write(path, target=cells, id=[f"id {cell}" for cell in cells], other=cells)
    assert content_of(path, "target", block) == cells
    assert content_of(path, "other", block) == cells
    assert content_of(path, "id", block) == [f"id {cell}" for cell in cells]


def written_by_python(text: str) -> bool:
    try:
        return str(int(text)) == text and -(2**63) <= int(text) < 2**63
    except ValueError:
        return False


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, 9, 10, 10**7, 10**8 - 1, 10**8, 10**16 - 1, 10**16, 10**18, 2**63 - 1, -(2**63)]),
)


@given(st.lists(NUMBERS.map(str), min_size=1), BLOCKS)
def test_ids_that_python_writes_as_integers_are_integers(path, ids, block):
    write(path, id=ids)
    assert content_of(path, "id", block) == [int(each) for each in ids]


@given(
    st.lists(NUMBERS.map(str), max_size=9),
    st.one_of(
        st.sampled_from(["", "-", "-0", "007", "+1", "1 ", " 1", "1.0", "1e3", "9223372036854775808", "1:", "1/", "١"]),
        st.sampled_from(["-9223372036854775809", "99999999999999999999", "123456789012345x", "1234567x", "x2345678"]),
        st.text(CHARACTERS),
    ),
    BLOCKS,
)
def test_one_other_id_makes_all_of_them_texts(path, ids, other, block):
    if not written_by_python(other):
        ids = [*ids, other, *ids]
        write(path, id=ids, target=ids)
        assert content_of(path, "id", block) == ids


def test_texts_with_the_same_fingerprint_are_distinguished(path, monkeypatch):
    monkeypatch.setattr(texts, "_MULTIPLIERS", np.zeros_like(texts._MULTIPLIERS))
    names = ["sameword", "sameword-a", "sameword-b", "sameword-b and more", "sameword-b and mole", "sameword" * 40]
    names = [names[place] for place in [0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0, 0, 1]]
    write(path, target=names)
    assert content_of(path, "target") == names


@pytest.mark.parametrize(("count", "width"), [(70_000, 1), (70_000, 20), (1_000, 300)])
def test_many_different_texts(path, count, width):
    groups = [f"{number:x>{width}}" for number in range(count)]
    write(path, group=[*groups, *groups])
    assert content_of(path, "group") == [*groups, *groups]


@pytest.mark.parametrize("block", [64, BLOCK])
def test_the_distinct_values_of_a_column_that_is_not_a_slice_are_counted(path, block, monkeypatch):
    monkeypatch.setattr(csv_file, "BLOCK", block)
    names = [f"{number}" for number in range(1500)] + [f"{'x' * 300}{number}" for number in range(500)]
    write(path, name=[*names, *names[::-1]])
    assert CsvFile(path).read(["name"], None).columns == {"name": "it has 2,000 different values, more than 1,000"}


@given(
    st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1),
    BLOCKS,
)
def test_scores_are_the_numbers_that_were_written(path, scores, block):
    write(path, id=list(range(len(scores))), target=[0] * len(scores), logits=scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "BLOCK", block)
        read = CsvFile(path).read([], "logits").scores
    assert read.dtype == np.float32
    assert read.tolist() == scores


def test_scores_in_any_order_of_the_columns_and_any_notation(path):
    path.write_text('logits_1,id,logits_0,target\n1e-3,a,"2",0\n 5.0 ,b,+.5,0\n0.' + "3" * 40 + ",c,-7,0\n")
    assert CsvFile(path).read([], "logits").scores.tolist() == pytest.approx(
        np.array([[2, 0.001], [0.5, 5], [-7, 1 / 3]], dtype=np.float32)
    )
    for nothing in ("", "NaN", "n/a"):
        assert '"logits" must be finite, got other values in 1 rows, such as row 2' in refusal(
            path, f"id,target,logits_0,logits_1\n1,0,0.5,1\n2,0,{nothing},0.5\n".encode()
        )
    assert ': column "logits_1" must hold numbers, got "ä' in (
        message := refusal(path, "id,target,logits_0,logits_1\n1,0,0.5,1\n2,0,,ä".encode() + b"b" * 99)
    )
    assert message.endswith("bbb... in row 2")


def test_a_cell_with_a_line_break_is_shown_in_one_line(path):
    message = refusal(path, b'id,target,logits_0,logits_1\n1,0,"two\nlines",1\n')
    assert message == r': column "logits_0" must hold numbers, got "two\nlines" in row 1'


HEADER = b"id,target,predicted\n1,0,0\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"2,0\n", "row 2 must have 3 fields like the header, got 2"),
        (b"2,0,0\n\n\n3,0,0,0\n", "row 3 must have 3 fields like the header, got 4"),
        (b'2,a"b,0\n', "row 2 has a quote inside a field. Put the whole field in quotes, and double the quote."),
        (b'2,"a"b,0\n', "row 2 has a quote inside a field."),
        (b'2,a"b"",0\n', "row 2 has a quote inside a field."),
        (b'2,0,0\n3,"a,0\n4,0,0\n', "row 3 has a quote that is not closed"),
        (b"2,\xff,0\n", "row 2 must be UTF-8, got the byte 0xff"),
        (b'2,"\n\xed\xa0\x80",0\n', "row 2 must be UTF-8, got the byte 0xed"),
        (b"2,0,\xe2\x82", "row 2 must be UTF-8, got the byte 0xe2"),
        (b"2,0\0,0\n", "row 2 has a NUL character"),
    ],
)
@pytest.mark.parametrize("block", [1, BLOCK])
def test_rows_that_cannot_be_read_are_named(path, content, reason, block, monkeypatch):
    monkeypatch.setattr(csv_file, "BLOCK", block)
    assert refusal(path, HEADER + content).startswith(f" is damaged or not a CSV file: {reason}")


def test_headers_that_cannot_be_read(path):
    assert "not a CSV file: the header has a NUL character" in refusal(path, "id,target\n1,0\n".encode("utf-16-le"))
    assert "the header has a quote inside a field" in refusal(path, b'id,tar"get\n1,0\n')
    assert "lacks id, target and predicted (or logits, or probabilities); it holds nothing" in refusal(
        path, b"\r\n\n\n"
    )


def test_long_rows_are_refused(path, monkeypatch):
    monkeypatch.setattr(csv_file, "BLOCK", 64)
    monkeypatch.setattr(csv_rows, "LONGEST_ROW", 100)
    write(path, id=[1, 2], target=["x", "y" * 60], predicted=["x", "x"])
    assert content_of(path, "target") == ["x", "y" * 60]
    content = HEADER + b'2,"0,0\n' + b"3,0,0\n" * 100
    assert refusal(path, content).endswith("row 2 must have at most 100 bytes. Is a quote not closed?")
