"""Files that are damaged or are not predictions; what any npz may suffer is tested with its reader."""

from __future__ import annotations

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
    """A good file except for the changes; None leaves an array out."""
    arrays: dict[str, Any] = {
        "id": np.arange(3),
        "target": np.zeros(3, dtype=np.int64),
        "predicted": np.zeros(3, dtype=np.int64),
        "model": np.array("m"),
        "split": np.array("report"),
        **changes,
    }
    np.savez_compressed(path, **{name: value for name, value in arrays.items() if value is not None})


def test_the_unchanged_file_of_these_tests_is_accepted(path: Path) -> None:
    write(path)
    assert load_predictions(path).accuracy == 1.0


def test_missing_file(path: Path) -> None:
    assert refusal(path) == f"{path} is missing"


@pytest.mark.parametrize("name", ["id", "target", "predicted", "model", "split"])
def test_missing_array(path: Path, name: str) -> None:
    write(path, **{name: None})
    assert f"lacks the array {name}" in refusal(path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"target": np.zeros(3)}, 'array "target" has dtype float64, expected integers'),
        ({"id": np.zeros(3)}, 'array "id" has dtype float64, expected text or integers'),
        ({"id": np.array([b"a", b"b", b"c"])}, 'array "id" has dtype |S1, expected text or integers'),
        ({"id": np.array([None] * 3, dtype=object)}, 'array "id" holds pickled Python objects'),
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


def test_file_over_the_size_limit_is_refused(path: Path) -> None:
    write(path, logits=np.zeros((3, 100_000), dtype=np.float32))
    assert path.stat().st_size < 10_000
    assert "would unpack to 1,20" in (message := refusal(path, size_limit=1_000_000))
    assert "over the limit of 1,000,000" in message
    assert load_predictions(path, size_limit=2_000_000).logits is not None


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
