"""Schedules of the learning rate against torch.optim.lr_scheduler, and the trainings that they do not fit."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.optim import lr_scheduler

from regnas.components.builder import Builder
from regnas.errors import ConfigurationError
from regnas.runs.config import parse_config, parse_polish
from regnas.training import RECIPE_PARTS, Recipe
from regnas.training.learning_rates import Cosine, Flat, OneCycle, Steps
from regnas.updates.models.content import content_of

EPOCHS, PER_EPOCH = 10, 7
STEPS = EPOCHS * PER_EPOCH


def rates(schedule):
    recipe = Recipe(epochs=EPOCHS, learning_rate=0.4, schedule=schedule)
    return [recipe.learning_rate_at(index / STEPS) for index in range(STEPS)]


def rates_of_torch(make):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.4)
    found = []
    with warnings.catch_warnings(action="ignore"):  # the scheduler moves before the optimizer, on purpose
        scheduler = make(optimizer)
        for _ in range(STEPS):
            found.append(optimizer.param_groups[0]["lr"])
            scheduler.step()
    return found


def after_warm_up(optimizer, steps, make):
    rising = lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=steps)
    return lr_scheduler.SequentialLR(optimizer, [rising, make(optimizer)], [steps])


@pytest.mark.parametrize("warm_up", [2, "20 %"])
@pytest.mark.parametrize(
    ("schedule", "make"),
    [
        (Cosine, lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, STEPS - 2 * PER_EPOCH)),
        (Flat, lambda optimizer: lr_scheduler.ConstantLR(optimizer, 1.0)),
        # SequentialLR counts the steps of the second one from its own start.
        (
            lambda warm_up: Steps((5, "80 %"), 0.3, warm_up),
            lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [3 * PER_EPOCH, 6 * PER_EPOCH], 0.3),
        ),
    ],
    ids=["cosine", "constant", "step"],
)
def test_schedules_with_a_warm_up_are_those_of_torch(schedule, make, warm_up):
    expected = rates_of_torch(lambda optimizer: after_warm_up(optimizer, 2 * PER_EPOCH, make))
    assert rates(schedule(warm_up=warm_up)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("schedule", "make"),
    [
        (Cosine(), lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, STEPS)),
        (Flat(), lambda optimizer: lr_scheduler.ConstantLR(optimizer, 1.0)),
        (Steps((3, 6.5)), lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [21, 46], 0.1)),  # 45.5 rounds up
    ],
    ids=["cosine", "constant", "step"],
)
def test_schedules_without_a_warm_up_are_those_of_torch(schedule, make):
    assert rates(schedule) == pytest.approx(rates_of_torch(make), abs=1e-9)


def test_one_cycle_has_the_shape_of_that_of_torch():
    """Torch reaches the end at the last step, regnas after it: equal up to one step of a slope of pi / 2."""

    def make(optimizer):
        return lr_scheduler.OneCycleLR(
            optimizer, 0.4, total_steps=STEPS, pct_start=0.2, div_factor=20, final_div_factor=1e9, cycle_momentum=False
        )

    bound = 0.4 * 1.6 / (0.2 * STEPS)
    assert rates(OneCycle(warm_up="20 %", start=0.05)) == pytest.approx(rates_of_torch(make), abs=bound)
    assert rates(OneCycle(warm_up="20 %", start=0.05)) == rates(OneCycle(warm_up=2, start=0.05))


def recipe_from(**table):
    builder = Builder(RECIPE_PARTS)
    return builder.record(Recipe, table, "training"), builder.problems


def test_texts_of_earlier_configurations_are_the_same_recipes_with_the_same_content():
    for name, schedule in {"one_cycle": OneCycle(), "cosine": Cosine(), "step": Steps()}.items():
        recipe, problems = recipe_from(schedule=name)
        assert (problems, recipe) == ([], Recipe(schedule=schedule))
        assert content_of(recipe)["Recipe"]["schedule"] == name
        assert content_of(recipe_from(schedule={"name": name})[0]) == content_of(recipe)
    other = recipe_from(schedule={"name": "cosine", "warm_up": "5 %"})[0]
    assert other.schedule == Cosine("5 %")
    assert content_of(other) != content_of(Recipe(schedule=Cosine()))


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        (
            {"name": "cosine", "warm_up": 12},
            "schedule.warm_up must be shorter than the training of 12 epochs, got 12. L",
        ),
        (
            {"name": "one_cycle", "warm_up": 20},
            "schedule.warm_up must be shorter than the training of 12 epochs, got 20.",
        ),
        ({"name": "constant", "warm_up": "100 %"}, "must be a text such as|a rate must"),
        (
            {"name": "step", "milestones": [6, 12]},
            "must lie inside the training of 12 epochs, got 6, 12. Lower them, or",
        ),
        (
            {"name": "step", "milestones": [6, "40 %"]},
            "schedule.milestones must be above 0 and rise, got 6, 40 %. Sort",
        ),
        ({"name": "step", "milestones": [0, 6]}, "schedule.milestones must be above 0 and rise"),
        ({"name": "step", "decay": 1.0}, "decay must be between 0 and 1, got 1"),
        ({"name": "cosine", "warm_up": "5"}, 'a moment must be a number of epochs such as 5, or a share .* "10 %"'),
        ({"name": "cosine", "warm_up": -1}, "a moment must be a number of epochs of at least 0"),
        ({"name": "one_cycle", "start": 1.5}, "start must be between 0 and 1, got 1.5"),
        ("linear", 'unknown learning-rate schedule "linear"'),
    ],
    ids=str,
)
def test_schedules_that_do_not_fit_the_training_are_refused_before_it(schedule, problem):
    _, problems = recipe_from(epochs=12, schedule=schedule)
    with pytest.raises(ValueError, match=problem):
        raise ValueError(*problems)


def test_a_schedule_must_also_fit_the_epochs_of_polishing():
    tables = {
        "data": {"name": "digits"},
        "supernet": {"name": "elastic_resnet"},
        "budgets": {"small": "1M +- 5 %"},
        "training": {"epochs": 12, "schedule": {"name": "cosine", "warm_up": 3}},
    }
    assert parse_config("mine", tables | {"polish": {"epochs": 4}}).values.polish is not None
    wrong = tables | {"polish": {"epochs": 3}}
    with pytest.raises(
        ConfigurationError, match=r"polish: the recipe of \[training\] must fit polishing.*of 3 epochs, got 3"
    ):
        parse_config("mine", wrong)
    with pytest.raises(ValueError, match="must fit polishing"):  # as `regnas polish --set epochs=2`
        parse_polish({"epochs": 2}).recipe(Recipe(schedule=Cosine(warm_up=2)))


def test_without_epochs_every_schedule_fits():
    assert Recipe(epochs=0, schedule=Cosine(warm_up=5)).epochs == 0
