"""Requirements on every method."""

from __future__ import annotations

import pickle
from dataclasses import is_dataclass, replace

import pytest
import torch
from safetensors.torch import save_file

from regnas.errors import ConfigurationError
from regnas.runtime.files import sha256_of
from regnas.updates.methods import METHODS, Release
from regnas.updates.methods.none import NoTreatment
from regnas.updates.models import Checkpoint, Training, all_parts, content_of, make_all
from tests.updates.methods.releases import SCENARIOS, THREE, chain, method
from tests.updates.models.making import OTHER, SMALL

EVERY = sorted(METHODS)
ON_WEIGHTS = {name for name in EVERY if METHODS[name].fine_tunes}
# Trains all releases at once: it refuses what comes before the others, and data that they do not share.
AT_ONCE = {"co_training"}
ONE_AFTER_ANOTHER = [name for name in EVERY if name not in AT_ONCE]
REFERENCES = ("chain", "radial", "fc", "untargeted")


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", ONE_AFTER_ANOTHER)
def test_a_plan_has_one_model_for_each_release_and_is_a_value(name, scenario):
    plan = method(name).plan(SCENARIOS[scenario])
    assert len(plan) == len(SCENARIOS[scenario].stages)
    again = method(name).plan(SCENARIOS[scenario])
    assert plan == again
    assert hash(plan) == hash(again)
    assert content_of(plan) == content_of(again)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert hash(pickle.loads(pickle.dumps(plan))) == hash(plan)


@pytest.mark.parametrize("name", EVERY)
def test_a_method_has_words_for_the_table_and_a_line_for_the_list(name):
    found = method(name)
    assert is_dataclass(found)
    assert hash(found) == hash(replace(found))
    assert found.title
    assert METHODS[name].__doc__.splitlines()[0].endswith(".")


@pytest.mark.parametrize("references", REFERENCES)
@pytest.mark.parametrize("name", ONE_AFTER_ANOTHER)
def test_a_targeted_method_leaves_the_first_release_untreated_and_another_does_not_look_at_references(name, references):
    found, untreated = method(name), NoTreatment().plan(THREE)
    plan = found.plan(replace(THREE, references=references))
    if found.targeted:
        assert plan[0] == untreated[0]
        assert (plan == untreated) == (references == "untargeted")
    else:
        assert plan == found.plan(THREE)


@pytest.mark.parametrize("start", ["fresh", "previous"])
@pytest.mark.parametrize("name", ONE_AFTER_ANOTHER)
def test_a_model_that_is_there_already_is_left_as_it_is(tmp_path, zoo, name, start):
    path = tmp_path / "old.safetensors"
    torch.manual_seed(3)
    save_file(SMALL.build((1, 8, 8), 4).state_dict(), path)
    given = Checkpoint(SMALL, str(path), sha256_of(path))
    plan = method(name).plan(chain(Release(SMALL, checkpoint=str(path)), Release(SMALL, start=start)))
    assert plan[0] == given
    assert plan[1] != given
    assert all(model.network == given.network for model in all_parts(plan) if isinstance(model, Checkpoint))
    make_all({0: zoo}, {0: plan}, 1)
    assert zoo.logits(plan[1], zoo.splits.report).shape == (44, 4)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", ONE_AFTER_ANOTHER)
def test_the_whole_zoo_is_made_and_answers_for_the_classes_of_each_release(zoo, name, scenario):
    plan = method(name).plan(SCENARIOS[scenario])
    make_all({0: zoo}, {0: plan}, 1)
    assert all(zoo.is_kept(model) for model in all_parts(plan) if isinstance(model, Training))
    for stage, model in zip(SCENARIOS[scenario].stages, plan, strict=True):
        logits = zoo.logits(model, zoo.splits.report)
        assert logits.shape == (44, stage.release.share.classes_of(4))
        assert logits.isfinite().all()


@pytest.mark.parametrize("name", EVERY)
def test_another_network_is_refused_by_methods_on_weights_and_taken_by_all_others(name):
    releases = chain(Release(SMALL), Release(OTHER))
    if name not in ON_WEIGHTS:
        assert len(method(name).plan(releases)) == 2
        return
    with pytest.raises(ConfigurationError, match=rf"methods\.{name} works on the weights") as error:
        method(name).plan(releases)
    assert "models.new.network" in str(error.value)


def test_methods_that_look_inside_need_not_be_of_one_architecture(zoo):
    releases = chain(Release(OTHER), Release(SMALL))
    plans = [method(name).plan(releases) for name in ("bct", "ract", "focal_distillation_lm", "bayesian_update")]
    make_all({0: zoo}, {0: [model for plan in plans for model in plan]}, 1)
    assert all(zoo.logits(plan[-1], zoo.splits.report).isfinite().all() for plan in plans)


IMPOSSIBLE = {
    "common_teacher": [{"members": 0}, {"temperature": 0.0}],
    "co_training": [{"start": 1.0}, {"start": -0.1}],
    "mpt": [{"bias": -1.0}, {"alpha": -1.0}, {"beta": -1.0}, {"temperature": 0.0}],
    "constrained": [{"target": 0.0}, {"target": 1.0}, {"margin": 0.0}, {"rate": 0.0}, {"warm_up": 1.0}],
    "churn_distillation": [{"share": -0.1}, {"share": 1.1}],
    "knowledge_distillation": [{"temperature": 0.0}],
    "focal_distillation_kl": [{"alpha": -1.0}, {"beta": -1.0}, {"temperature": 0.0}],
    "focal_distillation_lm": [{"alpha": -1.0}, {"beta": float("nan")}],
    "dynamic_focal_distillation": [{"temperature": -1.0}],
    "gated_distillation": [{"temperature": 0.0}],
    "ract": [{"temperature": 0.0}],
    "bayesian_update": [{"cost_ratio": 0.5}],
    "bayesian_update_trained": [{"cost_ratio": 0.5}],
    "dropout": [{"probability": 0.0}, {"probability": 1.0}],
    "ensemble": [{"members": 1}],
    "heterogeneous_ensemble": [{"networks": ()}],
    "centric": [{"members": 1}],
    "elodi": [
        {"members": 0},
        {"alpha": 1.1},
        {"top_k": 0},
        {"power": 0.0},
        {"temperature": 0.0, "towards": "kd"},
        {"start_at": 1.0},
        {"start_at": -0.1},
        {"members": 1, "teachers": (SMALL, OTHER)},
        {"members": 1, "first_teachers": (SMALL, OTHER)},
    ],
    "elodi_legacy": [{"members": 0}, {"alpha": -0.1}, {"lambda_": 2.0}, {"top_k": 0}, {"start_at": 1.0}],
    "bcwi": [{"alpha": -0.1}, {"alpha": 1.1}],
    "bcwi_soup": [{"alpha": 1.1}, {"members": 1}],
    "bcwi_fisher": [{"alpha": 1.1}, {"samples": 0}],
    "fisher_merging": [{"alpha": 1.1}, {"samples": 0}],
    "ewc": [{"strength": -1.0}, {"samples": 0}],
    "prior_weight_decay": [{"strength": -1.0}],
    "mixout": [{"probability": 0.0}, {"probability": 1.0}],
}


@pytest.mark.parametrize(
    ("name", "settings"), [(name, each) for name, several in IMPOSSIBLE.items() for each in several], ids=str
)
def test_impossible_values_are_refused_before_anything_is_planned(name, settings):
    with pytest.raises(ValueError, match=r".+"):
        METHODS[name](**settings)
