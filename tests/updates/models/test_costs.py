"""What trainings cost in multiply-adds; 120 samples are 3 steps of 32 images in each epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from regnas.data import DataFraction
from regnas.losses import BackwardCompatible, LogitDifferenceInhibition
from regnas.networks import macs_of
from regnas.training import Recipe
from regnas.updates.models import (
    Consolidated,
    DecoupledDecay,
    Ensemble,
    FeatureLesson,
    FisherInterpolated,
    FisherMerged,
    Interpolated,
    Lesson,
    MixedWeights,
    Trained,
    training_macs,
)
from tests.updates.models.making import OTHER, SMALL, open_store

PLAIN = Trained(SMALL, "plain")
OLD = Trained(SMALL, "old")


@pytest.fixture(scope="module")
def macs(shared_shop):
    return {network: macs_of(network.build((1, 8, 8), 4), (1, 8, 8)) for network in (SMALL, OTHER)}


def test_a_plain_training_is_three_passes_of_every_image(shared_shop, macs):
    assert PLAIN.training_macs(shared_shop) == 3 * 96 * macs[SMALL]
    assert training_macs(shared_shop, [PLAIN]) == 3 * 96 * macs[SMALL]
    half = Trained(SMALL, share=DataFraction(0.5))  # 60 samples: one step
    assert half.training_macs(shared_shop) == 3 * 32 * macs[SMALL]


def test_teachers_run_once_per_image(shared_shop, macs):
    teachers = (OLD, Trained(OTHER, "other"))
    lesson = Lesson(LogitDifferenceInhibition(), 1.0, teachers)
    both = macs[SMALL] + macs[OTHER]
    online, offline = (Trained(SMALL, lessons=(replace(lesson, online=where),)) for where in (True, False))
    assert online.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 96 * both
    assert offline.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 120 * both
    feature = Trained(SMALL, feature_lessons=(FeatureLesson(BackwardCompatible(), 1.0, teachers[1]),))
    assert feature.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 96 * macs[OTHER]


@pytest.mark.parametrize(("start", "steps"), [(0.0, 12), (0.25, 9), (0.3, 8), (0.99, 0)])
def test_teachers_of_a_late_lesson_run_from_its_start_on(tmp_path, macs, start, steps):
    """Of 4 epochs with 3 steps each; the last step is at progress 11 / 12."""
    store = open_store(tmp_path, training=Recipe(epochs=4, batch_size=32))
    lesson = Lesson(LogitDifferenceInhibition(), 1.0, (Trained(OTHER, "other"),), start=start)
    online, offline = (Trained(SMALL, lessons=(replace(lesson, online=where),)) for where in (True, False))
    assert online.training_macs(store) == 3 * 12 * 32 * macs[SMALL] + steps * 32 * macs[OTHER]
    assert offline.training_macs(store) == 3 * 12 * 32 * macs[SMALL] + 120 * macs[OTHER]


def test_the_fisher_information_takes_a_label_and_a_gradient_of_as_many_samples_as_there_are(shared_shop, macs):
    for samples, taken in ((16, 16), (512, 120)):
        model = Trained(SMALL, start=OLD, tie=Consolidated(OLD, 1.0, samples))
        assert model.training_macs(shared_shop) == (3 * 96 + 4 * taken) * macs[SMALL]
    for tie in (DecoupledDecay(OLD, 1.0), MixedWeights(OLD, 0.5)):
        assert Trained(SMALL, start=OLD, tie=tie).training_macs(shared_shop) == 3 * 96 * macs[SMALL]


def test_mixtures_by_fisher_information_cost_what_that_takes_and_other_mixtures_nothing(shared_shop, macs):
    one, half = (
        3 * 96 * macs[SMALL],
        Trained(SMALL, "half", share=DataFraction(0.5)),
    )  # 60 samples, 32 of them trained on
    parts = [half, OLD]
    plain, fisher = Interpolated(half, OLD, 0.4), FisherInterpolated(half, OLD, 0.4, 100)
    merged = FisherMerged(half, OLD, 0.4, 100)
    assert training_macs(shared_shop, [plain], without=parts) == 0
    assert training_macs(shared_shop, [fisher], without=parts) == 4 * 60 * macs[SMALL]
    assert training_macs(shared_shop, [merged], without=parts) == 4 * (60 + 100) * macs[SMALL]
    assert training_macs(shared_shop, [fisher]) == 4 * 60 * macs[SMALL] + one + one // 3


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
    store = open_store(tmp_path, fine_tuning=Recipe(epochs=4, batch_size=50))
    assert Trained(SMALL, start=OLD).training_macs(store) == 3 * (4 * 2 * 50) * macs[SMALL]
