"""Keys that are "auto": the rule of one standard error on a grid that is extended until the choice is inside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.flips import Predictions
from regnas.updates.methods import METHODS
from regnas.updates.methods.focal_distillation_lm import FocalDistillationLM
from regnas.updates.methods.mixout import Mixout
from regnas.updates.methods.tunable import SHARES, WEIGHTS, grids_of
from regnas.updates.tuning import Tuner, errors_of, flips_of, resolve

SAMPLES = 1000
TARGETS = np.zeros(SAMPLES, dtype=np.int64)
IDS = np.arange(SAMPLES)


def predictions(wrong) -> Predictions:
    """Of a model that is wrong on these samples."""
    predicted = TARGETS.copy()
    predicted[list(wrong)] = 1
    return Predictions("model", IDS, TARGETS, predicted)


OLD = predictions(range(300))


@dataclass
class Synthetic:
    """New models whose errors and flips follow from the value: flips fall with it, and errors rise beyond ``turn``."""

    turn: float
    key: str = "weight"
    trained: int = 0

    def predict(self, methods):
        self.trained += len(methods)
        return [[[OLD, self.new(getattr(method, self.key))]] for method in methods]

    def new(self, value) -> Predictions:
        flips = round(20 * (3 - np.log10(value)))  # 20 fewer for each power of ten
        inherited = 150 if value <= self.turn else 300  # errors of the old model that stay
        return predictions([*range(inherited), *range(300, 300 + flips)])

    def untreated(self, _):
        return [[OLD, predictions([*range(150), *range(300, 430)])]]

    @property
    def tuner(self) -> Tuner:
        return Tuner(self.predict, self.untreated, training_macs=lambda methods: 7 * len(methods))


def tune(study: Synthetic, method, key="weight"):
    changed, (choice,) = study.tuner.tune({"label": (method, [key])})["label"]
    assert getattr(changed, key) == choice.value
    return choice


def test_the_choice_has_the_fewest_flips_among_values_that_are_as_accurate_as_no_treatment():
    choice = tune(Synthetic(turn=0.2), FocalDistillationLM())
    assert choice.value == 0.1  # 0.3 and 1 flip less and err more
    assert [each.value for each in choice.tried] == [0.03, 0.1, 0.3, 1.0]
    at = {each.value: each for each in choice.tried}
    assert at[0.1].error_rate == pytest.approx((0.3 + 0.15 + 0.08) / 2)  # mean of old and new
    assert at[0.1].nfr == pytest.approx(0.08)
    assert not choice.at_edge and choice.eligible
    assert choice.training_macs == 7 * 4


def test_a_choice_at_the_upper_end_extends_the_grid_until_it_is_inside():
    choice = tune(Synthetic(turn=5.0), FocalDistillationLM())
    assert choice.value == 3.0
    assert [each.value for each in choice.tried] == [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    assert not choice.at_edge


def test_a_choice_at_the_lower_end_extends_the_grid_downward():
    choice = tune(Synthetic(turn=0.01), FocalDistillationLM())
    assert choice.value == 0.01
    assert [each.value for each in choice.tried] == [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]


def test_if_no_value_is_as_accurate_the_grid_is_extended_down_and_the_most_accurate_is_taken():
    choice = tune(Synthetic(turn=-1.0), FocalDistillationLM())
    assert not choice.eligible
    assert min(each.value for each in choice.tried) == WEIGHTS.within[0]
    # All have the same errors except for their flips: the largest has the fewest flips.
    assert choice.value == max(each.value for each in choice.tried)
    assert "none was as accurate as no treatment" in str(choice)


def test_the_end_of_the_ladder_is_reported():
    choice = tune(Synthetic(turn=np.inf), FocalDistillationLM())
    assert choice.value == WEIGHTS.within[1]
    assert choice.at_edge
    assert "could not be extended" in str(choice)


def test_values_that_the_method_refuses_end_the_ladder():
    choice = tune(Synthetic(turn=np.inf), FocalDistillationLM(mixture="convex", weight=0.5))
    assert choice.value == 1.0  # a share of the objective cannot be above 1
    assert choice.at_edge


def test_shares_are_tried_toward_1_and_never_reach_it():
    choice = tune(Synthetic(turn=0.98, key="probability"), Mixout(), "probability")
    assert choice.value == 0.97
    assert choice.tried[-1].value == 0.99


def test_what_was_chosen_before_is_taken_and_trains_nothing():
    study = Synthetic(turn=0.2)
    methods, auto = {"fd": FocalDistillationLM()}, {"fd": ("weight",)}
    resolved, (choice,) = resolve(methods, auto, {"fd": {"weight": 0.02}}, study.tuner, again=False)
    assert resolved["fd"].weight == choice.value == 0.02
    assert (choice.tried, study.trained) == ((), 0)
    resolved, (choice,) = resolve(methods, auto, {"fd": {"weight": 0.02}}, study.tuner, again=True)
    assert resolved["fd"].weight == choice.value == 0.1
    assert study.trained == 4


def test_methods_are_tried_together_and_each_ends_where_it_would_alone():
    study = Synthetic(turn=5.0)
    calls = []
    tuner = Tuner(lambda methods: calls.append(len(methods)) or study.predict(methods), study.untreated, lambda _: 0)
    methods = {"one": FocalDistillationLM(), "two": FocalDistillationLM(beta=2.0), "fixed": FocalDistillationLM()}
    resolved, choices = resolve(methods, {"two": ("weight",), "one": ("weight",)}, {}, tuner, again=False)
    assert calls == [8, 2, 2]  # both grids, then the values beyond: 3 and 10
    assert {label: method.weight for label, method in resolved.items()} == {"one": 3.0, "two": 3.0, "fixed": 1.0}
    assert resolved["two"].beta == 2.0
    assert [choice.label for choice in choices] == ["two", "one"]


def test_several_keys_of_a_method_are_chosen_one_after_the_other():
    study = Synthetic(turn=0.2)
    method, (first, second) = study.tuner.tune({"label": (FocalDistillationLM(), ["weight", "weight"])})["label"]
    assert (first.value, second.value, method.weight) == (0.1, 0.1, 0.1)


def test_methods_without_auto_are_left_as_they_are():
    study = Synthetic(turn=0.2)
    methods = {"fd": FocalDistillationLM(weight=0.7), "tuned": FocalDistillationLM()}
    resolved, choices = resolve(methods, {"tuned": ("weight",)}, {}, study.tuner, again=False)
    assert resolved["fd"] is methods["fd"]
    assert [choice.label for choice in choices] == ["tuned"]


@given(st.sampled_from([WEIGHTS, SHARES]), st.data())
def test_the_ladder_goes_both_ways_by_the_same_rungs_and_keeps_to_its_bounds(grid, data):
    value = data.draw(st.sampled_from(grid.first))
    climbed = [value]
    while (above := grid.above(climbed[-1])) is not None:
        assert climbed[-1] < above <= grid.within[1]
        climbed.append(above)
    descended = [climbed[-1]]
    while (below := grid.below(descended[-1])) is not None:
        assert grid.within[0] <= below < descended[-1]
        descended.append(below)
    assert set(climbed) <= set(descended)
    assert set(grid.first) <= set(descended)
    assert descended[-1] == pytest.approx(grid.within[0])


def test_errors_are_means_over_models_and_seeds_and_flips_over_pairs_and_seeds():
    by_seed = [[predictions({0}), predictions({0, 1})], [predictions(set()), predictions({0, 1})]]
    np.testing.assert_allclose(errors_of(by_seed)[:3], [0.75, 0.5, 0.0])
    np.testing.assert_allclose(flips_of(by_seed)[:3], [0.5, 1.0, 0.0])
    assert flips_of([[OLD]]).tolist() == [0.0] * SAMPLES


@pytest.mark.parametrize("name", [name for name in sorted(METHODS) if grids_of(METHODS[name])])
def test_the_grid_of_every_tunable_key_holds_values_that_the_method_takes(name):
    for key, grid in grids_of(METHODS[name]).items():
        assert len(grid.first) >= 3
        assert list(grid.first) == sorted(grid.first)
        for value in (*grid.first, *grid.within):
            assert getattr(METHODS[name](**{key: value}), key) == value
