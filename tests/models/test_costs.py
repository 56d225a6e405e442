"""What trainings cost in multiply-adds; 120 samples are 3 steps of 32 images in each epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from regnas.data import Share
from regnas.losses import BackwardCompatible, LogitDifferenceInhibition
from regnas.models import (
    Consolidated,
    Ensemble,
    FeatureLesson,
    Lesson,
    Trained,
    training_macs,
)
from regnas.networks import macs_of
from regnas.training import Recipe
from tests.models.making import OTHER, SMALL, workshop

PLAIN = Trained(SMALL, "plain")
OLD = Trained(SMALL, "old")


@pytest.fixture(scope="module")
def macs(shared_shop):
    return {network: macs_of(network.build((1, 8, 8), 4), (1, 8, 8)) for network in (SMALL, OTHER)}


def test_a_plain_training_is_three_passes_of_every_image(shared_shop, macs):
    assert PLAIN.training_macs(shared_shop) == 3 * 96 * macs[SMALL]
    assert training_macs(shared_shop, [PLAIN]) == 3 * 96 * macs[SMALL]
    half = Trained(SMALL, share=Share(0.5))  # 60 samples: one step
    assert half.training_macs(shared_shop) == 3 * 32 * macs[SMALL]


def test_teachers_run_once_for_every_image_they_see(shared_shop, macs):
    teachers = (OLD, Trained(OTHER, "other"))
    lesson = Lesson(LogitDifferenceInhibition(), 1.0, teachers)
    both = macs[SMALL] + macs[OTHER]
    online, offline = (Trained(SMALL, lessons=(replace(lesson, online=where),)) for where in (True, False))
    assert online.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 96 * both
    assert offline.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 120 * both
    feature = Trained(SMALL, feature_lessons=(FeatureLesson(BackwardCompatible(), 1.0, teachers[1]),))
    assert feature.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 96 * macs[OTHER]


def test_the_fisher_information_takes_a_gradient_of_as_many_samples_as_there_are(shared_shop, macs):
    for samples, taken in ((16, 16), (512, 120)):
        model = Trained(SMALL, start=OLD, tie=Consolidated(OLD, 1.0, samples))
        assert model.training_macs(shared_shop) == 3 * (96 + taken) * macs[SMALL]


def test_parts_that_are_shared_count_once_and_those_needed_anyway_not_at_all(shared_shop, macs):
    one = 3 * 96 * macs[SMALL]
    student = Trained(SMALL, "student", lessons=(Lesson(LogitDifferenceInhibition(), 1.0, (OLD, PLAIN)),))
    taught = one + 2 * 96 * macs[SMALL]
    assert training_macs(shared_shop, [Ensemble((OLD, PLAIN)), OLD, PLAIN]) == 2 * one
    assert training_macs(shared_shop, [student, Ensemble((OLD, PLAIN))]) == taught + 2 * one
    assert training_macs(shared_shop, [student], without=[OLD]) == taught + one
    assert training_macs(shared_shop, [student], without=[Ensemble((OLD, PLAIN))]) == taught
    assert training_macs(shared_shop, [student], without=[student]) == 0


def test_the_cost_follows_the_recipe(tmp_path, macs):
    shop = workshop(tmp_path, fine_tuning=Recipe(epochs=4, batch_size=50))
    assert Trained(SMALL, start=OLD).training_macs(shop) == 3 * (4 * 2 * 50) * macs[SMALL]
