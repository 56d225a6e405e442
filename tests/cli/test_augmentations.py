"""Augmentations in configurations: what does not fit is refused before training, by `validate` and by the command."""

from __future__ import annotations

import pytest

from benchmarks.tiny import write_tiny, write_tiny_update
from regnas.cli import exit_code
from tests.cli.update_runs import nothing_was_trained


@pytest.fixture
def refused(capsys):
    """The lines on standard error of a command that ends with exit code 2."""

    def call(*arguments):
        assert exit_code(list(map(str, arguments))) == 2
        return capsys.readouterr().err.splitlines()

    return call


def settings(*changes):
    return [word for change in changes for word in ("--set", change)]


MIXUP = 'training.augmentations=[{ name = "mixup" }]'
WITHOUT_BASELINES = "baselines={}"
HINGE = 'polish.lessons.hinge={ teacher = { name = "smaller" }, loss = { name = "flip_hinge" } }'
ELASTIC = 'supernet={ name = "ofa_mobilenet_v3_small", widths = [8, 8], strides = [1, 1], resolutions = [4, 8] }'
PREVIOUS = 'models.new.start="previous"'


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            ['training.augmentations=[{ name = "horizontal_flip" }, { name = "shift", pixels = 5 }]'],
            "training.augmentations[1]: pixels must be at most half of the image, 4, got 5. Lower it.",
        ),
        (
            ['training.augmentations=[{ name = "color_jitter", saturation = 0.4 }]'],
            "training.augmentations[0]: saturation and hue must be 0 for images with 1 channel, got 0.4 and 0. Remove "
            "them.",
        ),
        (
            ['training.augmentations=[{ name = "mixup" }, { name = "cutmix" }]'],
            "training.augmentations must not mix images, because FocalDistillationLM needs the label of a single "
            "image, got mixup and cutmix. Remove mixup and cutmix, or choose another loss or method.",
        ),
        (
            ['training.augmentations=[{ name = "progressive_resize", until = 0.6 }]', "polish={ epochs = 1 }"],
            "polish: training.augmentations[0]: the last epoch must have images of 8 x 8 pixels, got 4 x 4. Train for "
            "more epochs, or let it end earlier.",
        ),
        (
            [MIXUP, WITHOUT_BASELINES, HINGE],
            "training.augmentations must not mix images, because FlipHinge needs the label of a single image, got "
            "mixup. Remove mixup, or choose another loss or method.",
        ),
        (
            [MIXUP, WITHOUT_BASELINES, "curriculum.lessons.congruence.loss.name=naive"],
            "training.augmentations must not mix images, because Naive needs the label of a single image, got "
            "mixup. Remove mixup, or choose another loss or method.",
        ),
        (
            [
                'training.augmentations=[{ name = "random_resized_crop", size = 4 }]',
                ELASTIC,
                'budgets={ a = "<= 10M" }',
            ],
            "training.augmentations must keep the size of the images, 8 x 8, because the supernet resizes them itself, "
            "got 4 x 4. Remove what changes the size, or supernet.resolutions.",
        ),
    ],
)
def test_what_does_not_fit_a_run_is_refused_before_anything_is_trained(refused, tmp_path, changes, problem):
    config = write_tiny(tmp_path)
    for command in (["validate", config], ["run", config, "--out", tmp_path / "run"]):
        assert refused(*command, *settings(*changes)) == [f"regnas: {problem}"]
    assert nothing_was_trained(tmp_path)


def test_a_run_with_mixed_images_is_valid_if_no_part_needs_single_labels(tmp_path):
    changes = settings(MIXUP, "training.label_smoothing=0.1", "baselines={ independent = {}, elodi = { members = 2 } }")
    assert exit_code(["validate", str(write_tiny(tmp_path)), *changes]) == 0


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            ['fine_tuning.augmentations=[{ name = "center_crop", size = 9 }]'],
            "fine_tuning.augmentations[0]: size must be at most that of the images, 8 x 8, got 9. Lower it, or resize "
            "the images before.",
        ),
        (
            [MIXUP],
            "training.augmentations must not mix images, because FocalDistillationLM needs the label of a single "
            "image, got mixup. Remove mixup, or choose another loss or method.",
        ),
        (
            ['fine_tuning.augmentations=[{ name = "cutmix" }]', "methods={ constrained = {} }", PREVIOUS],
            "fine_tuning.augmentations must not mix images, because the constraint on flips needs the label of a "
            "single image, got cutmix. Remove cutmix, or choose another loss or method.",
        ),
        (
            [MIXUP, "methods={ twin_bootstrap = {} }"],
            "training.augmentations must not mix images, because the count of a sample in a bootstrap needs the label "
            "of a single image, got mixup. Remove mixup, or choose another loss or method.",
        ),
        (
            [MIXUP, 'methods={ elodi = { members = 2, teacher = "offline" } }'],
            "training.augmentations must not mix images, because a teacher that is not online needs the label of a "
            "single image, got mixup. Remove mixup, or choose another loss or method.",
        ),
    ],
)
def test_what_does_not_fit_an_update_is_refused_before_anything_is_trained(refused, tmp_path, changes, problem):
    config = write_tiny_update(tmp_path)
    for command in (["validate", config], ["update", config, "--out", tmp_path / "run"]):
        assert refused(*command, *settings(*changes)) == [f"regnas: {problem}"]
    assert nothing_was_trained(tmp_path)


def test_the_former_table_is_refused_with_its_new_form(refused, tmp_path):
    [line] = refused("validate", write_tiny(tmp_path), *settings("training.augmentation={ shift = 1 }"))
    assert line == (
        "regnas: tiny: training.augmentation is not a known key. Write augmentations = "
        '[{ name = "shift", pixels = 1 }, { name = "horizontal_flip" }].'
    )
