"""Which flips are shown, in which order, and that the pictures are theirs."""

from __future__ import annotations

import base64
import io
import math

import numpy as np
import pytest
import torch
from PIL import Image

from regnas.errors import ArtifactError
from regnas.report.family.contents import ReportContents, ReportedMethod
from regnas.report.family.gallery import worst_flips

from .helpers import NESTED, answers, contents, method, sample_ids, split


def family(*predictions: object) -> ReportedMethod:
    return method("family", ["1"] * len(predictions), predictions=predictions, networks=NESTED)


def decoded(uri: str) -> np.ndarray:
    head, _, body = uri.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))))


def three_members(**changes: object) -> ReportContents:
    """Sample 1 flips from small to medium; 2 to medium and, worse, to large; 4 to large. Sample 0 and 3 never do."""
    return contents(
        family(
            answers("11101", wrong_logits={3: 1}),
            answers("10001", wrong_logits={1: 3, 2: 1, 3: 9}),
            answers("11000", wrong_logits={2: 2, 3: 9, 4: 0.5}),
        ),
        **changes,
    )


def test_each_flipped_sample_is_shown_once_with_its_worst_pair_the_worst_first() -> None:
    found = worst_flips(three_members())
    assert [(flip.sample, flip.reference, flip.new) for flip in found] == [
        ("sample-01", "small", "medium"),
        ("sample-02", "small", "large"),
        ("sample-04", "small", "large"),
    ]
    assert {(flip.label, flip.answer) for flip in found} == {("zero", "one")}


def test_severity_is_the_confidence_in_the_wrong_answer_minus_the_probability_of_the_label() -> None:
    worst = worst_flips(three_members())[0]
    wrong = 1 / (1 + math.exp(-3))  # softmax of the logits 0 (label) and 3
    assert worst.severity == pytest.approx(wrong - (1 - wrong))
    assert worst.new_confidence == pytest.approx(wrong)
    assert worst.reference_confidence == pytest.approx(1 / (1 + math.exp(-2)))


def test_without_logits_the_order_is_that_of_the_ids() -> None:
    found = worst_flips(contents(family(answers("1111"), answers("0010"))))
    assert [flip.sample for flip in found] == ["sample-00", "sample-01", "sample-03"]
    assert {(flip.severity, flip.new_confidence) for flip in found} == {(0, None)}


@pytest.mark.parametrize("channels", [1, 3])
def test_picture_is_the_sample_of_that_id_enlarged_pixel_by_pixel(channels: int) -> None:
    stored = split(5, channels, side=9, ids=sample_ids(5)[::-1].copy())  # the split may have another order
    worst = worst_flips(three_members(report_split=stored))[0]
    pixels = decoded(worst.picture)
    sample = stored.images[3].numpy()  # "sample-01" is the last but one of the reversed ids
    assert pixels.shape[:2] == (72, 72) == (worst.height, worst.width)  # 9 pixels, each 8 x 8
    expected = sample.repeat(8, axis=1).repeat(8, axis=2)
    np.testing.assert_array_equal(pixels, expected[0] if channels == 1 else expected.transpose(1, 2, 0))


def test_photographs_are_shrunk() -> None:
    worst = worst_flips(three_members(report_split=split(5, 3, side=224)))[0]
    assert decoded(worst.picture).shape == (160, 160, 3)


def test_at_most_24_are_shown() -> None:
    assert len(worst_flips(contents(family(answers("1" * 40), answers("0" * 40))))) == 24


def test_classes_without_a_name_are_numbered() -> None:
    assert worst_flips(three_members(classes=("zero",)))[0].answer == "class 1"


def test_nothing_to_show_without_flips_or_with_one_member() -> None:
    assert worst_flips(contents(family(answers("110"), answers("111")))) == []
    assert worst_flips(contents(family(answers("110")))) == []


def test_sample_that_the_split_lacks_is_refused() -> None:
    other = split(5, ids=np.array(["a", "b", "c", "d", "e"]))
    assert other.images.dtype == torch.uint8
    with pytest.raises(ArtifactError, match="must be in the report split, got 3 of 3 that are not, such as sample-01"):
        worst_flips(three_members(report_split=other))
