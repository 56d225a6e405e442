"""Damage for files: in their bytes, in the values of JSON and TOML, and texts made of the fragments of a grammar."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

Random = np.random.Generator

INTERESTING = (b"\x00", b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\r\n", b'"', b"\\", b"\xef\xbb\xbf")
DEEP, LONG = 100_000, 300_000

# Texts that stand for a value in JSON and in TOML, whether they are valid there or not.
STRANGE = (
    "0", "-1", "1", "2", "0.5", "-0.0", "1e999", "-1e308", "1e-320", "NaN", "nan", "Infinity", "inf", "null", "true",
    "false", '""', '"auto"', '"x"', '"\\u0000"', '"\\u001b[2J"', '"\\ud800"', '"../../x"', '"/"', '"é\\u202e"',
    "[]", "{}", "[[]]", '[1, "a"]', '{"name" = "x"}', '{"name": "x"}', "[0, 0, 0]", "9" * 19, "9" * 400,
    "-" + "9" * 5000,
    '"' + "a" * LONG + '"', "[" * 200 + "]" * 200, "[" * DEEP, "[" * DEEP + "]" * DEEP,
    '{"a":' * 2000 + "1" + "}" * 2000,
    "[" + "0, " * 20_000 + "0]", "1_000", "0x1F", "1979-05-27T07:32:00Z",
)  # fmt: skip
WEIGHTS = np.array([0.02 if len(text) > 1000 else 1.0 for text in STRANGE])
WEIGHTS /= WEIGHTS.sum()


def pick(random: Random, choices: Sequence[Any]) -> Any:
    return choices[int(random.integers(len(choices)))]


def strange(random: Random) -> str:
    return str(STRANGE[int(random.choice(len(STRANGE), p=WEIGHTS))])


def mutate_bytes(content: bytes, random: Random, other: bytes = b"") -> bytes:
    """Flip, set, cut, insert, double or splice, one to four times."""
    held = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        start = int(random.integers(len(held) + 1))
        stop = min(len(held), start + int(2 ** random.uniform(0, 12)))
        match int(random.integers(8)):
            case 0 | 1:
                if start < len(held):
                    held[start] ^= 1 << int(random.integers(8))
            case 2:
                if start < len(held):
                    held[start] = int(random.integers(256))
            case 3:
                del held[start:stop]
            case 4:
                del held[start:]
            case 5:
                held[start:start] = pick(random, INTERESTING)
            case 6:
                held[stop:stop] = held[start:stop] * int(random.integers(1, 4))
            case _:
                held[start:] = other[int(random.integers(len(other) + 1)) :]
    return bytes(held)


def from_fragments(fragments: Sequence[str], random: Random) -> bytes:
    count = int(2 ** random.uniform(0, 7))
    return "".join(fragments[int(place)] for place in random.integers(len(fragments), size=count)).encode(
        "utf-8", "surrogatepass"
    )


class Marked(str):
    """A text that stands for itself in the file, not for a value: ``NaN``, or too many brackets."""


def mutate_value(value: Any, random: Random, changes: int = 3) -> Any:
    """Return a copy of a JSON value in which some values, keys or entries are replaced, missing or exchanged."""
    held = [_copied(value)]
    for _ in range(int(random.integers(1, changes + 1))):
        place: Any = held
        key: Any = 0
        while isinstance(place[key], dict | list) and place[key] and random.random() < 0.85:
            place = place[key]
            key = pick(random, list(place) if isinstance(place, dict) else range(len(place)))
        match int(random.integers(7)):
            case 0 | 1 | 2:
                place[key] = Marked(strange(random))
            case 3 if isinstance(place, dict):
                del place[key]
            case 4 if isinstance(place, dict):
                place[pick(random, (key + "x", "", "name", "\x1b[2J", "__class__", key.upper(), "a.b"))] = place.pop(
                    key
                )
            case 5 if isinstance(place, list) and place is not held:
                place[key : key + 1] = [place[key]] * int(random.integers(0, 4))
            case _:
                place[key] = _nudged(place[key], random)
    return held[0]


def json_bytes(value: Any, random: Random | None = None) -> bytes:
    """Return JSON with marked texts as they are; with ``random``, sometimes with a key twice."""
    marks: list[str] = []
    text = json.dumps(_with_places(value, marks))
    for number, mark in enumerate(marks):
        text = text.replace(f'"\\u0001{number}\\u0001"', mark)
    if random is not None and random.random() < 0.05 and '": ' in text:
        start = text.index('"')
        text = text[:start] + text[start : text.index('": ') + 3] + strange(random) + ", " + text[start:]
    return text.encode("utf-8", "surrogatepass")


def toml_bytes(table: Any) -> bytes:
    """Return TOML with each table of the top level under a header, and inner tables in one line."""
    if not isinstance(table, dict):
        return _toml(table).encode("utf-8", "surrogatepass")
    lines = []
    for key, value in sorted(table.items(), key=lambda item: isinstance(item[1], dict)):
        if isinstance(value, dict):
            lines.append(f"[{_key(key)}]")
            lines += [f"{_key(inner)} = {_toml(each)}" for inner, each in value.items()]
        else:
            lines.append(f"{_key(key)} = {_toml(value)}")
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _nudged(value: Any, random: Random) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return pick(random, (-value, value + 1, value * 1000, 0, value / 3, str(value), 2**63, -(2**63) - 1, 1e18))
    if isinstance(value, str):
        return pick(
            random, (value + "x", value[1:], value * 40, "", value.upper(), [value], {value: value}, "\n" + value)
        )
    if isinstance(value, list):
        return value[::-1] if random.random() < 0.5 else value * 50
    return list(value)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _with_places(value: Any, marks: list[str]) -> Any:
    if isinstance(value, Marked):
        marks.append(value)
        return f"\x01{len(marks) - 1}\x01"
    if isinstance(value, dict):
        return {str(key): _with_places(each, marks) for key, each in value.items()}
    return [_with_places(each, marks) for each in value] if isinstance(value, list) else value


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else json.dumps(key)


def _toml(value: Any) -> str:
    if isinstance(value, Marked):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        return "null"
    return json.dumps(value)


def rezipped(content: bytes, random: Random) -> bytes:
    """Damage what a zip holds, and pack it again with checksums that fit."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(sink, "w") as target:
        victim = pick(random, source.namelist())
        for name in source.namelist():
            held = source.read(name)
            if name == victim:
                if random.random() < 0.5 and held.startswith(b"\x93NUMPY"):  # its header
                    held = mutate_bytes(held[:128], random) + held[128:]
                else:
                    held = mutate_bytes(held, random)
            method = pick(random, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            target.writestr(name, held, method)
    return sink.getvalue()
