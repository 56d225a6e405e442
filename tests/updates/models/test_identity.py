"""The identity of a model depends on all of its parts and on nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from regnas.augmentations.shift import Shift
from regnas.data import DataFraction
from regnas.losses import BackwardCompatible, FocalDistillationLM, LogitDifferenceInhibition, RegressionAlleviating
from regnas.training.optimizers import Muon
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
)
from regnas.updates.models.content import content_of
from tests.updates.models.making import OTHER, RECIPE, SMALL, open_store, tiny_splits

PLAIN = Trained(SMALL, "plain")
OLD = Trained(SMALL, "old")


LESSON = Lesson(FocalDistillationLM(1.0, 5.0), 1.0, (OLD,))
FEATURE = FeatureLesson(RegressionAlleviating(0.05), 1.0, OLD)
DIFFERENT = [
    Trained(SMALL, "plain"),
    Trained(SMALL, "other chance"),
    Trained(OTHER, "plain"),
    Trained(replace(SMALL, blocks=2), "plain"),
    Trained(SMALL, "plain", share=DataFraction(0.5)),
    Trained(SMALL, "plain", share=DataFraction(1.0, 0.5)),
    Trained(SMALL, "plain", start=OLD),
    Trained(SMALL, "plain", start=Trained(SMALL, "another old")),
    Trained(SMALL, "plain", label_weight=0.5),
    Trained(SMALL, "plain", dropout=0.1),
    Trained(SMALL, "plain", dropout=0.2),
    Trained(SMALL, "plain", lessons=(LESSON,)),
    Trained(SMALL, "plain", lessons=(LESSON, LESSON)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, weight=2.0),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, online=False),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, start=0.5),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, teachers=(PLAIN,)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, teachers=(OLD, PLAIN)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=FocalDistillationLM(2.0, 5.0)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=FocalDistillationLM(1.0, 6.0)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=LogitDifferenceInhibition()),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=LogitDifferenceInhibition(3.0)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=LogitDifferenceInhibition(top_k=2)),)),
    Trained(SMALL, "plain", feature_lessons=(FEATURE,)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, weight=2.0),)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, loss=RegressionAlleviating(0.1)),)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, loss=BackwardCompatible()),)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, teacher=PLAIN),)),
    Trained(SMALL, "plain", tie=DecoupledDecay(OLD, 0.1)),
    Trained(SMALL, "plain", tie=DecoupledDecay(OLD, 0.2)),
    Trained(SMALL, "plain", tie=DecoupledDecay(PLAIN, 0.1)),
    Trained(SMALL, "plain", tie=MixedWeights(OLD, 0.1)),
    Trained(SMALL, "plain", tie=Consolidated(OLD, 0.1, 16)),
    Trained(SMALL, "plain", tie=Consolidated(OLD, 0.1, 17)),
    Trained(SMALL, "plain", tie=Consolidated(OLD, 0.1, 16, labels="drawn")),
    Ensemble((PLAIN, OLD)),
    Ensemble((OLD, PLAIN)),
    Interpolated(OLD, PLAIN, 0.4),
    Interpolated(OLD, PLAIN, 0.5),
    FisherInterpolated(OLD, PLAIN, 0.4, 16),
    FisherInterpolated(OLD, PLAIN, 0.4, 17),
    FisherMerged(OLD, PLAIN, 0.4, 16),
]


def test_every_part_of_a_model_is_part_of_its_identity(store):
    assert len({store.identity(model) for model in DIFFERENT}) == len(DIFFERENT)
    assert len({store._folder_of(model) for model in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"calibration_images": 32},
        {"splits": tiny_splits(seed=1)},
        {"splits": tiny_splits(classes=3)},
        {"training": replace(RECIPE, epochs=2)},
        {"training": replace(RECIPE, weight_decay=0.0)},
        {"training": replace(RECIPE, augmentations=(Shift(1),))},
        {"training": replace(RECIPE, augmentations=(Shift(2),))},
        {"training": replace(RECIPE, label_smoothing=0.1)},
        {"training": replace(RECIPE, accumulation=2)},
        {"training": replace(RECIPE, compile=True)},
        {"training": replace(RECIPE, optimizer=Muon())},
        {"training": replace(RECIPE, learning_rate_factors={"classifier": 0.1})},
    ],
    ids=str,
)
def test_the_seed_the_data_and_the_recipe_are_part_of_the_identity(tmp_path, changes):
    assert open_store(tmp_path, **changes).identity(PLAIN) != open_store(tmp_path).identity(PLAIN)


def test_choices_that_were_added_later_leave_the_identity_of_those_who_do_not_take_them():
    """What was kept before there were such choices is still found."""
    content = content_of(RECIPE)["Recipe"]
    optimizing = {"optimizer", "weight_decay_on", "learning_rate_factors", "averaging", "initialization"}
    assert not ({"accumulation", "compile", "label_smoothing"} | optimizing) & content.keys()
    assert content["augmentation"] == {"Augmentation": {"shift": 0, "flip": False}}
    shifted = content_of(replace(RECIPE, augmentations=(Shift(1),)))["Recipe"]
    assert shifted["augmentation"] == [{"Shift": {"pixels": 1}}]
    taken = content_of(replace(RECIPE, accumulation=2, compile=True))["Recipe"]
    assert (taken["accumulation"], taken["compile"]) == (2, True)
    assert "start" not in content_of(LESSON)["Lesson"]
    assert content_of(replace(LESSON, start=0.5))["Lesson"]["start"] == 0.5


def test_equal_models_have_one_identity_in_every_store(tmp_path):
    one, other = open_store(tmp_path / "here"), open_store(tmp_path / "there", splits=tiny_splits(), verbose=True)
    for model in DIFFERENT:
        assert one.identity(model) == other.identity(replace(model))


def test_the_machine_decides_the_shelf_and_not_the_identity(tmp_path):
    here = open_store(tmp_path, conditions={"threads": 1, "versions": {"torch": "2"}})
    there = open_store(tmp_path, conditions={"threads": 2, "versions": {"torch": "2"}})
    turned = open_store(tmp_path, conditions={"versions": {"torch": "2"}, "threads": 1})
    assert here.identity(PLAIN) == there.identity(PLAIN)
    assert here._folder_of(PLAIN) == turned._folder_of(PLAIN) != there._folder_of(PLAIN)
    here.module(PLAIN)
    assert turned.is_kept(PLAIN)
    assert not there.is_kept(PLAIN)


def test_a_training_from_older_weights_has_the_recipe_of_fine_tuning(tmp_path):
    tuned = Trained(SMALL, "new", start=OLD)
    store = open_store(tmp_path)
    longer = open_store(tmp_path, training=replace(RECIPE, epochs=2))
    gentler = open_store(tmp_path, fine_tuning=replace(RECIPE, learning_rate=0.001))
    assert tuned.recipe(store) == store.fine_tuning == tuned.recipe(longer)
    assert OLD.recipe(store) == store.training
    # another training of the start is another start, and so another model
    assert len({each.identity(OLD) for each in (store, longer)}) == 2
    assert len({each.identity(tuned) for each in (store, longer, gentler)}) == 3
    assert gentler.identity(OLD) == store.identity(OLD)


def test_decay_to_the_old_weights_stands_in_place_of_the_decay_to_zero(store):
    assert Trained(SMALL, start=OLD, tie=DecoupledDecay(OLD, 0.1)).recipe(store).weight_decay == 0
    for tie in (MixedWeights(OLD, 0.1), Consolidated(OLD, 0.1, 16)):
        assert Trained(SMALL, start=OLD, tie=tie).recipe(store) == store.fine_tuning
