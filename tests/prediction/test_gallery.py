"""A gallery in one call: from files or predictions, and without torch if torch is not needed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import regnas
from regnas.errors import ArtifactError, ConfigurationError, DataError
from regnas.pictures.labeled import open_folder, open_npz
from tests.comparison.gallery.making import answers, save
from tests.prediction.folders import write_folder

IDS = np.array([f"{name}/{index}.png" for name in ("dark", "gray", "light") for index in range(3)])
TARGETS = np.repeat([0, 1, 2], 3)
BROKEN = np.array([0, 2, 0, 1, 1, 1, 2, 2, 0])  # dark/1 and light/2
OLD = answers("old", TARGETS, [0.8] * 9, ids=IDS, targets=TARGETS)
NEW = answers("new", BROKEN, [0.9] * 8 + [0.95], ids=IDS, targets=TARGETS)


@pytest.fixture
def photos(tmp_path):
    save(tmp_path, OLD, NEW)
    return write_folder(tmp_path / "photos")


def numbered(predictions):
    ids = np.array([f"test/{index}" for index in range(9)])
    return answers(predictions.model, predictions.predicted, ids=ids, targets=TARGETS)


def write_npz(path):
    images = np.arange(9, dtype=np.uint8)[:, None, None].repeat(4, 1).repeat(4, 2)
    np.savez(path, test_images=images, test_targets=TARGETS, classes=np.array(["dark", "gray", "light"]))
    return path


def test_files_and_predictions_give_the_same_gallery_and_print_nothing(photos, capfd):
    out = photos.parent / "pages" / "flips.html"
    found = regnas.gallery(photos.parent / "old.npz", str(photos.parent / "new.npz"), photos, out=out)
    assert [flip.sample for flip in found.flips] == ["light/2.png", "dark/1.png"]
    assert (found.all_flips, found.samples, found.classes) == (2, 9, ("dark", "gray", "light"))
    assert found == regnas.gallery(OLD, NEW, photos)
    assert out.read_text() == found.to_html()
    assert capfd.readouterr() == ("", "")


def test_most_and_more(photos):
    other = answers("more", BROKEN, [0.9] * 9, ids=IDS, targets=TARGETS)
    found = regnas.gallery(OLD, NEW, photos, more=[other], most=1)
    assert (len(found.flips), found.all_flips, found.all_suspects) == (1, 2, 2)


def test_arrays_in_an_npz_are_shown(tmp_path):
    found = regnas.gallery(numbered(OLD), numbered(NEW), write_npz(tmp_path / "data.npz"))
    assert [flip.sample for flip in found.flips] == ["test/1", "test/8"]


def test_wrong_arguments_are_refused_before_the_work(photos):
    (photos.parent / "page.html").write_text("precious")
    for options, problem in [
        ({"out": photos.parent / "page.htm"}, r"`out` must end in \.html, got"),
        (
            {"out": photos.parent / "page.html"},
            r"page\.html exists\. Choose another file, or replace it with `overwrite=True`",
        ),
        ({"most": 0}, "most must be at least 1, got 0"),
        ({"split": "search"}, "the search split must be one of a configuration or a run folder"),
    ]:
        with pytest.raises(ConfigurationError, match=problem):
            regnas.gallery(OLD, NEW, photos, **options)
    assert (photos.parent / "page.html").read_text() == "precious"
    with pytest.raises(ArtifactError, match=r"none\.npz is missing"):
        regnas.gallery(photos.parent / "none.npz", NEW, photos)


def test_pictures_without_torch_are_those_with_it(photos, tmp_path):
    """Against the samples that networks read."""
    from regnas.prediction.data import samples_of

    for light, source in (
        (open_folder("photos", photos), photos),
        (open_npz("data", write_npz(tmp_path / "data.npz")), tmp_path / "data.npz"),
    ):
        heavy = samples_of(str(source), "report", None)
        assert light.classes == heavy.classes
        assert light.ids.tolist() == heavy.ids.tolist()
        assert light.targets.tolist() == heavy.targets.tolist()
        for index in (0, 4, 8):
            assert np.array_equal(np.asarray(light.picture(index)), np.asarray(heavy.picture(index)))


def test_labels_that_cannot_be_used_are_refused_without_torch_too(tmp_path):
    write_folder(tmp_path / "one", {"dark": 20})
    with pytest.raises(DataError, match='one must have samples of at least two classes, got 3 samples of "dark"'):
        open_folder("one", tmp_path / "one")
    np.savez(tmp_path / "bad.npz", test_images=np.zeros((2, 4, 4), np.uint8), test_targets=[0, 5], classes=["a", "b"])
    with pytest.raises(DataError, match=r"1 of 2 targets of the report split are outside 0\.\.1, first 5 of test/1"):
        open_npz("bad", tmp_path / "bad.npz")


def test_a_gallery_of_a_folder_or_an_npz_needs_no_torch(photos, tmp_path):
    save(tmp_path / "numbered", *map(numbered, (OLD, NEW)))
    write_npz(tmp_path / "data.npz")
    program = (
        "import sys\n"
        "for name in ('torch', 'torchvision', 'onnx', 'onnxruntime', 'optuna', 'ofa'): sys.modules[name] = None\n"
        "import regnas\n"
        "print(regnas.gallery('old.npz', 'new.npz', 'photos', out='a.html').all_flips)\n"
        "print(regnas.gallery('numbered/old.npz', 'numbered/new.npz', 'data.npz').all_flips)\n"
        "from regnas.cli import exit_code\n"
        "sys.exit(exit_code(['gallery', 'old.npz', 'new.npz', '--data', 'photos', '--out', 'b.html']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=photos.parent
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2\n2\nb.html: 2 negative flips; the page shows all of them\n"
    assert (photos.parent / "a.html").read_bytes() == (photos.parent / "b.html").read_bytes()
