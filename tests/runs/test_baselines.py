from __future__ import annotations

import pytest

from regnas.losses import FocalDistillationLM, LogitDifferenceInhibition
from regnas.runs.baselines import BASELINES, SubNetwork, check_baseline, plan_members
from regnas.updates.methods import METHODS
from regnas.updates.models import Lesson, Training, all_parts
from supernets.elastic_resnet import ElasticResNet

PLUGIN = ElasticResNet()
SPACE = PLUGIN.space((1, 16, 16), 10)
FAMILY = {"small": SubNetwork(PLUGIN, SPACE.smallest), "large": SubNetwork(PLUGIN, SPACE.largest)}


def plan(name, **settings):
    return plan_members(BASELINES[name](**settings), FAMILY)


def test_independent_trainings_have_the_familys_architectures_and_no_teacher():
    plans = plan("independent")
    assert {name: model.network.architecture for name, model in plans.items()} == {
        "small": SPACE.smallest,
        "large": SPACE.largest,
    }
    assert [model.parts() for model in plans.values()] == [(), ()]


def test_focal_distillation_goes_from_each_member_to_the_next():
    plans = plan("focal_distillation_lm", beta=7.0, weight=0.1)
    assert plans["small"] == plan("independent")["small"]
    large = plans["large"]
    assert large.label_weight == 1.0
    assert large.lessons == (Lesson(FocalDistillationLM(1.0, 7.0), 0.1, (plans["small"],)),)


def test_elodi_distills_ensembles_of_the_same_architecture():
    large = plan("elodi", members=3)["large"]
    assert large.label_weight == pytest.approx(0.2)
    (lesson,) = large.lessons
    assert (lesson.loss, lesson.weight) == (LogitDifferenceInhibition(2.0, 10), 0.8)
    assert len(set(lesson.teachers)) == 3
    assert {teacher.network.architecture for teacher in lesson.teachers} == {SPACE.largest}


def test_what_several_methods_need_is_trained_once():
    models = [model for name in ("independent", "focal_distillation_lm", "elodi") for model in plan(name).values()]
    trainings = [model for model in all_parts(models) if isinstance(model, Training)]
    # 2 independent + 1 focal + 2 students + 2 * 7 further ensemble members
    assert len(trainings) == 2 + 1 + 2 + 14


@pytest.mark.parametrize("settings", [{"members": 0}, {"alpha": 1.5}])
def test_impossible_elodi_is_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        BASELINES["elodi"](**settings)


def test_every_method_of_an_update_is_a_baseline_of_a_family():
    assert set(METHODS) - {"none"} <= set(BASELINES)
    assert set(BASELINES) - set(METHODS) == {"independent", "accuracy_only"}


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"heterogeneous_ensemble"}))
def test_baselines_that_start_from_the_smaller_members_weights_are_refused_before_anything_is_trained(name):
    baseline = BASELINES[name]()
    if getattr(baseline, "fine_tunes", False):
        with pytest.raises(ValueError, match=f"baselines.{name} must not start from old weights"):
            check_baseline(name, baseline, trains=True)
    else:
        check_baseline(name, baseline, trains=True)


def test_without_epochs_only_the_search_of_the_supernet_is_a_baseline():
    check_baseline("accuracy_only", BASELINES["accuracy_only"](), trains=False)
    with pytest.raises(ValueError, match=r"training\.epochs must be at least 1 for baselines\.ensemble, got 0"):
        check_baseline("ensemble", BASELINES["ensemble"](), trains=False)
