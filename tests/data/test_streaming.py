"""Images that stay files: what they give, when they are decoded, and what crosses to another process."""

from __future__ import annotations

import os
import pickle
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest
import torch

from regnas.data import DataFraction, Preprocessing, Splits, StreamedImages, batches_of, loading
from regnas.errors import DataError
from tests.data.photographs import Decoded, make_photographs, photograph, streamed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_photographs(tmp_path / "photographs")


@pytest.fixture
def splits(root: Path) -> Splits:
    return streamed(root).load()


@pytest.fixture
def report(splits: Splits) -> StreamedImages:
    assert isinstance(splits.report.images, StreamedImages)
    return splits.report.images


def test_streamed_splits_are_the_kept_ones(root: Path, splits: Splits) -> None:
    kept = streamed(root, keep="all").load()
    assert [type(split.images) for split in splits.all] == [StreamedImages, torch.Tensor, StreamedImages]
    for ours, theirs in zip(splits.all, kept.all, strict=True):
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert torch.equal(ours.targets, theirs.targets)
        assert ours.groups.tolist() == theirs.groups.tolist()
        assert torch.equal(ours.images[:], theirs.images)
    assert splits.preprocessing == kept.preprocessing  # fewer than 4,096 images: fitted to all of them
    assert splits.input_shape == kept.input_shape


def test_indices_as_of_a_tensor(root: Path, report: StreamedImages) -> None:
    tensor = streamed(root, keep="all").load().report.images
    assert (report.shape, report.dtype, report.ndim, report.device, len(report)) == (
        tensor.shape,
        tensor.dtype,
        tensor.ndim,
        tensor.device,
        len(tensor),
    )
    for index in (0, 14, -1, -15, slice(None), slice(3, 9, 2), slice(12, 99), slice(4, 4), torch.tensor([7, 0, 7, -2])):
        assert torch.equal(report[index], tensor[index])
    for index in (15, -16):
        with pytest.raises(IndexError):
            report[index]
    assert sum(1 for _ in report) == len(tensor)


@pytest.mark.parametrize("workers", [1, 3])
def test_pixels_do_not_depend_on_the_number_of_threads(root: Path, report: StreamedImages, workers: int) -> None:
    assert torch.equal(streamed(root, workers=workers).load().report.images[:], report[:])


@pytest.mark.parametrize("size", [1, 4, 5, 15, 99])
def test_batches_are_those_of_a_tensor(report: StreamedImages, size: int) -> None:
    expected = torch.split(report[:], size)
    for images in (report, report[:]):
        found = list(batches_of(images, size))
        assert len(found) == len(expected)
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize(("lead", "batches_ahead"), [(1, 1), (3, 1), (4, 2)])
def test_the_next_batches_are_decoded_while_one_is_used_and_no_more(
    splits: Splits, report: StreamedImages, monkeypatch: pytest.MonkeyPatch, lead: int, batches_ahead: int
) -> None:
    monkeypatch.setattr(loading, "LEAD", lead)
    decoded, names = Decoded(monkeypatch), splits.report.ids.tolist()
    batches = report.batches(3)
    next(batches)
    begun = 3 + 3 * batches_ahead
    assert decoded.wait_for(begun)  # without asking for the second batch
    assert decoded.taken() == names[:begun]
    next(batches)
    assert decoded.wait_for(3)
    assert decoded.taken() == names[begun : begun + 3]
    batches.close()
    assert decoded.taken() == []


def test_selections_stay_files(splits: Splits, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = Decoded(monkeypatch)
    half = DataFraction(samples=0.5).of(splits.train, 3, seed=0).part("some", np.array([4, 1]))
    assert isinstance(half.images, StreamedImages)
    assert decoded.taken() == []
    assert torch.equal(half.images[:][1], splits.train.images[splits.train.ids.tolist().index(half.ids[1])])
    assert set(decoded.taken()) == set(half.ids)


def test_another_process_is_sent_names_and_no_pixels(splits: Splits, report: StreamedImages) -> None:
    batches = report.batches(4)
    first = next(batches)  # threads are at work meanwhile
    sent = bytes(ForkingPickler.dumps(splits.report))
    assert len(sent) < 3000 + 200 * len(report)  # an image has 768 bytes
    received = pickle.loads(sent)
    assert received.digest == splits.report.digest
    assert torch.equal(received.images[:4], first)


def test_the_digest_tells_files_apart_without_decoding(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = Decoded(monkeypatch)

    def digest(**options: object) -> str:
        images = streamed(root, **options).load().report.images
        decoded.taken()
        found = images.digest
        assert decoded.taken() == []
        return found

    first = digest()
    assert digest(workers=1, seed=5) == first
    others = [digest(size=17), digest(channels=1), digest(transform="imagenet")]
    path = root / "val" / "class1" / "0.JPEG"
    status = path.stat()
    os.utime(path, ns=(1, status.st_mtime_ns + 1))
    others.append(digest())
    path.write_bytes(path.read_bytes() + b"\0")
    os.utime(path, ns=(1, status.st_mtime_ns))
    others.append(digest())
    path.rename(path.with_name("00.JPEG"))
    others.append(digest())
    assert len({first, *others}) == 7
    moved = root.rename(root.with_name("elsewhere"))
    assert streamed(moved).load().report.images.digest == others[-1]


def test_parts_have_digests_of_their_own(report: StreamedImages) -> None:
    digests = {report.part(np.array(indices)).digest for indices in ([0, 1], [1, 0], [0], [0, 2], range(15))}
    assert len(digests) == 5
    assert report.part(np.arange(15)).digest == report.digest


def test_an_unreadable_image_is_named_when_it_is_met(root: Path) -> None:
    report = streamed(root).load().report
    path = root / "val" / "class1" / "3.JPEG"
    status = path.stat()
    path.write_bytes(bytes(status.st_size))
    os.utime(path, ns=(1, status.st_mtime_ns))
    batches = report.images.batches(4)
    assert [len(next(batches)) for _ in range(2)] == [4, 4]
    with pytest.raises(DataError, match=r"cannot read an image in .*: val/class1/3\.JPEG: cannot identify") as met:
        next(batches)
    assert met.value.exit_code == 3
    with pytest.raises(DataError, match=r"val/class1/3\.JPEG"):
        report.images[8]
    assert len(report.images[9:]) == 6


@pytest.mark.parametrize("fault", ["other time", "other size", "gone", "folder"])
def test_a_file_that_changes_later_is_refused(root: Path, report: StreamedImages, fault: str) -> None:
    """The digest vouches for the files as they were listed."""
    path = root / "val" / "class0" / "2.JPEG"
    before = path.stat().st_mtime_ns
    if fault == "other time":
        os.utime(path, ns=(1, before + 1))
    else:
        path.unlink()
        if fault == "other size":
            photograph(path, 77)
            os.utime(path, ns=(1, before))
        if fault == "folder":
            path.mkdir()
    with pytest.raises(DataError, match=r"cannot read an image in .*: val/class0/2\.JPEG: ") as met:
        report[:]
    expected = {"gone": "No such file", "folder": "not a file"}.get(fault, "changed since the images were listed")
    assert expected in str(met.value)


def test_odd_metadata_is_no_problem_and_stays_unmentioned(root: Path) -> None:
    """PIL warns of it, from a thread; here every warning would be an error."""
    path = root / "val" / "class0" / "0.JPEG"
    content = path.read_bytes()
    exif = b"Exif\0\0II*\0\x08\0\0\0\x05\0\x1a\x01\x05\0\x01\0\0\0\xff\xff\0\0"  # five entries are promised
    path.write_bytes(content[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + content[2:])
    assert len(streamed(root).load().report.images[:1]) == 1


def test_at_most_4096_streamed_images_are_fitted(splits: Splits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regnas.data.preprocessing.MOST_DECODED", 4)
    decoded = Decoded(monkeypatch)
    fitted = Preprocessing.fitted_to(splits.train.images)
    chosen = torch.tensor([0, 4, 9, 13])  # of 18: floor(i * 18 / 4)
    assert decoded.taken() == sorted(splits.train.ids[chosen.numpy()].tolist())
    floats = splits.train.images[chosen].double() / 255
    assert fitted.mean == pytest.approx(floats.mean(dim=(0, 2, 3)).tolist())
    assert fitted.std == pytest.approx(floats.std(dim=(0, 2, 3), correction=0).tolist())
