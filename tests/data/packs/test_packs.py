"""Packs: their pixels, what is made again after a change, a kill or damage, and how much of them is read."""

from __future__ import annotations

import errno
import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks.processes import PythonProcess
from regnas.data import ImageFolder, Splits, StreamedImages
from regnas.data.packs import making, shards
from regnas.errors import EnvironmentProblem
from tests.data.photographs import Decoded, make_photographs, photograph, streamed


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(making, "SHARD_BYTES", 4 * 768)  # four images of 16 x 16
    return make_photographs(tmp_path / "photographs")


def packed(root: Path, pack: str = "pixels", **options: object) -> ImageFolder:
    return streamed(root, pack=pack, **options)


def pack_files(root: Path) -> list[Path]:
    """The shards of the largest pack, that of the training images."""
    folders = [path for path in (root.parent / "cache" / "image_folder").iterdir() if path.is_dir()]
    return max((sorted(folder.glob("*.safetensors")) for folder in folders), key=len)


def assert_same(found: Splits, expected: Splits) -> None:
    assert found.digest == expected.digest
    assert found.preprocessing == expected.preprocessing
    for ours, theirs in zip(found.all, expected.all, strict=True):
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert torch.equal(ours.images[:], theirs.images[:])


@pytest.mark.parametrize("options", [{}, {"transform": "imagenet"}, {"channels": 1}])
def test_packed_pixels_are_those_of_the_files_and_decoded_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    expected = streamed(root, cache=str(root.parent / "other"), **options).load()
    packed(root, **options).load()
    decoded = Decoded(monkeypatch)
    found = packed(root, **options).load()
    assert isinstance(found.train.images, StreamedImages)
    chosen = torch.tensor([11, 2, 2, -1])
    first = found.train.images[chosen], found.report.images[3:5]
    assert decoded.taken() == []
    assert torch.equal(first[0], expected.train.images[chosen])
    assert torch.equal(first[1], expected.report.images[3:5])
    assert_same(found, expected)


def test_a_jpeg_pack_holds_training_images_of_quality_95_and_leaves_the_others_exact(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = streamed(root).load()
    found = packed(root, "jpeg", search_fraction=0.25).load()
    assert torch.equal(found.search.images, exact.search.images)
    assert torch.equal(found.report.images[:], exact.report.images[:])
    assert found.report.digest == exact.report.digest
    assert found.train.digest != exact.train.digest
    decoded = Decoded(monkeypatch)
    ours = found.train.images[:]
    assert decoded.taken() == []
    for index, pixels in enumerate(exact.train.images[:]):
        written = io.BytesIO()
        Image.fromarray(pixels.permute(1, 2, 0).numpy()).save(written, "JPEG", quality=95, subsampling=0)
        assert np.array_equal(ours[index].permute(1, 2, 0), np.asarray(Image.open(written)))
    assert 0 < (ours.int() - exact.train.images[:].int()).abs().float().mean() < 4


def test_a_changed_file_costs_its_shard_and_what_is_left_over_is_removed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    splits = packed(root, transform="imagenet").load()
    before = pack_files(root)
    assert len(before) == 6  # 24 images in shards of 4
    photograph(root / "train" / "class1" / "1.JPEG", 777)
    decoded = Decoded(monkeypatch)
    again = packed(root, transform="imagenet").load()
    assert decoded.taken() == [f"train/class1/{index}.JPEG" for index in range(4)]
    after = pack_files(root)
    assert len(set(before) & set(after)) == 5
    assert len(after) == 6
    assert again.train.digest != splits.train.digest or again.search.digest != splits.search.digest


@pytest.mark.parametrize("fault", ["index", "problems", "half", "empty", "gone", "header"])
def test_a_damaged_shard_is_made_again_with_a_line(root: Path, fault: str, caplog: pytest.LogCaptureFixture) -> None:
    expected = packed(root).load()
    path = pack_files(root)[2]
    content = path.read_bytes()
    places = {"index": content.index(b"data_offsets"), "header": 0, "problems": content.index(b"problems") + 12}
    if fault == "gone":
        path.unlink()
    elif fault in places:
        place = places[fault]
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    else:
        path.write_bytes(content[: len(content) // 2] if fault == "half" else b"")
    found = packed(root).load()
    assert (f"{path} is" in caplog.text) == (fault != "gone")
    assert path.stat().st_size == len(content)
    assert_same(found, expected)


@pytest.mark.parametrize("pack", ["pixels", "jpeg"])
@pytest.mark.parametrize("fault", ["flip", "shorter", "gone"])
def test_rows_that_are_damaged_while_they_are_used_are_decoded_again(
    root: Path, pack: str, fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = packed(root, pack, search_fraction=0.25).load()
    expected = found.train.images[:]
    path = next(path for path in pack_files(root) if b"rows" in path.read_bytes())
    header = shards.open_shard(path, 4)
    assert header is not None
    if fault == "gone":
        path.unlink()
    else:
        with path.open("r+b") as file:
            if fault == "flip":
                for end in header.ends.tolist():
                    file.seek(header.begin + end - 5)
                    file.write(bytes(4))
            else:
                file.truncate(header.begin + 9)
    decoded = Decoded(monkeypatch)
    assert torch.equal(found.train.images[:], expected)
    assert len(decoded.taken()) > 0
    assert not path.exists()
    assert caplog.text.count("its images are decoded again") == (fault != "gone")
    assert torch.equal(packed(root, pack, search_fraction=0.25).load().train.images[:], expected)
    assert path.exists()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM])
def test_a_failure_of_the_machine_costs_no_shard(root: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    images = packed(root).load().train.images
    before = pack_files(root)

    def failing(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "preadv", failing)
    with pytest.raises(EnvironmentProblem, match=os.strerror(number)):
        images[:2]
    assert pack_files(root) == before


PACKING = """
import sys, time
from regnas.data import ImageFolder
from regnas.data.image_decoding import Decoder
from regnas.data.packs import making
making.SHARD_BYTES = 4 * 768
fill = Decoder.fill
def slow(self, files, index, pixels):
    time.sleep(0.2 if "class1" in files.name(index) else 0)
    return fill(self, files, index, pixels)
Decoder.fill = slow
ImageFolder(sys.argv[1], 16, keep="search", pack="pixels", search_fraction=0.25, cache=sys.argv[2], workers=1).load()
"""


@pytest.mark.slow
def test_a_killed_pack_is_continued(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = root.parent / "cache"
    process = PythonProcess("-c", PACKING, root, cache)
    process.wait_for(lambda: len(list(cache.rglob("*.safetensors"))) >= 2)
    process.kill()
    (folder,) = (path for path in (cache / "image_folder").iterdir() if path.is_dir())
    (folder / ".left.00000000-999999999-1-00000000.regnas-tmp").write_bytes(b"x")
    os.utime(folder / ".left.00000000-999999999-1-00000000.regnas-tmp", (1, 1))
    decoded = Decoded(monkeypatch)
    found = packed(root, workers=2).load()
    names = decoded.taken()
    assert len(names) == len(set(names))
    assert not {f"train/class0/{index}.JPEG" for index in range(8)} & set(names)
    assert list(folder.glob(".*tmp")) == []
    assert_same(found, streamed(root, cache=str(root.parent / "other")).load())


def test_only_the_rows_that_are_asked_for_are_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = packed(root).load().train.images
    read: list[int] = []
    preadv = os.preadv

    def counted(file: int, buffers: list[np.ndarray], place: int) -> int:
        read.append(preadv(file, buffers, place))
        return read[-1]

    monkeypatch.setattr(os, "preadv", counted)
    images[torch.tensor([3, 17, 9])]
    assert read == [768] * 3


READING = """
import resource, sys
import numpy as np, torch
from pathlib import Path
from regnas.data.image_decoding import Decoder
from regnas.data.packs import Pack, shards
from regnas.data import StreamedImages
from regnas.pictures.files import ImageFiles
row = np.random.default_rng(0).integers(0, 256, 2**20, dtype=np.uint8).tobytes()
path = Path(sys.argv[1]) / "shard"
shards.write_shard(path, [row] * 16, {})
pack = Pack("pixels", (shards.open_shard(path, 16),) * 48, 16)
files = ImageFiles(np.array([b"x"] * 768), np.zeros(768, np.int64), np.zeros(768, np.int64))
images = StreamedImages(Decoder(Path("."), 1024, 1, "fit", 2), files).with_pack(pack)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
total = sum(int(batch.sum()) for batch in images.batches(8))
assert total == 768 * sum(row), total
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_an_epoch_over_a_pack_takes_the_memory_of_a_few_batches(tmp_path: Path) -> None:
    """768 MB are read in batches of 8 MB. The lead (here 16 images) and up to two more batches exist together."""
    outcome = PythonProcess("-c", "from regnas.data import loading; loading.LEAD = 16" + READING, tmp_path).finish()
    assert outcome.code == 0, outcome.stderr
    assert int(outcome.stdout) * 1024 < 256 * 2**20


def test_a_pack_crosses_to_another_process_as_places(root: Path) -> None:
    images = packed(root).load().train.images
    sent = pickle.dumps(images)
    assert len(sent) < 10_000  # the pixels of the pack have 18,432 bytes
    assert torch.equal(pickle.loads(sent)[:], images[:])


def test_packs_of_other_folders_sizes_and_kinds_are_kept_apart(root: Path) -> None:
    other = make_photographs(root.parent / "elsewhere", train=9)
    expected = [packed(each, size=size).load().train.images[:] for each in (root, other) for size in (16, 20)]
    packed(root, "jpeg").load()
    found = [packed(each, size=size).load().train.images[:] for each in (root, other) for size in (16, 20)]
    assert all(torch.equal(one, two) for one, two in zip(found, expected, strict=True))
