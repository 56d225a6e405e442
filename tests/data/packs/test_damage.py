"""Images that cannot be read: found before training, listed, refused or skipped, and the same ones everywhere."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import torch
from PIL import Image

from regnas.components.builder import Builder
from regnas.data import ImageFolder
from regnas.data.image_transforms import Center
from regnas.errors import DataError, EnvironmentProblem
from regnas.prediction.data import Reading, samples_of
from regnas.runtime.progress import Progress, listening
from tests.data.photographs import Decoded, make_photographs, streamed

BAD = ("train/class0/1.JPEG", "train/class2/7.JPEG", "val/class1/0.JPEG", "val/class1/4.JPEG")
OPTIONS = ({"keep": "all"}, {"keep": "search"}, {"pack": "pixels"}, {"pack": "jpeg"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_photographs(tmp_path / "photographs")


@pytest.fixture
def damaged(root: Path) -> Path:
    for name in BAD:
        (root / name).write_bytes((root / name).read_bytes()[:500])
    return root


def list_file(root: Path) -> Path:
    (found,) = (root.parent / "cache").rglob("damaged-*.txt")
    return found


@pytest.mark.parametrize("options", OPTIONS)
def test_all_damaged_images_of_both_parts_are_listed_and_refused(damaged: Path, options: dict[str, str]) -> None:
    with pytest.raises(DataError) as met:
        streamed(damaged, **options).load()
    message = str(met.value)
    assert message.startswith(f"4 of 39 images in {damaged} cannot be read, first {BAD[0]}: ")
    assert all((name in message) == (name != BAD[3]) for name in BAD)  # the first three
    assert str(list_file(damaged)) in message
    assert 'set "damaged" of the data set to "skip"' in message
    lines = list_file(damaged).read_text().splitlines()
    assert [line.partition(": ")[0] for line in lines] == list(BAD)
    assert all(len(line.partition(": ")[2]) > 5 for line in lines)


@pytest.mark.parametrize("options", OPTIONS)
def test_skipped_images_are_absent_and_the_others_are_as_if_they_had_never_been_there(
    damaged: Path, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    found = streamed(damaged, damaged="skip", **options).load()
    assert "skipped: 4 of 39 images" in caplog.text
    assert len(list_file(damaged).read_text().splitlines()) == 4
    assert streamed(damaged, damaged="skip", **options).load().digest == found.digest
    for name in BAD:
        (damaged / name).unlink()
    expected = streamed(damaged, cache=str(damaged.parent / "other"), **options).load()
    assert found.digest == expected.digest
    for ours, theirs in zip(found.all, expected.all, strict=True):
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert torch.equal(ours.targets, theirs.targets)
        assert ours.groups.tolist() == theirs.groups.tolist()
        assert torch.equal(ours.images[:], theirs.images[:])


@pytest.mark.parametrize("keep", ["all", "search"])
@pytest.mark.parametrize("name", ["train", "search", "report"])
def test_predictions_are_on_the_images_of_the_splits(damaged: Path, keep: str, name: str) -> None:
    options = f'size = 16\nkeep = "{keep}"\nsearch_fraction = 0.25\ndamaged = "skip"\n'
    config = damaged.parent / "mine.toml"
    config.write_text(
        f'[data]\nname = "image_folder"\npath = "{damaged}"\ncache = "{damaged.parent / "cache"}"\n' + options
    )
    split = streamed(damaged, keep=keep, damaged="skip").load().named(name)  # type: ignore[arg-type]
    for reading in (Reading((3, 16, 16), "fit"), Reading((3, 14, 14), Center(20, "bicubic"))):
        samples = samples_of(str(config), name, reading)  # type: ignore[arg-type]
        assert samples.split.ids.tolist() == split.ids.tolist()
        assert samples.targets.tolist() == split.targets.tolist()
        assert sum(len(batch) for batch in samples.batches(reading, 4)) == len(split)


def test_an_unchanged_folder_is_scanned_once_with_progress(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Progress] = []
    with listening(events.append):
        streamed(root).load()
    scans = [event for event in events if event.description == "checking images"]
    assert [event.total for event in scans if event.finished] == [24, 15]
    assert [event.done for event in scans if event.finished] == [24, 15]
    decoded = Decoded(monkeypatch)
    with listening(lambda event: events.clear()):
        streamed(root).load()
    assert decoded.taken() == []


def test_repaired_images_are_found(damaged: Path) -> None:
    streamed(damaged, damaged="skip").load()
    for name in BAD:
        Image.new("RGB", (20, 20)).save(damaged / name)
    assert sum(len(split) for split in streamed(damaged).load().all) == 39
    assert list((damaged.parent / "cache").rglob("damaged-*.txt")) == []


@pytest.mark.parametrize("options", OPTIONS)
def test_an_image_that_can_be_read_later_without_a_change_is_found(
    root: Path, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as after a change of permissions."""
    from regnas.data import image_decoding

    read_picture = image_decoding.read_picture

    def forbidden(path: Path, mode: str) -> Image.Image:
        if str(path).endswith(BAD[0]):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read_picture(path, mode)

    with monkeypatch.context() as patched:
        patched.setattr(image_decoding, "read_picture", forbidden)
        assert sum(len(split) for split in streamed(root, damaged="skip", **options).load().all) == 38
    assert sum(len(split) for split in streamed(root, damaged="skip", **options).load().all) == 39


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_a_failure_of_the_machine_is_no_damage(root: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: Path, mode: str) -> Image.Image:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("regnas.data.image_decoding.read_picture", failing)
    with pytest.raises(EnvironmentProblem, match=os.strerror(number)):
        streamed(root, damaged="skip").load()


def test_a_class_without_an_image_that_can_be_read_is_refused(root: Path) -> None:
    for path in (root / "train" / "class1").iterdir():
        path.write_bytes(b"x")
    with pytest.raises(DataError, match=r'must have an image that can be read, got 1 without, first "class1"'):
        streamed(root, damaged="skip").load()


def test_the_keys_are_those_of_the_configuration(root: Path) -> None:
    builder = Builder({})
    table = {"path": str(root), "size": 16, "keep": "search", "pack": "jpeg", "damaged": "ignore"}
    builder.record(ImageFolder, table, "data")
    (problem,) = builder.problems
    assert "damaged" in problem
    assert "ignore" in problem
