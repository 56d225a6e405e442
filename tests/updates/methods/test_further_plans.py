"""What the controls and the further methods plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax

from regnas import losses
from regnas.data import DataFraction
from regnas.errors import ConfigurationError
from regnas.training import Step
from regnas.updates.methods import METHODS, Release
from regnas.updates.methods.tunable import grids_of
from regnas.updates.models import (
    AddedClassMargin,
    Averaged,
    Constrained,
    JointTraining,
    Lesson,
    MeanLogits,
    MemberOf,
    Published,
    Trained,
    Twins,
    content_of,
    make_all,
    network_of,
    weights_in,
)
from tests.updates.methods.releases import SAME, SCENARIOS, THREE, chain
from tests.updates.models.making import OTHER, SMALL

OLD, NEW = METHODS["none"]().plan(SAME)


def plan_members(name, releases=SAME, **settings):
    return METHODS[name](**settings).plan(releases)


# Common teacher


def test_all_releases_have_the_same_teacher_which_is_none_of_them():
    releases = chain(Release(OTHER), Release(SMALL))
    plan, untreated = plan_members("common_teacher", releases), plan_members("none", releases)
    lessons = {model.lessons for model in plan}
    assert len(lessons) == 1
    ((lesson,),) = lessons
    assert lesson == Lesson(losses.KnowledgeDistillation(100.0), 1.0, (Trained(SMALL, "common teacher 0"),))
    assert not {*lesson.teachers} & {*untreated}
    assert tuple(replace(model, lessons=()) for model in plan) == untreated


def test_the_common_teacher_has_only_the_classes_of_the_oldest_release():
    for name in ("more samples", "more classes", "three"):
        oldest = SCENARIOS[name].stages[0].release.share
        plan = plan_members("common_teacher", SCENARIOS[name])
        teachers = {teacher for model in plan for teacher in model.lessons[0].teachers}
        assert {teacher.share for teacher in teachers} == {oldest}
        assert len(teachers) == 1


def test_the_common_teacher_may_be_an_ensemble_of_another_network_with_another_loss():
    _, new = plan_members("common_teacher", network=OTHER, members=3, loss="ldi", weight=0.3)
    (lesson,) = new.lessons
    assert lesson.teachers == tuple(Trained(OTHER, f"common teacher {index}") for index in range(3))
    assert (lesson.loss, lesson.weight) == (losses.LogitDifferenceInhibition(), 0.3)


# Co-training


def test_co_training_is_one_training_of_the_networks_of_all_releases():
    plan = plan_members("co_training", chain(Release(OTHER, 0.5), Release(SMALL, 0.5), Release(SMALL, 0.5)), weight=0.2)
    joint = JointTraining(
        (OTHER, SMALL, SMALL),
        MeanLogits(losses.LogitDifferenceInhibition(), 0.2, 0.0),
        "old new newest",
        DataFraction(0.5),
    )
    assert plan == tuple(MemberOf(joint, index) for index in range(3))
    assert [network_of(model) for model in plan] == [OTHER, SMALL, SMALL]
    assert all(weights_in(model) == model for model in plan)
    assert content_of(plan) == content_of(tuple(plan))


def test_deep_mutual_learning_is_the_divergence_from_the_mean():
    bond = plan_members("co_training", loss="kd", start=0.4)[0].joint.bond
    assert bond == MeanLogits(losses.KnowledgeDistillation(temperature=1.0), 1.0, 0.4)


@pytest.mark.parametrize(
    ("releases", "problem"),
    [
        (SCENARIOS["more samples"], "models.new must have the samples and classes of models.old"),
        (SCENARIOS["more classes"], "models.new must have the samples and classes of models.old"),
        (SCENARIOS["fine-tuning"], 'models.new.start must be "fresh", got "previous"'),
        (
            chain(Release(SMALL, trained=False), Release(SMALL)),
            "models.old must be trained, got a model with existing weights",
        ),
        (chain(Release(SMALL, checkpoint="old.pth"), Release(SMALL)), "models.old must be trained"),
    ],
    ids=["samples", "classes", "start", "published", "checkpoint"],
)
def test_what_cannot_be_trained_at_the_same_time_is_refused_with_what_to_do(releases, problem):
    with pytest.raises(ConfigurationError, match=problem) as error:
        plan_members("co_training", releases)
    assert str(error.value).endswith("Change the model, or leave the method out.")
    assert "\n" not in str(error.value)


def test_the_members_of_a_co_training_are_made_and_answer(zoo):
    plan = plan_members("co_training", chain(Release(OTHER), Release(SMALL)))
    make_all({0: zoo}, {0: plan}, 1)
    assert all(zoo.is_kept(model) for model in (*plan, plan[0].joint))
    for model in plan:
        assert zoo.logits(model, zoo.splits.report).shape == (44, 4)


# Old + new


def test_old_and_new_answer_together_and_nothing_is_trained_otherwise():
    assert plan_members("mean_logits") == (OLD, Averaged(OLD, NEW, "logits"))
    assert plan_members("mean_logits", of="probabilities")[1].of == "probabilities"
    _, second, third = plan_members("mean_logits", THREE)
    assert third == Averaged(second, Trained(SMALL, "newest 0"), "logits")
    further = Release(SMALL, start="previous")
    tuned = plan_members("mean_logits", chain(Release(SMALL), further, further))
    assert tuned[2].new.start == tuned[1].new  # a training goes on from one network


# Margin preserving training


def test_mpt_has_a_margin_for_added_classes_and_two_sources():
    releases = SCENARIOS["more classes"]
    old, plain = plan_members("none", releases)
    first, new = plan_members("mpt", releases, bias=4.0)
    loss = losses.FocalDistillationLM(1.0, 5.0)
    assert first == old
    assert new == replace(
        plain,
        margin=AddedClassMargin(4.0, DataFraction(classes=0.5)),
        lessons=(Lesson(loss, 0.4, (old,)), Lesson(loss, 0.4, (plain,))),
    )
    assert new.margin.label_loss(4) == losses.MarginCrossEntropy(4.0, 2)


def test_the_divergence_of_mpt_has_no_temperature_squared(zoo):
    _, new = plan_members("mpt", loss="kl", weight=1.0, bias=0.0)
    random = np.random.default_rng(0)
    logits, reference = random.normal(size=(2, 6, 4)) * 3
    targets = np.where(np.arange(6) < 3, reference.argmax(1), (reference.argmax(1) + 1) % 4)
    p = softmax(reference / 5, axis=1)
    divergence = (p * (np.log(p) - log_softmax(logits / 5, axis=1))).sum(1)
    by_hand = (1 + 5 * (np.arange(6) < 3)) * divergence
    for lesson in new.lessons:
        values = lesson.weight * lesson.loss(torch.tensor(logits), torch.tensor(targets), torch.tensor(reference))
        np.testing.assert_allclose(values, by_hand)


def test_the_objective_of_mpt_has_the_bias_in_its_label_loss(zoo):
    _, new = plan_members("mpt", SCENARIOS["more classes"], bias=2.0)
    objective = new._objective(zoo)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4))
    images = torch.randn(5, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    step = Step(images, torch.tensor([0, 1, 2, 3, 0]), torch.arange(5), 0, 0.0)
    logits = network(images).detach().numpy()
    raised = log_softmax(logits + np.array([0, 0, 2, 2]), axis=1)
    labels = -raised[np.arange(5), step.targets.numpy()].mean()
    found = replace(objective, terms=())(network, step).item()
    assert found == pytest.approx(labels, rel=1e-5)
    assert objective(network, step).item() > found


def test_with_several_references_the_weight_is_shared_and_the_margin_is_that_of_the_newest():
    releases = chain(Release(SMALL, classes=0.5), Release(SMALL, classes=0.75), Release(SMALL), references="fc")
    third = plan_members("mpt", releases)[2]
    assert [lesson.weight for lesson in third.lessons] == pytest.approx([0.2, 0.2, 0.4])
    assert third.margin.known == DataFraction(classes=0.75)


def test_without_a_margin_a_training_is_found_where_it_was_kept_before():
    assert "margin" not in content_of(NEW)["Trained"]
    assert "margin" in content_of(replace(NEW, margin=AddedClassMargin(1.0, DataFraction())))["Trained"]


# Constrained


def test_constrained_training_has_a_target_for_each_reference():
    distance = losses.FocalDistillationKL(alpha=0.0, beta=1.0, temperature=100.0)
    plain = Constrained(SMALL, (OLD,), 0.01, "new 0", warm_up=0.2, surrogate=distance)
    assert plan_members("constrained") == (OLD, plain)
    settings = {"target": 0.02, "margin": 2.0, "rate": 0.5, "warm_up": 0.3, "held_out": 0.2, "surrogate": "hinge"}
    assert plan_members("constrained", **settings)[1] == Constrained(
        SMALL, (OLD,), 0.02, "new 0", rate=0.5, warm_up=0.3, surrogate=losses.FlipHinge(2.0), held_out=0.2
    )
    divergence = plan_members("constrained", surrogate="divergence", temperature=5.0)[1].surrogate
    assert divergence == losses.FocalDistillationKL(alpha=0.0, beta=1.0, temperature=5.0)
    first, second, third = plan_members("constrained", replace(THREE, references="fc"))
    assert third.olds == (first, second)
    tuned = plan_members("constrained", SCENARIOS["fine-tuning"])[1]
    assert tuned.start == OLD
    assert METHODS["constrained"](target=0.005).title == "Constrained (NFR ≤ 0.5 %)"


def test_a_target_in_percent_is_refused_with_what_was_meant():
    with pytest.raises(ValueError, match=r"target must be above 0 and below 1, got 1\.0\. .*1 % is 0\.01"):
        METHODS["constrained"](target=1.0)


# Churn distillation


def test_churn_distillation_divides_the_target_between_label_and_old_model():
    _, new = plan_members("churn_distillation", share=0.3)
    assert new == replace(NEW, label_weight=0.7, lessons=(Lesson(losses.KnowledgeDistillation(1.0), 0.3, (OLD,)),))


def test_the_gradient_of_churn_distillation_is_that_of_the_mixed_target(zoo):
    old, new = plan_members("churn_distillation", share=0.3)
    objective, images = new._objective(zoo), torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    step = Step(images, torch.arange(6) % 4, torch.arange(6), 0, 0.0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4))
    objective(network, step).backward()
    with torch.no_grad():
        target = 0.7 * torch.eye(4)[step.targets] + 0.3 * zoo.module(old)(images).softmax(1)
        error = (network(images).softmax(1) - target) / 6  # the gradient of cross-entropy by the logits
    torch.testing.assert_close(network[1].weight.grad, error.T @ images.flatten(1))


# Twin-bootstrap


def test_each_release_is_a_pair_of_networks_of_its_own():
    old, new = plan_members("twin_bootstrap", chain(Release(OTHER), Release(SMALL)), weight=3.0)
    for model, network, name in ((old, OTHER, "old"), (new, SMALL, "new")):
        joint = JointTraining((network, network), Twins(3.0), name)
        assert model == Averaged(MemberOf(joint, 0), MemberOf(joint, 1), "probabilities")
    old, new = plan_members("twin_bootstrap")
    assert old != new  # chance tells them apart, though all else is the same


def test_a_twin_starts_from_its_own_predecessor():
    old, new = plan_members("twin_bootstrap", SCENARIOS["fine-tuning"])
    assert new.old.joint.starts == (old.old, old.new)
    releases = chain(Release(SMALL, trained=False), Release(SMALL, start="previous"))
    old, new = plan_members("twin_bootstrap", releases)
    assert old == Published(SMALL)
    assert new.old.joint.starts == (old, old)


# What can be tuned


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("common_teacher", {"weight"}),
        ("co_training", {"weight"}),
        ("mean_logits", set()),
        ("mpt", {"weight"}),
        ("constrained", set()),
        ("churn_distillation", {"share"}),
        ("twin_bootstrap", {"weight"}),
    ],
)
def test_the_search_split_can_choose_the_keys_whose_best_value_depends_on_the_data(name, keys):
    assert grids_of(METHODS[name]).keys() == keys
