"""Arrays from an npz file: valid, damaged or malicious."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regnas.errors import RegnasError
from regnas.runtime.npz import ArraySpec, read_arrays, read_headers, write_arrays


class Refused(RegnasError):
    """The error that these tests ask the reader for."""


ANY = {"a": ArraySpec()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arrays.npz"


def refusal(path: Path, specs: dict[str, ArraySpec] = ANY, **options: int) -> str:
    with pytest.raises(Refused) as caught:
        read_arrays(path, specs, Refused, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def npy(header: str, content: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + content


def header(shape: str, descr: str = "<i8") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"


def packed(path: Path, content: bytes, method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.npy", content)


def saved(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.array(1.5),
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.zeros((0, 3), np.uint8),
        np.array(["köter", ""]),
        np.array([True, False]),
    ],
    ids=["scalar", "matrix", "fortran order", "no rows", "text", "truths"],
)
def test_what_is_written_comes_back_writable(path: Path, array: Any) -> None:
    write_arrays(path, {"a": array, "other": np.zeros(1)})
    arrays = read_arrays(path, ANY, Refused)
    assert list(arrays) == ["a"]
    assert arrays["a"].dtype == array.dtype
    assert arrays["a"].shape == array.shape
    assert np.array_equal(arrays["a"], array)
    assert arrays["a"].flags.writeable  # torch warns of arrays that are not


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        write_arrays(tmp_path / name, {"a": np.arange(3), "b": np.array("text")})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.npz") as archive:  # the same second would hide a clock in the file
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote_is_read(path: Path, save: Any) -> None:
    save(path, a=np.arange(1000))
    assert np.array_equal(read_arrays(path, ANY, Refused)["a"], np.arange(1000))


def test_byte_order_of_the_machine_that_wrote_the_file_does_not_matter(path: Path) -> None:
    np.savez(path, a=np.array(["ä", "b"], dtype=">U1"), b=np.array([1, 2], dtype=">i8"))
    arrays = read_arrays(path, {"a": ArraySpec("U", 1), "b": ArraySpec("i", 1)}, Refused)
    assert arrays["a"].tolist() == ["ä", "b"]
    assert arrays["b"].tolist() == [1, 2]
    assert all(array.dtype.isnative for array in arrays.values())


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
    np.savez(path, a=np.arange(100))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "is damaged or not an npz file" in refusal(path)


@pytest.mark.parametrize("padding", [0, 9000], ids=["short header", "header beyond the buffer of zipfile"])
def test_one_changed_byte_of_the_content(path: Path, padding: int) -> None:
    packed(path, npy(header("(8,)", "|u1") + " " * padding, b"contents"))
    content = path.read_bytes()
    assert content.count(b"contents") == 1
    path.write_bytes(content.replace(b"contents", b"contentz"))
    assert "Bad CRC-32" in refusal(path)


def test_missing_arrays_are_named_with_what_is_there(path: Path) -> None:
    np.savez(path, images=np.zeros(1), **{"line\nbreak": np.zeros(1)})
    specs = {"a": ArraySpec(), "b": ArraySpec(required=False), "c": ArraySpec()}
    assert refusal(path, specs) == f"{path} lacks the array a, c; it holds images"
    np.savez(path)
    assert refusal(path).endswith("lacks the array a; it holds nothing")
    np.savez(path, a=np.zeros(1), c=np.zeros(1))
    assert list(read_arrays(path, specs, Refused)) == ["a", "c"]


class Trap:
    sprung = False

    def __setstate__(self, _: object) -> None:
        Trap.sprung = True


def test_pickled_objects_are_refused_without_unpickling(path: Path) -> None:
    trap = Trap()
    trap.content = 1  # type: ignore[attr-defined]  # without a state, __setstate__ would not be called
    np.savez(path, a=np.array([trap, None, None], dtype=object))
    assert 'array "a" holds pickled Python objects' in refusal(path)
    assert not Trap.sprung
    with np.load(path, allow_pickle=True) as arrays:
        assert arrays["a"].shape == (3,)
    assert Trap.sprung  # so the trap works, and was not sprung above


@pytest.mark.parametrize(
    ("array", "spec", "problem"),
    [
        (np.zeros(3), ArraySpec("iu", 1), 'array "a" has dtype float64, expected integers'),
        (np.array([b"x"]), ArraySpec("Uiu", 1), 'array "a" has dtype |S1, expected text or integers'),
        (np.zeros((3, 1)), ArraySpec("f", 1), 'array "a" has shape (3, 1), expected 1 dimension(s)'),
        (np.array(["m"]), ArraySpec("U", 0), 'array "a" has shape (1,), expected 0 dimension(s)'),
        (np.zeros(3), ArraySpec(dimensions=2), 'array "a" has shape (3,), expected 2 dimension(s)'),
    ],
)
def test_other_kind_or_dimensions_than_asked_for(path: Path, array: Any, spec: ArraySpec, problem: str) -> None:
    np.savez(path, a=array)
    assert problem in refusal(path, {"a": spec})


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        (npy(header("(1000000000000,)"), bytes(24)), "declares 8,000,000,000,000 bytes in its header but"),
        (npy(header("(2,)"), bytes(24)), "declares 16 bytes in its header but the file holds 24"),
        (npy(header("(-3,)"), bytes(24)), "has shape (-3,)"),
        (npy(header("(-3, -1)"), bytes(24)), "has shape (-3, -1)"),
        (npy(header("(1000000000000,)", "<U0")), "has dtype <U0"),
        (npy(header("(3,)"), bytes(24), version=b"\x03\x00"), "has npy version 3.0"),
        (npy(header("(1,)", "<U1"), b"\xff\xff\xff\x7f"), "its text is not Unicode"),
        (npy(header("(1,)", ">U1"), b"\x00\x00\xd8\x00"), "its text is not Unicode"),
        (npy(header("(3,)", "<q9"), bytes(24)), "is damaged"),
        (npy(header("(3,)", "<,"), bytes(24)), "is damaged"),
        (npy(header("(3,)").replace("'<i8'", "()"), bytes(24)), "is damaged"),
        (npy("-" * 9000 + "1"), "header that cannot be parsed|is damaged"),
        (npy("[" * 90 + "]" * 90), "is damaged"),
        (npy("[["), "is damaged"),
        (b"not npy at all", "is damaged"),
        (b"", "is damaged"),
    ],
    ids=[
        "terabytes",
        "fewer than held",
        "negative",
        "negative twice",
        "characters without size",
        "version 3",
        "no such code point",
        "surrogate",
        "no such dtype",
        "half a dtype",
        "dtype of nothing",
        "parser overflow",
        "nested",
        "never closed",
        "other content",
        "empty",
    ],
)
@pytest.mark.parametrize("spec", [ArraySpec(), ArraySpec("Uiu")], ids=["any kind", "some kinds"])
def test_false_header(path: Path, lie: bytes, problem: str, spec: ArraySpec) -> None:
    packed(path, lie)
    message = refusal(path, {"a": spec})
    assert 'array "a"' in message
    assert any(part in message for part in problem.split("|"))


def test_header_of_python_2_is_read_without_a_warning(path: Path) -> None:
    packed(path, npy(header("(3L,)"), bytes(24)))
    assert read_arrays(path, ANY, Refused)["a"].tolist() == [0, 0, 0]


def test_total_over_the_limit_is_refused_from_the_directory_of_the_zip(path: Path) -> None:
    np.savez_compressed(path, a=np.zeros(125_000), b=np.zeros(125_000), not_asked_for=np.zeros(125_000))
    assert path.stat().st_size < 10_000
    both = {"a": ArraySpec(), "b": ArraySpec()}
    assert "would unpack to 2,000,256 bytes, over the limit of 2,000,000" in refusal(path, both, size_limit=2_000_000)
    assert len(read_arrays(path, both, Refused, size_limit=2_100_000)["a"]) == 125_000


def test_headers_tell_shape_and_kind_of_every_array(path: Path) -> None:
    np.savez(path, a=np.zeros((2, 3), np.float32), b=np.array(["x", "yz"]), c=np.array(7))
    headers = read_headers(path, Refused)
    assert {name: header and (header.shape, header.dtype.str) for name, header in headers.items()} == {
        "a": ((2, 3), "<f4"),
        "b": ((2,), "<U2"),
        "c": ((), "<i8"),
    }


def test_headers_of_what_would_expand_beyond_reason_are_not_read(path: Path) -> None:
    packed(path, npy(header("(90000000,)", "|u1"), bytes(90_000_000)), zipfile.ZIP_DEFLATED)
    assert read_headers(path, Refused) == {"a": None}


def test_headers_of_a_file_that_is_none(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(Refused, match="is damaged or not an npz file"):
        read_headers(path, Refused)


def test_a_bomb_is_refused_before_it_expands(path: Path) -> None:
    packed(path, saved(np.zeros((80, 1024, 1024), np.uint8)), zipfile.ZIP_DEFLATED)
    message = refusal(path)
    assert 'array "a" would expand from ' in message
    assert "to 83,886,208 bytes, which may exhaust" in message
    assert "numpy.savez" in message


def test_a_directory_with_two_false_sizes_does_not_count_as_uncompressed(path: Path) -> None:
    packed(path, npy(header("(100000000,)", "|u1"), bytes(8)))
    content = path.read_bytes()
    directory = content.index(b"PK\x01\x02")
    sizes = 2 * (100_000_100).to_bytes(4, "little")
    path.write_bytes(content[: directory + 20] + sizes + content[directory + 28 :])
    message = refusal(path)
    expands = f"would expand from {len(content):,} to 100,000,100 bytes, which may exhaust"
    assert expands in message or "Overlapped entries" in message  # newer versions of Python look at the sizes first


def test_member_packed_by_a_method_numpy_never_uses(path: Path) -> None:
    packed(path, saved(np.arange(3)), zipfile.ZIP_LZMA)
    assert "compressed by a method that numpy never uses" in refusal(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_damaged_byte_is_noticed_or_harmless(path: Path, save: Any) -> None:
    """The checksums of zip cover the arrays; a flip elsewhere may only lead to the same array or a refusal."""
    expected = np.arange(20)
    save(path, a=expected)
    content = path.read_bytes()
    refused = 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :])
        try:
            assert np.array_equal(read_arrays(path, ANY, Refused)["a"], expected)
        except Refused:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("which", ["local", "directory"])
def test_a_flipped_bit_in_the_name_of_an_optional_array_is_found(tmp_path, which):
    path = tmp_path / "a.npz"
    write_arrays(path, {"ids": np.arange(3), "groups": np.arange(3)})
    content = bytearray(path.read_bytes())
    place = content.index(b"groups.npy") if which == "local" else content.rindex(b"groups.npy")
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(RegnasError, match="is damaged"):
        read_arrays(path, {"ids": ArraySpec(), "groups": ArraySpec(required=False)}, RegnasError)
