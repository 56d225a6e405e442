"""Folders of images made on the spot, sound and broken."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regnas.data import ImageFolder
from regnas.errors import DataError, EnvironmentProblem

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def paint(path: Path, color: tuple[int, int, int], size: tuple[int, int] = (8, 8)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "pets"
    for index in range(4):
        paint(root / "train" / "dog" / f"{index}.png", RED)
        paint(root / "train" / "cat" / f"{index}.png", GREEN)
    paint(root / "test" / "dog" / "9.png", RED)
    paint(root / "test" / "cat" / "9.png", BLUE)
    return root


def data(folder: Path, **options: int) -> ImageFolder:
    return ImageFolder(str(folder), **({"size": 4} | options), search_fraction=0.25, cache=str(folder.parent / "cache"))


def test_classes_are_sorted_and_colors_come_back(folder: Path) -> None:
    splits = data(folder).load()
    assert splits.classes == ("cat", "dog")
    assert [len(split) for split in splits.all] == [6, 2, 2]
    assert splits.report.ids.tolist() == ["test/cat/9.png", "test/dog/9.png"]
    assert splits.report.targets.tolist() == [0, 1]
    for pixels, color in zip(splits.report.images, (BLUE, RED), strict=True):
        assert (pixels.permute(1, 2, 0).numpy() == color).all()
    for pixels, name in zip(splits.train.images, splits.train.ids, strict=True):
        assert (pixels.permute(1, 2, 0).numpy() == (GREEN if "/cat/" in name else RED)).all()


def test_gray_images_have_one_channel(folder: Path) -> None:
    splits = data(folder, channels=1).load()
    assert splits.input_shape == (1, 4, 4)
    assert set(splits.report.images[1].flatten().tolist()) == {76}  # 0.299 * 255


def test_the_center_of_a_wide_image_is_kept(folder: Path) -> None:
    wide = np.zeros((4, 12, 3), dtype=np.uint8)
    wide[:, :4], wide[:, 4:8], wide[:, 8:] = RED, GREEN, BLUE
    Image.fromarray(wide).save(folder / "test" / "cat" / "9.png")
    assert (data(folder).load().report.images[0].permute(1, 2, 0).numpy() == GREEN).all()


def test_hidden_files_other_suffixes_nested_folders_and_links(folder: Path) -> None:
    (folder / "train" / "cat" / ".DS_Store").write_bytes(b"x")
    (folder / "train" / "cat" / ".hidden.png").write_bytes(b"x")
    (folder / "train" / "cat" / "notes.txt").write_text("x")
    (folder / "train" / ".git").mkdir()
    (folder / "train" / "README").write_text("x")
    paint(folder / "test" / "cat" / "deep" / "1.PNG", GREEN)
    (folder / "test" / "dog" / "link.png").symlink_to(folder / "test" / "dog" / "9.png")
    (folder / "test" / "dog" / "loop").symlink_to(folder / "test")
    splits = data(folder).load()
    assert len(splits.train) + len(splits.search) == 8
    assert {"test/cat/9.png", "test/cat/deep/1.PNG", "test/dog/9.png", "test/dog/link.png"} <= set(splits.report.ids)


def test_val_serves_in_place_of_test(folder: Path) -> None:
    (folder / "test").rename(folder / "val")
    assert data(folder).load().report.ids.tolist() == ["val/cat/9.png", "val/dog/9.png"]


def test_names_are_kept_verbatim(folder: Path) -> None:
    for part in ("train", "test"):
        for index in range(2):
            paint(folder / part / "<b>köter & [red]犬" / f"{index} <i>ñ[bold].png", BLUE)
    splits = data(folder).load()
    assert "<b>köter & [red]犬" in splits.classes
    assert "test/<b>köter & [red]犬/0 <i>ñ[bold].png" in splits.report.ids


def test_the_second_load_does_not_decode(folder: Path) -> None:
    first = data(folder).load().digest
    for path in folder.rglob("*.png"):
        status = path.stat()
        path.write_bytes(b"x" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert data(folder).load().digest == first
    with pytest.raises(DataError, match="10 of 10 images"):  # another size is another cache
        data(folder, size=5).load()


def test_a_changed_file_is_decoded_again(folder: Path) -> None:
    first = data(folder).load().digest
    paint(folder / "test" / "cat" / "9.png", GREEN)
    os.utime(folder / "test" / "cat" / "9.png", ns=(1, 1))
    assert data(folder).load().digest != first


def test_unreadable_images_are_counted_and_the_first_is_named(folder: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    jpeg = folder / "train" / "cat" / "5.jpg"
    Image.fromarray(noise).save(jpeg)
    jpeg.write_bytes(jpeg.read_bytes()[:2000])
    (folder / "train" / "dog" / "text.jpg").write_text("not an image")
    (folder / "train" / "dog" / "void.png").write_bytes(b"")
    (folder / "train" / "dog" / "dangling.png").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "train" / "dog" / "pipe.png")
    with pytest.raises(DataError, match=r"5 of 15 images in .* cannot be read, first train/cat/5\.jpg: .*truncated"):
        data(folder).load()


def test_images_of_16_bits_are_refused_and_not_clipped(folder: Path) -> None:
    Image.fromarray(np.full((8, 8), 40_000, dtype=np.uint16)).save(folder / "test" / "cat" / "deep.png")
    with pytest.raises(DataError, match=r"1 of 11 images .* test/cat/deep\.png: its pixels must have 8 bits"):
        data(folder).load()


def test_decompression_bombs_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paint(folder / "test" / "dog" / "bomb.png", RED, size=(40, 40))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)  # 1,600 pixels: PIL itself would only warn
    with pytest.raises(DataError, match=r"1 of 11 images .* test/dog/bomb\.png: .*decompression bomb"):
        data(folder).load()


def test_missing_folders_are_named(folder: Path) -> None:
    with pytest.raises(DataError, match="nowhere does not exist"):
        data(folder / "nowhere").load()
    with pytest.raises(DataError, match="must have a folder train/"):
        data(folder / "test").load()
    (folder / "test").rename(folder / "tset")
    with pytest.raises(DataError, match=r"must have a folder test/ \(or val/\)"):
        data(folder).load()


def test_folders_without_classes_images_or_a_second_class_are_refused(folder: Path) -> None:
    (folder / "train" / "ant").mkdir()
    (folder / "train" / "emu").mkdir()
    with pytest.raises(DataError, match=r'must have images, got 2 of 4 without, first "ant"'):
        data(folder).load()
    for name in ("ant", "emu"):
        (folder / "train" / name).rmdir()
    (folder / "train" / "cat").rename(folder.parent / "cat")
    with pytest.raises(DataError, match='at least two class folders, got one, "dog"'):
        data(folder).load()
    (folder / "train" / "dog").rename(folder.parent / "dog")
    with pytest.raises(DataError, match="must have class folders, got none"):
        data(folder).load()


def test_classes_of_test_that_are_not_trained_are_named(folder: Path) -> None:
    paint(folder / "test" / "emu" / "1.png", RED)
    with pytest.raises(DataError, match=r'1 classes of .*test have no folder in train/: "emu"'):
        data(folder).load()


def test_names_that_are_not_text_are_refused(folder: Path) -> None:
    strange = os.fsencode(folder / "test" / "cat") + b"/\xff.png"
    try:
        Path(os.fsdecode(strange)).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system only holds names that are text")
    with pytest.raises(DataError, match=r"1 file names .* are not UTF-8, first 'test/cat/\\udcff\.png'"):
        data(folder).load()


def test_a_cache_that_cannot_be_written_is_named_before_decoding(folder: Path) -> None:
    (folder.parent / "cache").write_text("a file is in the way")
    (folder / "test" / "cat" / "bad.png").write_bytes(b"x")
    with pytest.raises(EnvironmentProblem, match='set "cache" of the data set to another folder'):
        data(folder).load()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"size": 0}, "size must be 1"), ({"channels": 2}, "channels must be 3 for color or 1 for gray, got 2")],
)
def test_impossible_options_are_refused(tmp_path: Path, wrong: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        data(tmp_path, **wrong)
