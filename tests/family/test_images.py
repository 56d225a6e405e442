"""Images of every kind become the same tensors, and what does not fit is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from regnas.data import Preprocessing
from regnas.data.preprocessing import IMAGENET
from regnas.errors import DataError
from regnas.family.family import load_family
from regnas.family.images import read_images, transform_of
from tests.family.made import CLASSES, write_models

COLOR = (3, 4, 6)
BYTES = np.arange(2 * 3 * 4 * 6, dtype=np.uint8).reshape(2, 3, 4, 6)  # [N, C, H, W]
SQUARES = np.arange(2 * 3 * 8 * 8, dtype=np.int64).astype(np.uint8).reshape(2, 3, 8, 8)


def read(images, shape=COLOR):
    return read_images(images, shape, "fit")


@pytest.mark.parametrize(
    "images",
    [
        BYTES,
        BYTES.transpose(0, 2, 3, 1),
        torch.from_numpy(BYTES),
        torch.from_numpy(BYTES.transpose(0, 2, 3, 1).copy()),
        list(BYTES),
        [torch.from_numpy(each) for each in BYTES],
        np.asfortranarray(BYTES),
        np.concatenate([BYTES, BYTES])[::-1][2:][::-1],
    ],
    ids=["NCHW", "NHWC", "tensor", "tensor NHWC", "list", "tensors", "order", "strides"],
)
def test_layouts_and_kinds_give_the_same_pixels(images):
    found = read(images)
    assert found.dtype == torch.uint8
    np.testing.assert_array_equal(found.numpy(), BYTES)


def test_one_channel_needs_no_axis():
    found = read(BYTES[:, 0], (1, 4, 6))
    np.testing.assert_array_equal(found.numpy(), BYTES[:, :1])


def test_the_channels_come_first_if_both_layouts_fit():
    cube = np.arange(27, dtype=np.uint8).reshape(1, 3, 3, 3)
    np.testing.assert_array_equal(read(cube, (3, 3, 3)).numpy(), cube)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats_from_0_to_1_are_scaled_as_bytes_are(kind):
    """0, 1/2 and 1 by hand: (x - 0.5) / 0.25 is -2, 0 and 2; as bytes 0 and 255 give the same."""
    preprocessing = Preprocessing((0.5,), (0.25,))
    floats = read(np.array([[[0, 0.5, 1]]], kind), (1, 1, 3))
    assert preprocessing(floats).flatten().tolist() == [-2, 0, 2]
    stored = read(np.array([[[0, 255]]], np.uint8), (1, 1, 2))
    assert preprocessing(stored).flatten().tolist() == pytest.approx([-2, 2])


@given(st.lists(st.integers(0, 255), min_size=1, max_size=20))
def test_bytes_and_the_same_bytes_divided_by_255_give_the_same(values):
    preprocessing = Preprocessing((0.4,), (0.2,))
    stored = np.array(values, np.uint8).reshape(1, 1, 1, -1)
    as_bytes = preprocessing(torch.from_numpy(stored))
    as_floats = preprocessing(torch.from_numpy((stored / 255).astype(np.float32)))
    torch.testing.assert_close(as_floats, as_bytes, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def color(tmp_path_factory):
    run = tmp_path_factory.mktemp("color")
    networks = write_models(run, models=(("elodi", 0),), shape=(3, 8, 8))
    return load_family(run), networks["elodi-seed-0"]


FLOATS = np.full((1, 3, 8, 8), 0.5, np.float32)


@pytest.mark.parametrize(
    ("images", "problem"),
    [
        (FLOATS * 3, "float images must be between 0 and 1, got 1.5 to 1.5. Divide bytes by 255"),
        (FLOATS - 1, "float images must be between 0 and 1, got -0.5 to -0.5"),
        (SQUARES.astype(np.float64), "float images must be between 0 and 1, got 0 to 255"),
        (np.where(np.arange(8) == 3, np.nan, FLOATS), "float images must be finite, got NaN or infinity"),
        (FLOATS + np.inf, "float images must be finite"),
        (SQUARES.astype(np.int64), "images must be uint8, or floats from 0 to 1, got int64. Convert integers"),
        (torch.from_numpy(SQUARES).int(), "images must be uint8, or floats from 0 to 1, got int32"),
        (SQUARES > 3, "got bool"),
        (SQUARES.astype(object), "got object"),
        (SQUARES[:, :1], "must have the shape [N, 3, 8, 8], [N, 8, 8, 3], got [2, 1, 8, 8]. Resize"),
        (SQUARES[:, :, :7], "got [2, 3, 7, 8]. Resize them, or give PIL images or paths."),
        (SQUARES[0], "got [3, 8, 8]. Add a batch dimension with images[None]."),
        (SQUARES[0].transpose(1, 2, 0), "got [8, 8, 3]. Add a batch dimension"),
        (SQUARES[:0], "images must hold at least one image, got none"),
        ([], "images must hold at least one image, got an empty list"),
        ([SQUARES[0], SQUARES[1][:, :7]], "images of a list must have one shape and one dtype"),
        ([[1, 2]], "got a list of list"),
        ({"image": 1}, "images must be an array, a tensor, a PIL image, a path, or a list of one of these, got dict"),
        (5, "got int"),
        ("nowhere.png", "nowhere.png cannot be read: there is no such file"),
        (Image.new("I;16", (8, 8)), "the 8 x 8 picture cannot be read: its pixels must have 8 bits per channel"),
    ],
)
def test_what_does_not_fit_is_refused_by_predict_and_preprocess_in_one_line(color, images, problem):
    for call in (color[0].predict, color[0].preprocess):
        with pytest.raises(DataError) as caught:
            call(images)
        assert problem in str(caught.value)
        assert "\n" not in str(caught.value)


def test_predictions_are_the_softmax_of_the_network_on_images_normalized_by_hand(color):
    family, network = color
    with torch.no_grad():
        logits = network((torch.from_numpy(SQUARES) / 255 - 0.5) / 0.25)
    for images in (SQUARES, SQUARES.transpose(0, 2, 3, 1), SQUARES / 255, torch.from_numpy(SQUARES)):
        predicted = family.predict(images)
        np.testing.assert_allclose(predicted.probabilities, logits.softmax(1).numpy(), atol=1e-5)
        assert predicted.numbers.tolist() == logits.argmax(1).tolist()
        assert predicted.names == tuple(CLASSES[number] for number in logits.argmax(1))
        assert predicted.confidences == pytest.approx(logits.softmax(1).max(1).values.numpy(), abs=1e-5)
        assert (len(predicted), predicted.member, predicted.classes) == (2, "elodi-seed-0", CLASSES)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_batches_change_nothing(color, size):
    images = np.random.default_rng(0).integers(0, 256, (7, 8, 8, 3), np.uint8)
    whole = color[0].predict(images).probabilities
    np.testing.assert_allclose(color[0].predict(images, batch_size=size).probabilities, whole, atol=1e-6)


def test_a_network_in_training_mode_predicts_as_in_evaluation_mode_and_stays_in_it(color):
    family, _ = color
    expected = family.predict(SQUARES).probabilities
    family["elodi-seed-0"].train()
    try:
        np.testing.assert_array_equal(family.predict(SQUARES).probabilities, expected)
        assert family["elodi-seed-0"].training
    finally:
        family["elodi-seed-0"].eval()


def test_pictures_and_files_are_read_as_the_data_set_reads_them(color, tmp_path):
    """The center square of 24 x 16 pixels, halved: a constant color stays what it is."""
    family, _ = color
    picture = Image.new("RGB", (24, 16), (10, 20, 30))
    picture.save(tmp_path / "a.png")
    flat = np.broadcast_to(np.array([10, 20, 30], np.uint8), (1, 8, 8, 3))
    expected = family.preprocess(flat)
    for images in (picture, [picture], tmp_path / "a.png", str(tmp_path / "a.png"), [tmp_path / "a.png"]):
        torch.testing.assert_close(family.preprocess(images), expected)
    assert family.preprocess([picture, tmp_path / "a.png"]).shape == (2, 3, 8, 8)
    gray = family.preprocess(Image.new("L", (8, 8), 51))
    torch.testing.assert_close(gray, torch.full((1, 3, 8, 8), (51 / 255 - 0.5) / 0.25))


def test_a_damaged_file_is_named(color, tmp_path):
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"a\.png cannot be read: cannot identify image file"):
        color[0].predict([tmp_path / "a.png"])


@pytest.mark.parametrize("shape", [(3, 4, 6), (2, 8, 8)])
def test_pictures_do_not_become_shapes_that_they_cannot_have(shape):
    with pytest.raises(DataError, match=r"pictures and files become squares of 1 or 3 channels, .* as an array"):
        read(Image.new("RGB", (8, 8)), shape)


@pytest.mark.parametrize(
    ("images", "problem"),
    [
        (np.zeros((1, 1, 2, 2), np.uint8), "images must be a tensor, got ndarray"),
        (torch.zeros(1, 3, 2, 2, dtype=torch.uint8), r"shape \[N, 1, H, W\], got \[1, 3, 2, 2\]"),
        (torch.zeros(1, 2, 2, dtype=torch.uint8), r"got \[1, 2, 2\]"),
        (torch.full((1, 1, 2, 2), 200.0), "between 0 and 1, got 200 to 200"),
        (torch.zeros(1, 1, 2, 2, dtype=torch.int64), "got torch.int64"),
    ],
)
def test_preprocessing_alone_refuses_too(images, problem):
    with pytest.raises(DataError, match=problem):
        Preprocessing((0.5,), (0.25,))(images)


def test_files_go_through_the_papers_transform_with_their_mean_and_deviation():
    assert transform_of(Preprocessing.from_json(IMAGENET.to_json())) == "imagenet"
    assert transform_of(Preprocessing((0.5,), (0.5,))) == "fit"


def test_pixels_may_be_stored_backwards():
    np.testing.assert_array_equal(read(BYTES[::-1]).numpy(), BYTES[::-1])
    np.testing.assert_array_equal(read(BYTES[:, ::-1]).numpy(), BYTES[:, ::-1])


@pytest.mark.parametrize(
    ("images", "problem"),
    [
        ([BYTES[0], BYTES[1] / np.float32(255)], "images of a list must have one shape and one dtype"),
        (np.ma.masked_greater(BYTES, 9), "must have no masked pixels"),
        (torch.from_numpy(BYTES).to_sparse(), "must be dense tensors"),
        (b"abc", "got bytes"),
    ],
)
def test_images_that_could_be_misread_are_refused(images, problem):
    with pytest.raises(DataError, match=problem):
        read(images)


def test_a_folder_is_not_called_missing(tmp_path):
    with pytest.raises(DataError, match="it is a folder; give the files in it"):
        read([tmp_path], (3, 8, 8))
