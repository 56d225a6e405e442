"""Where samples come from: their ids, classes and pixels."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch

from benchmarks.tiny import write_arrays, write_tiny
from regnas.data import ImageFolder
from regnas.data.image_transforms import Center
from regnas.errors import ArtifactError, ConfigurationError, DataError
from regnas.prediction.data import Reading, samples_of
from regnas.runs.folder import RUN
from regnas.runtime.files import write_sealed_json
from tests.data.photographs import make_photographs
from tests.prediction.folders import write_folder, write_picture

COLOR = Reading((3, 8, 8), "fit")


def read(source, split="report", reading=COLOR):
    return samples_of(str(source), split, reading)


def pixels(samples, reading, size=4):
    return torch.cat(list(samples.batches(reading, size)))


def test_a_folder_of_class_folders_has_relative_paths_as_ids_and_folders_in_order_as_classes(tmp_path):
    samples = read(write_folder(tmp_path / "photos", images=2))
    assert samples.classes == ("dark", "gray", "light")
    assert samples.split.ids.tolist()[:3] == ["dark/0.png", "dark/1.png", "gray/0.png"]
    assert samples.split.targets.tolist() == [0, 0, 1, 1, 2, 2]
    assert pixels(samples, COLOR)[:, 0, 0, 0].tolist() == [20, 21, 128, 129, 240, 241]


@pytest.mark.parametrize("part", ["test", "val"])
def test_a_folder_with_a_test_part_is_that_part_with_the_ids_and_classes_of_the_data_set(tmp_path, part):
    write_folder(tmp_path / "photos" / "train")
    write_folder(tmp_path / "photos" / part, {"light": 240, "dark": 20})
    samples = read(tmp_path / "photos")
    assert samples.classes == ("dark", "gray", "light")  # gray has no image to report on
    data_set = ImageFolder(str(tmp_path / "photos"), 8, cache=str(tmp_path / "cache")).load()
    assert samples.split.ids.tolist() == data_set.report.ids.tolist()
    assert samples.split.targets.tolist() == data_set.report.targets.tolist()
    assert torch.equal(pixels(samples, COLOR), data_set.report.images)


def test_no_image_is_decoded_before_it_is_asked_for(tmp_path):
    folder = write_folder(tmp_path / "photos")
    (folder / "light" / "2.png").write_bytes(b"no picture")
    samples = read(folder)
    batches = samples.batches(COLOR, 4)
    with pytest.raises(
        DataError, match=r"cannot read an image in .*: light/2\.png: cannot identify .*\. Repair or remove it"
    ):
        list(batches)


def test_arrays_need_no_training_images(tmp_path):
    images = np.arange(2 * 4 * 4, dtype=np.uint8).reshape(2, 4, 4)
    np.savez(tmp_path / "a.npz", test_images=images, test_targets=np.array([1, 0]), classes=np.array(["x", "y"]))
    samples = read(tmp_path / "a.npz")
    assert (samples.classes, samples.split.ids.tolist()) == (("x", "y"), ["test/0", "test/1"])
    assert np.array_equal(pixels(samples, Reading((1, 4, 4), "fit"))[:, 0].numpy(), images)


def test_classes_of_arrays_without_names_are_counted_where_there_are_all_of_them(tmp_path):
    images = np.zeros((3, 4, 4), np.uint8)
    np.savez(tmp_path / "a.npz", test_images=images, test_targets=[0, 1, 1], train_targets=[0, 1, 2])
    assert read(tmp_path / "a.npz").classes == ("0", "1", "2")
    np.savez(tmp_path / "b.npz", test_images=images, test_targets=[0, 1, 1], train_targets=np.array([], np.int64))
    assert read(tmp_path / "b.npz").classes == ("0", "1")
    np.savez(tmp_path / "c.npz", test_images=images, test_targets=[0, 2, 2])
    with pytest.raises(DataError, match=r"test_targets in .*c\.npz must number the 2 classes 0\.\.1, got 0\.\.2"):
        read(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"test_targets": [1, 1]}, 'must have samples of at least two classes, got 2 samples of "y"'),
        ({"test_targets": [0, 7]}, r"1 of 2 targets of the report split are outside 0\.\.1, first 7"),
        ({"classes": ["x", "x"]}, 'class names are used twice, first "x"'),
        ({"test_images": np.zeros((0, 4, 4), np.uint8), "test_targets": np.zeros(0, np.int64)}, "test_images .* empty"),
        ({"test_images": np.zeros((2, 4, 4), np.float32)}, "must be uint8 from 0 to 255, got float32"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(tmp_path, changes, problem):
    arrays = {"test_images": np.zeros((2, 4, 4), np.uint8), "test_targets": [0, 1], "classes": ["x", "y"]}
    np.savez(tmp_path / "a.npz", **(arrays | changes))
    with pytest.raises(DataError, match=problem):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (
            lambda root: [shutil.rmtree(root / name) for name in ("gray", "light")],
            'got 3 samples of "dark"',
        ),
        (lambda root: shutil.rmtree(root / "dark") or (root / "dark").mkdir(), 'got 1 of 3 without, first "dark"'),
        (lambda root: [shutil.rmtree(each) for each in root.iterdir()], "must have class folders, got none"),
        (lambda root: (root / "dark").rename(root / "train"), r"must have test/ \(or val/\) beside train/"),
    ],
)
def test_folders_that_cannot_be_used_are_refused(tmp_path, spoil, problem):
    root = write_folder(tmp_path / "photos")
    spoil(root)
    with pytest.raises(DataError, match=problem):
        read(root)


def test_an_npz_without_a_configuration_has_only_the_report_split(tmp_path):
    write_arrays(tmp_path / "data.npz")
    with pytest.raises(ConfigurationError, match="the search split must be one of a configuration or a run"):
        read(tmp_path / "data.npz", "search")
    config = write_tiny(tmp_path)
    gray = Reading((1, 8, 8), "fit")
    parts = {name: set(read(config, name, gray).split.ids.tolist()) for name in ("train", "search", "report")}
    assert {name: len(ids) for name, ids in parts.items()} == {"train": 140, "search": 60, "report": 100}
    assert not parts["train"] & parts["search"]


def test_a_configuration_says_with_how_many_threads_it_wants_to_be_run(tmp_path):
    assert read(write_tiny(tmp_path), reading=None).machine.threads == 1


def test_other_data_than_those_of_the_run_are_found(finished_run, tmp_path):
    shutil.copy(finished_run / RUN, tmp_path / RUN)
    facts = json.loads((tmp_path / RUN).read_text())
    facts["data"]["splits"]["report"]["digest"] = "0" * 64
    write_sealed_json(tmp_path / RUN, facts)
    with pytest.raises(ArtifactError, match=r"must be the one that the run started with, digest 000000000000…"):
        read(tmp_path)
    assert len(read(tmp_path, "search")) == 60


def configured_photographs(tmp_path, keep):
    root = make_photographs(tmp_path / "photos")
    text = f'[data]\nname = "image_folder"\npath = "{root}"\nsize = 16\nkeep = "{keep}"\n'
    (tmp_path / "mine.toml").write_text(text + f'search_fraction = 0.25\ncache = "{tmp_path / "cache"}"\n')
    return tmp_path / "mine.toml", ImageFolder(
        str(root), 16, search_fraction=0.25, keep=keep, cache=str(tmp_path / "cache")
    )


@pytest.mark.parametrize("keep", ["all", "search"])
@pytest.mark.parametrize("name", ["train", "search", "report"])
def test_a_configured_folder_is_read_as_the_model_wants_it_with_the_same_samples(tmp_path, keep, name):
    config, data_set = configured_photographs(tmp_path, keep)
    own = read(config, name, Reading((3, 16, 16), "fit"))
    wanted = data_set.load().named(name)
    assert torch.equal(pixels(own, Reading((3, 16, 16), "fit")), wanted.images[:])
    reading = Reading((3, 14, 14), Center(20, "bicubic"))
    other = read(config, name, reading)
    for samples in (own, other):
        assert samples.split.ids.tolist() == wanted.ids.tolist()
        assert torch.equal(samples.split.targets, wanted.targets)
        assert np.array_equal(samples.split.groups, wanted.groups)
    assert pixels(other, reading).shape == (len(wanted), 3, 14, 14)


def test_images_kept_as_arrays_go_through_the_transform_of_published_weights(tmp_path):
    from torchvision import transforms

    images = np.random.default_rng(0).integers(0, 256, (5, 20, 30, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", test_images=images, test_targets=[0, 1, 0, 1, 1])
    samples = read(tmp_path / "a.npz")
    found = pixels(samples, Reading((3, 16, 16), Center(18, "bilinear")), size=2)
    steps = transforms.Compose([transforms.ToPILImage(), transforms.Resize(18), transforms.CenterCrop(16)])
    expected = np.stack([np.asarray(steps(image)) for image in images]).transpose(0, 3, 1, 2)
    assert np.array_equal(found.numpy(), expected)
    ready = Reading((3, 20, 30), Center(18, "bilinear"))  # of the right shape already: nothing is cut off again
    assert np.array_equal(pixels(samples, ready).numpy(), images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("reading", "problem"),
    [
        (Reading((3, 8, 8), "fit"), "must have 3 channels, got 1"),
        (Reading((1, 16, 16), "fit"), "must be 16 x 16, got 8 x 8. Give images of that size"),
    ],
)
def test_arrays_of_another_shape_are_refused_before_any_is_run(tmp_path, reading, problem):
    write_arrays(tmp_path / "data.npz")
    with pytest.raises(DataError, match=problem):
        read(tmp_path / "data.npz").batches(reading, 4)


@pytest.mark.parametrize("shape", [(3, 8, 16), (2, 8, 8)])
def test_files_are_not_read_into_shapes_that_they_do_not_have(tmp_path, shape):
    with pytest.raises(DataError, match=r"read as squares of 1 or 3 channels, .*\. Give the images as an npz"):
        read(write_folder(tmp_path / "photos")).batches(Reading(shape, "fit"), 4)


def test_a_picture_for_people_is_that_of_the_file(tmp_path):
    write_folder(tmp_path / "photos")
    write_picture(tmp_path / "photos" / "gray" / "0.png", 100, size=(31, 17))
    samples = read(tmp_path / "photos", reading=None)
    picture = samples.picture(3)
    assert (samples.split.ids[3], picture.size, picture.getpixel((0, 0))) == ("gray/0.png", (31, 17), (100, 100, 100))
    (tmp_path / "photos" / "gray" / "0.png").unlink()
    with pytest.raises(DataError, match=r"cannot read an image in .*: gray/0\.png: not a file"):
        samples.picture(3)
