"""JSON lines are read as Python's json module reads them, with the types of the first line, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regnas.comparison import read_predictions
from regnas.comparison.files import json_lines, json_objects
from regnas.comparison.files.columns import Coded
from regnas.comparison.files.json_lines import JsonLinesFile
from regnas.comparison.files.json_objects import read_objects
from regnas.comparison.files.text_files import BLOCK
from regnas.errors import ArtifactError

BLOCKS = st.sampled_from([1, 7, 64, BLOCK])
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = {
    "target": st.integers(-(2**63), 2**63 - 1),
    "text": TEXTS,
    "flag": st.booleans(),
    "number": st.floats(allow_nan=False),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("json") / "a.jsonl"


def refusal(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ArtifactError) as caught:
        read_predictions(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message.removeprefix(str(path))


def listed(column) -> list:
    assert not isinstance(column, str), column
    return (column.values[column.codes] if isinstance(column, Coded) else column).tolist()


@given(
    st.lists(st.fixed_dictionaries(VALUES), min_size=1),
    st.sampled_from(["\n", "\r\n", "\n\n \n"]),
    st.booleans(),
    st.sampled_from(["", "\ufeff"]),
    BLOCKS,
)
def test_columns_hold_the_values_of_the_file(path, rows, line_break, as_ascii, mark, block):
    lines = [json.dumps({"id": f"id {place}", **row}, ensure_ascii=as_ascii) for place, row in enumerate(rows)]
    path.write_bytes((mark + line_break.join(lines)).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "BLOCK", block)
        found = JsonLinesFile(path).read(["id", *VALUES], None).columns
    assert listed(found["id"]) == [f"id {place}" for place in range(len(rows))]
    for name in VALUES:
        assert listed(found[name]) == [row[name] for row in rows]


LINE = b'{"id": "a", "target": 0, "x": [1.5, -2e3, null, true], "y": {"z": "\\u00e4\\n"}}\n'


@given(
    st.one_of(
        st.binary(),
        st.lists(
            st.sampled_from([LINE[:17], LINE[17:], LINE, b"{", b"}", b'"', b",", b"\n", b"\r", b"[]", b"\\ud800"])
        ).map(b"".join),
        st.tuples(st.integers(0, len(LINE) - 1), st.binary(max_size=3)).map(
            lambda cut: LINE + LINE[: cut[0]] + cut[1] + LINE[cut[0] + 1 :] + LINE
        ),
    ),
    BLOCKS,
)
@example(b'{"a": 1, "a": 2}\n', 1)
@settings(max_examples=500)
def test_any_bytes_are_read_as_python_reads_them_or_refused(path, content, block):
    path.write_bytes(content)
    try:
        found = [each for objects in read_objects(path, block) for each in objects.objects]
    except ArtifactError as error:
        assert "\n" not in str(error)
    else:
        lines = content.decode("utf-8-sig").split("\n")
        assert found == [json.loads(line) for line in lines if line.strip()]


def test_missing_values_are_refused_where_they_are_needed_and_empty_elsewhere(path):
    rows = [
        {
            "id": "a",
            "target": 0,
            "predicted": 0,
            "country": "de",
            "age": 30,
            "is_night": True,
            "weight": 0.5,
            "rate": 1.0,
        },
        {"id": "b", "target": 0, "predicted": 0, "country": None, "age": None, "is_night": None, "weight": None},
        {"id": "c", "target": 0, "predicted": 0, "new": "not read"},
        {"id": "d", "target": 0, "predicted": 0, "country": "", "age": -5, "is_night": False, "weight": 3, "rate": 2},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = read_predictions(path)
    assert {name: values.tolist() for name, values in read.slices.items()} == {
        "country": ["de", "", "", ""],
        "age": ["30", "", "", "-5"],
        "is_night": ["true", "", "", "false"],
        "rate": ["1", "", "", "2"],
    }
    assert read.left_out == {"weight": "it holds floating point numbers"}
    for name in ("id", "target", "predicted"):
        path.write_text(
            "".join(
                json.dumps({key: each[key] for key in each if key != name or place != 2}) + "\n"
                for place, each in enumerate(rows)
            )
        )
        with pytest.raises(
            ArtifactError,
            match=f'key "{name}" must have a value for every sample, got none in 1 of 4 rows, such as row 3',
        ):
            read_predictions(path)


def test_lists_of_scores(path):
    lines = ['{"id": 1, "target": 0, "logits": [1, 2.5]}', '{"id": 2, "target": 0, "logits": [1e3, -3]}']
    path.write_text("\n".join(lines))
    assert JsonLinesFile(path).read([], "logits").scores.tolist() == [[1, 2.5], [1000, -3]]
    for value, reason in {
        "[1, null]": '"logits" must be finite, got other values in 1 rows, such as row 2',
        "[1, 1e300]": '"logits" must be finite, got other values in 1 rows, such as row 2',
        "[1, NaN]": '"logits" must be finite, got other values in 1 rows, such as row 2',
        "[1]": 'key "logits" must have as many values in every row, got 2 in row 1 and 1 in row 2',
        "null": 'key "logits" must have a value for every sample, got none in 1 of 2 rows, such as row 2',
        '[1, "2"]': 'key "logits" must be a list of numbers as in the first line, got [1, "2"] in line 2',
        "[1, true]": 'key "logits" must be a list of numbers as in the first line, got [1, true] in line 2',
        "[[1], [2]]": 'key "logits" must be a list of numbers as in the first line, got [[1], [2]] in line 2',
        "7": 'key "logits" must be a list of numbers as in the first line, got 7 in line 2',
        f"[1, 1{'0' * 400}]": f"must be a list of numbers as in the first line, got [1, 1{'0' * 35}... in line 2",
    }.items():
        assert refusal(path, f'{lines[0]}\n{{"id": 2, "target": 0, "logits": {value}}}\n').endswith(reason)
    assert '"logits" has shape [1, 0], expected [1, C]' in refusal(path, '{"id": 1, "target": 0, "logits": []}')


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("1", "1.0", "an integer of 64 bits as in the first line, got 1.0 in line 4"),
        ("1", "true", "an integer of 64 bits as in the first line, got true in line 4"),
        ("1", str(2**63), "an integer of 64 bits as in the first line, got 9223372036854775808 in line 4"),
        (
            "-9223372036854775808",
            str(-(2**63) - 1),
            "an integer of 64 bits as in the first line, got -9223372036854775809",
        ),
        ("1.5", '"x"', 'a number as in the first line, got "x" in line 4'),
        ("1.5", "1" + "0" * 400, f"a number as in the first line, got 1{'0' * 39}... in line 4"),
        ("true", "0", "true or false as in the first line, got 0 in line 4"),
        ('"a"', "0", "text as in the first line, got 0 in line 4"),
        ('"a"', '{"b": [1]}', 'text as in the first line, got {"b": [1]} in line 4'),
    ],
)
def test_values_of_another_kind_are_refused_with_their_line(path, first, second, reason):
    lines = [f'{{"id": 1, "target": 0, "predicted": 0, "x": {value}}}' for value in (first, first, second)]
    assert f': key "x" must be {reason}' in refusal(path, f"{lines[0]}\n\n{lines[1]}\n{lines[2]}\n")


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"id": ' * 100_000,
        '{"id": 1, "target": 0, "predicted": 0} {}',
        '{"id": 1, "target": 0, "predicted"',
        '{"id": 007}',
        '{"id": 1' + "0" * 5000 + "}",
        '{"id": "\\ud800"}',
        b'{"id": "\xff"}',
    ],
    ids=range(8),
)
def test_lines_that_are_not_json_are_named(path, line):
    first = b'{"id": 0, "target": 0, "predicted": 0}\n\n'
    message = refusal(path, first + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    assert message.startswith(" is damaged or not JSON lines, one object per sample: ")
    assert " in line 3, column " in message


def test_lines_that_are_not_objects(path):
    line = '{"id": 0, "target": 0, "predicted": 0}\n'
    assert refusal(path, f"{line}\n3\n").startswith(" holds a number in line 3, expected an object like")
    assert refusal(path, f"null\n{line}").startswith(" holds null in its first line, expected an object like")
    assert "must have one object per sample, got blank lines" in refusal(path, "\n \n")


def test_texts_with_a_nul_character(path):
    line = '{{"id": "{}", "target": 0, "predicted": 0, "s": "{}"}}\n'.format
    assert ': key "id" must have texts without NUL characters' in refusal(path, line("a", "") + line("a\\u0000", ""))
    path.write_text(line("a", "x") + line("b", "x\\u0000"))
    assert "NUL character" in read_predictions(path).left_out["s"]


def test_long_lines_are_refused(path, monkeypatch):
    monkeypatch.setattr(json_objects, "LONGEST_LINE", 100)
    monkeypatch.setattr(json_lines, "BLOCK", 64)
    line = '{"id": 0, "target": 0, "predicted": 0}\n'
    assert "must have lines of at most 100 bytes, got a longer one" in refusal(path, line + line.strip() + " " * 200)


def test_of_a_key_that_is_there_twice_the_last_value_counts(path):
    path.write_text('{"id": 1, "target": 3, "predicted": 0, "target": 1}\n')
    assert read_predictions(path).predictions.targets.tolist() == [1]


def test_ids_that_are_texts_stay_texts(path):
    path.write_text('{"id": "7", "target": 3, "predicted": 0}\n')
    assert read_predictions(path).predictions.ids.tolist() == ["7"]
    assert read_predictions(path).predictions.ids.dtype.kind == np.dtype("U").kind
