"""What each method plans, and the values of its paper."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from regnas import losses
from regnas.errors import ArtifactError
from regnas.updates.methods import METHODS, Release
from regnas.updates.methods.tunable import grids_of
from regnas.updates.models import (
    BayesianUpdated,
    Centric,
    Checkpoint,
    Consolidated,
    DecoupledDecay,
    Ensemble,
    FeatureLesson,
    FisherInterpolated,
    FisherMerged,
    Interpolated,
    Lesson,
    MixedWeights,
    Published,
    Soup,
    Trained,
    Training,
    all_parts,
)
from tests.updates.methods.releases import SAME, THREE, chain, method
from tests.updates.models.making import OTHER, SMALL

OLD, NEW = METHODS["none"]().plan(SAME)


def plan_members(name, releases=SAME, **settings):
    return METHODS[name](**settings).plan(releases)


def test_without_treatment_every_release_is_trained_on_its_own():
    assert (Trained(SMALL, "old 0"), Trained(SMALL, "new 0")) == (OLD, NEW)
    tuned = plan_members("none", chain(Release(SMALL, 0.5), Release(SMALL, start="previous")))
    assert tuned[1].start == tuned[0]
    assert tuned[0].share.samples == 0.5


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("naive", losses.Naive()),
        ("knowledge_distillation", losses.KnowledgeDistillation(temperature=100.0)),
        ("focal_distillation_kl", losses.FocalDistillationKL(alpha=1.0, beta=5.0, temperature=100.0)),
        ("focal_distillation_lm", losses.FocalDistillationLM(alpha=1.0, beta=5.0)),
        ("dynamic_focal_distillation", losses.DynamicFocalDistillation(temperature=1.0)),
    ],
)
def test_distillation_is_labels_and_one_lesson_from_the_old_model(name, loss):
    assert plan_members(name) == (OLD, replace(NEW, lessons=(Lesson(loss, 1.0, (OLD,)),)))
    assert plan_members(name, weight=0.3)[1].lessons[0].weight == 0.3


@pytest.mark.parametrize(
    ("name", "loss"), [("bct", losses.BackwardCompatible()), ("ract", losses.RegressionAlleviating(0.05))]
)
def test_compatible_features_are_learnt_from_the_old_model(name, loss):
    assert plan_members(name) == (OLD, replace(NEW, feature_lessons=(FeatureLesson(loss, 1.0, OLD),)))


def test_settings_reach_the_loss():
    assert plan_members("focal_distillation_kl", alpha=0.5, beta=2.0, temperature=3.0)[1].lessons[0].loss == (
        losses.FocalDistillationKL(0.5, 2.0, 3.0)
    )
    assert plan_members("focal_distillation_lm", alpha=0.5, beta=2.0)[1].lessons[0].loss == (
        losses.FocalDistillationLM(0.5, 2.0)
    )
    assert plan_members("knowledge_distillation", temperature=2.0)[1].lessons[0].loss == losses.KnowledgeDistillation(
        2.0
    )


def teachers(model):
    return [(lesson.weight, lesson.teachers) for lesson in model.lessons]


def test_in_a_chain_the_references_are_those_asked_for_and_share_the_weight():
    kinds = ("chain", "radial", "fc")
    plans = {kind: plan_members("focal_distillation_lm", replace(THREE, references=kind)) for kind in kinds}
    for first, second, third in plans.values():
        assert first == Trained(SMALL, "old 0", share=THREE.stages[0].release.share)
        assert teachers(first) == []
        assert teachers(second) == [(1.0, (first,))]
        assert third.replicate == "newest 0"
    first, second, third = plans["chain"]
    assert teachers(third) == [(1.0, (second,))]
    first, second, third = plans["radial"]
    assert teachers(third) == [(1.0, (first,))]
    first, second, third = plans["fc"]
    assert teachers(third) == [(0.5, (first,)), (0.5, (second,))]
    untargeted = plan_members("focal_distillation_lm", replace(THREE, references="untargeted"))
    assert untargeted == plan_members("none", THREE)


def test_feature_lessons_and_gates_share_the_weight_too():
    releases = replace(THREE, references="fc")
    third = plan_members("bct", releases, weight=0.6)[2]
    assert [lesson.weight for lesson in third.feature_lessons] == [0.3, 0.3]
    first, second, third = plan_members("gated_distillation", releases)
    untreated = third.start
    assert teachers(third) == [(0.5, (first,)), (0.5, (second,)), (1.0, (untreated,))]


def test_gated_distillation_goes_on_from_the_untreated_model_with_both_gates():
    old, new = plan_members("gated_distillation", temperature=2.0, weight=0.7, label_weight=0.1)
    assert old == OLD
    assert new.start == NEW
    assert new.label_weight == 0.1
    assert new.lessons == (
        Lesson(losses.GatedDistillation("wrong", 2.0), 0.7, (OLD,)),
        Lesson(losses.GatedDistillation("right", 2.0), 0.7, (NEW,)),
    )
    assert plan_members("gated_distillation")[1].label_weight == 0.0


def test_bayesian_update_runs_both_models():
    assert plan_members("bayesian_update") == (OLD, BayesianUpdated(OLD, NEW, 2.0))
    tuned = plan_members("bayesian_update", replace(THREE, references="chain"))
    assert tuned[2].old == tuned[1]


def test_the_trained_bayesian_update_is_a_target_of_the_new_model_and_has_a_title_of_its_own():
    trained = plan_members("bayesian_update_trained")
    assert trained == (OLD, replace(NEW, lessons=(Lesson(losses.BayesianUpdate(2.5), 1.0, (OLD,)),)))
    (lesson,) = plan_members("bayesian_update_trained", cost_ratio=3.0, weight=0.4)[1].lessons
    assert lesson == Lesson(losses.BayesianUpdate(3.0), 0.4, (OLD,))
    assert METHODS["bayesian_update"]().title != METHODS["bayesian_update_trained"]().title


def test_dropout_is_in_the_old_and_the_new_model():
    assert plan_members("dropout") == (replace(OLD, dropout=0.2), replace(NEW, dropout=0.2))


def test_an_ensemble_is_of_eight_on_both_sides_and_its_first_member_is_the_plain_model():
    for side, plain in zip(plan_members("ensemble"), (OLD, NEW), strict=True):
        assert isinstance(side, Ensemble)
        assert side.members[0] == plain
        assert len(set(side.members)) == 8
        assert {replace(member, replicate="") for member in side.members} == {replace(plain, replicate="")}


def test_a_member_that_is_fine_tuned_goes_on_from_its_own_predecessor():
    releases = chain(Release(SMALL), Release(SMALL, start="previous"))
    old, new = plan_members("ensemble", releases, members=3)
    assert [member.start for member in new.members] == list(old.members)
    old, new = plan_members("heterogeneous_ensemble", releases, networks=(OTHER,))
    assert [member.start for member in new.members] == list(old.members)


TUNED = chain(Release(SMALL, 0.5), Release(SMALL, start="previous"), Release(SMALL, start="previous"))


def test_the_candidates_for_the_centric_member_go_on_from_their_own_predecessors():
    """The first release is one model: the candidates of the second start from it, those of the third from these."""
    first, second, third = plan_members("centric", TUNED, members=3)
    assert [member.start for member in second.members] == [first] * 3
    assert [member.start for member in third.members] == list(second.members)


def test_elodis_ensembles_and_students_each_go_on_from_their_own_predecessors():
    students = plan_members("elodi", TUNED, members=3)
    ensembles = [student.lessons[0].teachers for student in students]
    assert [student.start for student in students] == [None, *students[:2]]
    assert [member.start for member in ensembles[0]] == [None] * 3
    for before, after in pairwise(ensembles):
        assert [member.start for member in after] == list(before)
    # they are the members of the ensemble paragon, and the first is the untreated model
    assert ensembles == [side.members for side in plan_members("ensemble", TUNED, members=3)]
    assert tuple(ensemble[0] for ensemble in ensembles) == plan_members("none", TUNED)


def test_elodi_with_a_legacy_model_goes_on_from_that_and_then_from_its_own_members():
    first, second, third = plan_members("elodi_legacy", TUNED, members=3)
    ensembles = [student.lessons[0].teachers for student in (second, third)]
    assert (second.start, third.start) == (first, second)
    assert [member.start for member in ensembles[0]] == [first] * 3
    assert [member.start for member in ensembles[1]] == list(ensembles[0])
    assert [lesson.teachers for lesson in third.lessons[1:]] == [(second,)]


@pytest.mark.parametrize("name", ["elodi", "elodi_legacy", "ensemble", "centric"])
def test_members_after_a_given_model_all_start_from_it(name):
    given, new = plan_members(name, chain(Release(SMALL, trained=False), Release(SMALL, start="previous")), members=2)
    members = new.lessons[0].teachers if name.startswith("elodi") else new.members
    assert given == Published(SMALL)
    assert [member.start for member in members] == [given] * 2
    assert len(set(members)) == 2


def test_networks_that_repeat_in_an_ensemble_are_different_trainings():
    old, _ = plan_members("heterogeneous_ensemble", networks=(OTHER, SMALL, OTHER))
    assert [member.replicate for member in old.members] == ["old 0", "old 0", "old 1", "old 1"]
    assert len(set(old.members)) == 4


def test_a_heterogeneous_ensemble_has_the_releases_network_and_the_others():
    old, new = plan_members("heterogeneous_ensemble", networks=(OTHER, SMALL))
    assert [member.network for member in old.members] == [member.network for member in new.members]
    assert [member.network for member in old.members] == [SMALL, OTHER, SMALL]
    assert old.members[0] == OLD


def test_a_member_without_predecessor_of_its_architecture_starts_fresh():
    releases = chain(Release(SMALL, trained=False), Release(SMALL, start="previous"))
    old, new = plan_members("heterogeneous_ensemble", releases, networks=(OTHER,))
    assert [member.start for member in new.members] == [old, None]


def test_the_centric_member_is_chosen_among_eight_new_models():
    old, new = plan_members("centric")
    assert old == OLD
    assert isinstance(new, Centric)
    assert new.members[0] == NEW
    assert len(set(new.members)) == 8


def test_elodi_distils_both_sides_from_eight_of_their_own_architecture():
    releases = chain(Release(OTHER), Release(SMALL))
    for student, network in zip(plan_members("elodi", releases), (OTHER, SMALL), strict=True):
        (lesson,) = student.lessons
        assert student.network == network
        assert {teacher.network for teacher in lesson.teachers} == {network}
        assert len(set(lesson.teachers)) == 8
        assert all(teacher.lessons == () for teacher in lesson.teachers)
        assert student.label_weight == pytest.approx(0.2)
        assert (lesson.weight, lesson.loss) == (0.8, losses.LogitDifferenceInhibition(power=2.0, top_k=10))
        assert lesson.online
    assert not plan_members("elodi", teacher="offline")[1].lessons[0].online


def test_elodis_teachers_can_be_other_networks_repeated_in_turn():
    """Table 8: a mixed ensemble; weak teachers for the old model and strong ones for the new."""
    old, new = plan_members("elodi", members=5, teachers=(OTHER, SMALL))
    for student in (old, new):
        teachers = student.lessons[0].teachers
        assert student.network == SMALL
        assert [teacher.network for teacher in teachers] == [OTHER, SMALL, OTHER, SMALL, OTHER]
        assert len(set(teachers)) == 5
    assert new.lessons[0].teachers[1] == NEW
    old, new = plan_members("elodi", members=2, teachers=(SMALL,), first_teachers=(OTHER,))
    assert [teacher.network for teacher in old.lessons[0].teachers] == [OTHER] * 2
    assert [teacher.network for teacher in new.lessons[0].teachers] == [SMALL] * 2
    legacy = plan_members("elodi_legacy", members=2, teachers=(OTHER,))[1]
    assert [teacher.network for teacher in legacy.lessons[0].teachers] == [OTHER] * 2
    assert legacy.lessons[1].teachers == (OLD,)


def test_a_teacher_goes_on_from_a_predecessor_of_its_own_architecture_or_starts_fresh():
    old, new = plan_members("elodi", TUNED, members=2, teachers=(OTHER,))[:2]
    assert [teacher.start for teacher in new.lessons[0].teachers] == list(old.lessons[0].teachers)
    old, new = plan_members("elodi", TUNED, members=2, teachers=(OTHER,), first_teachers=(replace(OTHER, blocks=2),))[
        :2
    ]
    assert [teacher.start for teacher in new.lessons[0].teachers] == [None, None]
    legacy = plan_members("elodi_legacy", TUNED, members=2, teachers=(OTHER,))
    assert [teacher.start for teacher in legacy[1].lessons[0].teachers] == [None, None]


@pytest.mark.parametrize(
    ("towards", "loss"),
    [
        ("kd", losses.KnowledgeDistillation(temperature=100.0)),
        ("fd", losses.FocalDistillationKL(alpha=1.0, beta=5.0, temperature=100.0)),
        ("ldi", losses.LogitDifferenceInhibition(power=2.0, top_k=10, margin=0.0, exclude_target=True)),
    ],
)
def test_the_loss_to_elodis_ensemble_is_that_of_table_10(towards, loss):
    old, new = plan_members("elodi", members=2, towards=towards)
    assert old.lessons[0].loss == new.lessons[0].loss == loss
    assert plan_members("elodi_legacy", members=2, towards=towards)[1].lessons[0].loss == loss
    colder = plan_members("elodi", members=2, towards=towards, temperature=1.0)[1].lessons[0].loss
    assert colder == (loss if towards == "ldi" else replace(loss, temperature=1.0))


def test_margins_and_the_exclusion_of_the_target_reach_ldi():
    (lesson,) = plan_members("elodi", margin=0.2, exclude_target=False, top_k=3, power=1.0)[1].lessons
    assert lesson.loss == losses.LogitDifferenceInhibition(1.0, 3, margin=0.2, exclude_target=False)
    ensemble, old = plan_members("elodi_legacy", members=2, margin=0.1)[1].lessons
    assert (ensemble.loss.margin, old.loss.margin) == (0.1, 0.5)


def test_elodi_can_start_late():
    assert {lesson.start for student in plan_members("elodi", start_at=0.4) for lesson in student.lessons} == {0.4}
    assert [lesson.start for lesson in plan_members("elodi_legacy", start_at=0.4)[1].lessons] == [0.4, 0.4]
    assert plan_members("elodi")[1].lessons[0].start == 0


@pytest.mark.parametrize("name", ["elodi", "elodi_legacy"])
def test_titles_tell_the_variants_of_elodi_apart(name):
    variants = [
        {},
        {"members": 4},
        {"top_k": 3},
        {"power": 1.0},
        {"margin": 0.5},
        {"exclude_target": False},
        {"towards": "kd"},
        {"towards": "fd"},
        {"towards": "fd", "temperature": 1.0},
        {"teacher": "offline"},
        {"teachers": (OTHER,)},
        {"teachers": (SMALL,)},
        {"teachers": (OTHER, SMALL)},
        {"start_at": 0.5},
        {"start_at": 0.25},
    ]
    titles = {METHODS[name](**settings).title for settings in variants}
    assert len(titles) == len(variants)
    assert METHODS["elodi"]().title == "ELODI (m = 8, K = 10)"
    assert METHODS["elodi"](towards="kd", teachers=(OTHER,), start_at=0.5).title == (
        "ELODI (m = 8, KD, τ = 100, teachers widths 4-6, from 50 % on)"
    )


def test_elodi_with_a_legacy_model_divides_its_weight_between_the_ensemble_and_the_old_one():
    old, new = plan_members("elodi_legacy", members=3, alpha=0.6, lambda_=0.75)
    assert old == OLD
    assert new.label_weight == pytest.approx(0.4)
    ensemble, legacy = new.lessons
    assert ensemble.weight == pytest.approx(0.45)
    assert ensemble.teachers == tuple(Trained(SMALL, f"new {repeat}") for repeat in range(3))
    assert legacy.weight == pytest.approx(0.15)
    assert legacy.teachers == (OLD,)
    third = plan_members("elodi_legacy", replace(THREE, references="fc"), members=2)[2]
    assert [lesson.weight for lesson in third.lessons] == pytest.approx([0.4, 0.2, 0.2])
    default = METHODS["elodi_legacy"]()
    assert (default.members, default.alpha, default.lambda_, default.top_k, default.power) == (8, 0.8, 0.5, 10, 2.0)


def test_weights_are_interpolated_with_those_fine_tuned_from_them():
    tuned = replace(NEW, start=OLD)
    assert plan_members("bcwi") == (OLD, Interpolated(OLD, tuned, 0.4))
    assert plan_members("bcwi_fisher") == (OLD, FisherInterpolated(OLD, tuned, 0.5, 512))
    assert plan_members("fisher_merging") == (OLD, FisherMerged(OLD, tuned, 0.4, 512))
    soup = Soup(tuple(replace(tuned, replicate=f"new {repeat}") for repeat in range(4)))
    assert plan_members("bcwi_soup") == (OLD, Interpolated(OLD, soup, 0.4))


def test_another_alpha_trains_nothing_more():
    models = [model for alpha in (0.0, 0.3, 1.0) for model in plan_members("bcwi", alpha=alpha)]
    assert sum(isinstance(model, Training) for model in all_parts(models)) == 2


def test_ties_hold_on_to_the_old_weights_while_they_are_tuned():
    tuned = replace(NEW, start=OLD)
    assert plan_members("ewc") == (OLD, replace(tuned, tie=Consolidated(OLD, 0.1, 512, "predicted")))
    assert plan_members("prior_weight_decay") == (OLD, replace(tuned, tie=DecoupledDecay(OLD, 1.0)))
    assert plan_members("mixout") == (OLD, replace(tuned, tie=MixedWeights(OLD, 0.7)))


@pytest.mark.parametrize("name", ["ewc", "prior_weight_decay", "mixout", "bcwi", "bcwi_fisher", "fisher_merging"])
def test_how_strongly_the_old_weights_hold_can_be_tuned_over_a_grid_that_has_the_default(name):
    ((key, grid),) = grids_of(METHODS[name]).items()
    assert min(grid.first) <= getattr(METHODS[name](), key) <= max(grid.first)
    assert grid.within[0] <= min(grid.first) < max(grid.first) <= grid.within[1]


def test_what_methods_have_in_common_is_trained_once():
    names = ("none", "ensemble", "elodi", "focal_distillation_lm", "bayesian_update", "bcwi", "bcwi_fisher")
    models = [model for name in names for model in method(name).plan(SAME)]
    # 2 plain + 2 further members + 2 ELODI students + 1 FD-LM + 1 fine-tuned
    assert sum(isinstance(model, Training) for model in all_parts(models)) == 8


def test_a_chain_of_interpolations_goes_on_from_the_interpolated_weights():
    first, second, third = plan_members("bcwi", THREE)
    assert second.old == first
    assert third.old == second
    assert third.new.start == second


def test_published_weights_are_left_as_they_are():
    old, _ = plan_members("elodi", chain(Release(SMALL, trained=False), Release(SMALL)), members=2)
    assert old == Published(SMALL)


def test_a_checkpoint_has_the_digest_of_its_file(tmp_path):
    path = tmp_path / "old.pth"
    path.write_bytes(b"abc")
    (old, _) = plan_members("none", chain(Release(SMALL, 0.5, checkpoint=str(path)), Release(SMALL)))
    assert old == Checkpoint(
        SMALL, str(path), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Release(SMALL, 0.5).share
    )
    with pytest.raises(ArtifactError, match=r"gone\.pth is missing"):
        plan_members("none", chain(Release(SMALL, checkpoint=str(tmp_path / "gone.pth")), Release(SMALL)))


def test_an_impossible_release_is_refused():
    with pytest.raises(ValueError, match="checkpoint and trained = false exclude each other"):
        Release(SMALL, checkpoint="old.pth", trained=False)
    with pytest.raises(ValueError, match="samples must be above 0 and at most 1, got 0"):
        Release(SMALL, samples=0)
