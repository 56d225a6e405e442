"""Files that are damaged or mean harm."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.flips import load_predictions

from .test_predictions import full, same


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(ArtifactError) as caught:
        load_predictions(path, **options)
    assert caught.value.exit_code == 3
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.npz"


def write(path: Path, **changes: Any) -> None:
    """A good file except for the changes; None leaves an array out and bytes are written as they are."""
    arrays: dict[str, Any] = {
        "id": np.arange(3),
        "target": np.zeros(3, dtype=np.int64),
        "predicted": np.zeros(3, dtype=np.int64),
        "model": np.array("m"),
        "split": np.array("report"),
        **changes,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in arrays.items():
            if isinstance(value, bytes):
                archive.writestr(f"{name}.npy", value)
            elif value is not None:
                buffer = io.BytesIO()
                np.save(buffer, value, allow_pickle=True)
                archive.writestr(f"{name}.npy", buffer.getvalue())


def npy(header: str, content: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + content


def test_the_unchanged_file_of_these_tests_is_accepted(path: Path) -> None:
    write(path)
    assert load_predictions(path).accuracy == 1.0


def test_missing_file(path: Path) -> None:
    assert refusal(path) == f"{path} is missing"


def test_folder_in_place_of_a_file(tmp_path: Path) -> None:
    assert "cannot be read: Is a directory" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"id,target,predicted\n1,2,3\n", npy("{}")])
def test_not_an_npz(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "is damaged or not an npz file" in refusal(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_truncated(path: Path, share: float) -> None:
    full().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "is damaged or not an npz file" in refusal(path)


def test_one_changed_byte_of_the_content(path: Path) -> None:
    full().save(path)
    content = bytearray(path.read_bytes())
    content[content.index("cat/2".encode("utf-32-le"))] ^= 1
    path.write_bytes(bytes(content))
    assert "Bad CRC-32" in refusal(path)


@pytest.mark.parametrize("name", ["id", "target", "predicted", "model", "split"])
def test_missing_array(path: Path, name: str) -> None:
    write(path, **{name: None})
    assert f"lacks the array {name}" in refusal(path)


class Trap:
    sprung = False

    def __setstate__(self, _: object) -> None:
        Trap.sprung = True


def test_pickled_objects_are_refused_without_unpickling(path: Path) -> None:
    trap = Trap()
    trap.content = 1  # type: ignore[attr-defined]  # without a state, __setstate__ would not be called
    write(path, id=np.array([trap, None, None], dtype=object))
    assert 'array "id" holds pickled Python objects' in refusal(path)
    assert not Trap.sprung
    with np.load(path, allow_pickle=True) as arrays:
        assert arrays["id"].shape == (3,)
    assert Trap.sprung  # so the trap works, and was not sprung above


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"target": np.zeros(3)}, 'array "target" has dtype float64, expected integers'),
        ({"id": np.zeros(3)}, 'array "id" has dtype float64, expected text or integers'),
        ({"id": np.array([b"a", b"b", b"c"])}, 'array "id" has dtype |S1, expected text or integers'),
        ({"logits": np.ones((3, 2), np.int64)}, 'array "logits" has dtype int64, expected floating point numbers'),
        ({"model": np.array(["m"])}, 'array "model" has shape (1,), expected 0 dimension(s)'),
        ({"predicted": np.ones((3, 1), np.int64)}, 'array "predicted" has shape (3, 1), expected 1 dimension(s)'),
        ({"target": np.zeros(2, dtype=np.int64)}, "targets must be integers of shape [3] like the ids"),
        ({"id": np.array([4, 5, 4])}, "1 ids occur more than once, such as 4"),
        ({"group": np.zeros(5, dtype=np.int64)}, "groups must be integers of shape [3]"),
    ],
)
def test_wrong_kind_or_length(path: Path, changes: dict[str, Any], problem: str) -> None:
    write(path, **changes)
    assert problem in refusal(path)


def header(shape: str, descr: str = "<i8") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        (npy(header("(1000000000000,)"), bytes(24)), "declares 8,000,000,000,000 bytes in its header but"),
        (npy(header("(2,)"), bytes(24)), "declares 16 bytes in its header but the file holds 24"),
        (npy(header("(-3,)"), bytes(24)), "has shape (-3,)"),
        (npy(header("(1000000000000,)", "<U0")), "has dtype <U0"),
        (npy(header("(3,)"), bytes(24), version=b"\x03\x00"), "has npy version 3.0"),
        (npy(header("(1,)", "<U1"), b"\xff\xff\xff\x7f"), "its text is not Unicode"),
        (npy(header("(1,)", ">U1"), b"\x00\x00\xd8\x00"), "its text is not Unicode"),
        (npy(header("(3,)", "<q9"), bytes(24)), "is damaged"),
        (npy("-" * 9000 + "1"), "header that cannot be parsed|is damaged"),
        (npy("[" * 90 + "]" * 90), "is damaged"),
        (b"not npy at all", "is damaged"),
        (b"", "is damaged"),
    ],
    ids=[
        "terabytes",
        "fewer than held",
        "negative",
        "characters without size",
        "version 3",
        "no such code point",
        "surrogate",
        "no such dtype",
        "parser overflow",
        "nested",
        "other content",
        "empty",
    ],
)
def test_header_that_lies(path: Path, lie: bytes, problem: str) -> None:
    write(path, id=lie)
    message = refusal(path)
    assert 'array "id"' in message
    assert any(part in message for part in problem.split("|"))


def test_bomb_is_refused_from_the_directory_of_the_zip(path: Path) -> None:
    write(path, logits=np.zeros((3, 100_000), dtype=np.float32))
    assert path.stat().st_size < 10_000
    assert "would unpack to 1,20" in (message := refusal(path, size_limit=1_000_000))
    assert "over the limit of 1,000,000" in message
    assert load_predictions(path, size_limit=2_000_000).logits is not None


def test_member_packed_by_a_method_numpy_never_uses(path: Path) -> None:
    write(path, id=None)
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("id.npy", buffer.getvalue())
    assert "packed by a method that numpy never uses" in refusal(path)


def test_byte_order_of_the_machine_that_wrote_the_file_does_not_matter(path: Path) -> None:
    write(path, id=np.array(["ä", "b", "c"], dtype=">U1"), target=np.array([0, 1, 0], dtype=">i8"))
    loaded = load_predictions(path)
    assert loaded.ids.tolist() == ["ä", "b", "c"]
    assert loaded.ids.dtype.isnative
    assert loaded.correct.tolist() == [True, False, True]


@settings(deadline=None)
@given(data=st.data())
def test_any_damage_is_refused_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damage") / "p.npz"
    full().save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    try:
        loaded = load_predictions(path)
    except ArtifactError:
        return
    # Damage to the name of an optional array hides it; everything that is there must be what was saved.
    expected = full()
    logits = None if loaded.logits is None else expected.logits
    groups = None if loaded.groups is None else expected.groups
    assert same(loaded, replace(expected, logits=logits, groups=groups))
