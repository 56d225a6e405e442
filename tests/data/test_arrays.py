"""Arrays from an npz file, honest and otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regnas.data import Arrays
from regnas.errors import DataError


def sound(channels: tuple[int, ...] = (3,)) -> dict[str, Any]:
    draws = np.random.default_rng(0)
    return {
        "train_images": draws.integers(0, 256, (20, 4, 5, *channels), dtype=np.uint8),
        "train_targets": np.arange(20) % 2,
        "test_images": draws.integers(0, 256, (6, 4, 5, *channels), dtype=np.uint8),
        "test_targets": np.arange(6) % 2,
    }


def written(folder: Path, **parts: Any) -> Arrays:
    path = folder / "data.npz"
    np.savez(path, **{key: value for key, value in parts.items() if value is not None})
    return Arrays(str(path), search_fraction=0.2)


def test_color_images_come_back_with_channels_first(tmp_path: Path) -> None:
    parts = sound()
    splits = written(tmp_path, **parts).load()
    assert splits.input_shape == (3, 4, 5)
    assert [len(split) for split in splits.all] == [16, 4, 6]
    assert splits.classes == ("0", "1")
    assert torch.equal(splits.report.images, torch.from_numpy(parts["test_images"].transpose(0, 3, 1, 2).copy()))
    for split in (splits.train, splits.search):
        for name, pixels in zip(split.ids.tolist(), split.images, strict=True):
            original = parts["train_images"][int(name.removeprefix("train/"))]
            assert np.array_equal(pixels.numpy(), original.transpose(2, 0, 1))


def test_gray_images_names_of_classes_and_a_search_part_of_its_own(tmp_path: Path) -> None:
    parts = sound(channels=())
    extra = {"search_images": parts["test_images"][:3], "search_targets": np.array([0, 1, 1], dtype=np.uint8)}
    splits = written(tmp_path, **parts, **extra, classes=np.array(["köter", "[b]x[/b]"])).load()
    assert splits.input_shape == (1, 4, 5)
    assert [len(split) for split in splits.all] == [20, 3, 6]
    assert splits.search.ids.tolist() == ["search/0", "search/1", "search/2"]
    assert splits.classes == ("köter", "[b]x[/b]")
    assert written(tmp_path, **parts, **extra, classes=np.array(["köter", "[b]x[/b]"])).load().digest == splits.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"train_images": np.zeros((20, 4, 5), np.float32)},
            r"train_images .* float32\..*\* 255\)\.round\(\)\.astype",
        ),
        ({"train_images": np.zeros((20, 4, 5), np.int64)}, r"train_images .* int64\. .*save images\.astype"),
        ({"train_images": np.zeros((20, 3, 32, 32), np.uint8)}, r"got 32 of shape .*transpose\(0, 2, 3, 1\)"),
        ({"train_images": np.zeros((20, 4), np.uint8)}, r"must have the shape .*, got \[20, 4\]"),
        ({"train_images": np.zeros((20, 0, 4), np.uint8)}, r"must have the shape .*, got \[20, 0, 4\]"),
        ({"test_images": np.zeros((0, 4, 5), np.uint8), "test_targets": np.zeros(0, int)}, "test_images .* is empty"),
        ({"train_targets": np.zeros(19, int)}, r"must be one integer for each of the 20 images, got int64 \[19\]"),
        ({"train_targets": np.zeros(20)}, "train_targets .* float64"),
        ({"train_targets": np.zeros(20, int)}, 'all 16 samples of the train split are "0"'),
        (
            {"train_targets": np.array([0, 10**15] * 10)},
            r"must number the 2 classes 0\.\.1, got 0\.\.1000000000000000",
        ),
        ({"test_targets": np.full(6, 2)}, r"6 of 6 targets of the report split are outside 0\.\.1, first 2 of test/0"),
        ({"classes": np.array([1, 2])}, "classes .* must be a list of texts"),
        ({"classes": np.array(["a"])}, r"8 of 16 targets of the train split are outside 0\.\.0"),
        ({"test_images": None}, "lacks the array test_images; it holds train_images, train_targets, test_targets"),
        (
            {"search_images": np.zeros((2, 4, 5), np.uint8)},
            "must have both search_images and search_targets, got search_images alone",
        ),
        ({"train_targets": np.array([print] * 20, dtype=object)}, '"train_targets" holds pickled Python objects'),
    ],
)
def test_wrong_content_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        written(tmp_path, **(sound(channels=()) | change)).load()
    assert "\n" not in str(caught.value)


def test_missing_and_foreign_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.npz is missing"):
        Arrays(str(tmp_path / "nothing.npz")).load()
    (tmp_path / "text.npz").write_text("not a zip")
    with pytest.raises(DataError, match=r"text\.npz is damaged or not an npz file"):
        Arrays(str(tmp_path / "text.npz")).load()


def test_every_damaged_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    """The checksums of zip cover the arrays; a flip elsewhere may only lead to the same data or a DataError."""
    data = written(tmp_path, **sound(channels=()))
    digest, path = data.load().digest, Path(data.path)
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :])
        try:
            assert data.load().digest == digest
        except DataError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("part", [0.3, 0.9, 0.99])
def test_a_truncated_file_is_refused(tmp_path: Path, part: float) -> None:
    data = written(tmp_path, **sound())
    content = Path(data.path).read_bytes()
    Path(data.path).write_bytes(content[: int(part * len(content))])
    with pytest.raises(DataError, match=r"data\.npz"):
        data.load()
