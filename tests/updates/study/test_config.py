"""The configuration of an update, and ranges of a key."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import ConfigurationError
from regnas.networks import SmallResNet
from regnas.training import Recipe
from regnas.updates.config import parse_update
from regnas.updates.methods import METHODS
from regnas.updates.methods.bcwi import WeightInterpolation
from regnas.updates.methods.elodi import Elodi
from regnas.updates.sweeps import Sweep

NETWORK = {"name": "small_resnet", "widths": [4, 8]}
NAMES = "names of models and methods must have only letters, digits, - and _"
TABLE = {
    "data": {"name": "arrays", "path": "data.npz"},
    "models": {"old": {"network": NETWORK, "samples": 0.5, "classes": 0.5}, "new": {"network": NETWORK}},
    "methods": {"none": {}, "bcwi": {"alpha": 0.3}},
}


def table(**changes):
    """With values at places such as ``models.new.start``; None takes the key away."""
    made = copy.deepcopy(TABLE)
    for place, value in changes.items():
        *path, last = place.split(".")
        inner = made
        for part in path:
            inner = inner.setdefault(part, {})
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return made


def problems(**changes):
    with pytest.raises(ConfigurationError) as error:
        parse_update("tiny", table(**changes))
    return error.value.problems


def test_elodis_teachers_are_tables_of_networks():
    four = {
        "name": "elodi",
        "towards": "kd",
        "start_at": 0.5,
        "teachers": [{"name": "small_resnet", "widths": [4, 6]}, {"name": "small_resnet", "blocks": 2}],
    }
    found = parse_update("tiny", table(**{"methods.four": four})).values.methods["four"]
    teachers = (SmallResNet(widths=(4, 6)), SmallResNet(blocks=2))
    assert found == Elodi(towards="kd", start_at=0.5, teachers=teachers)
    (problem,) = problems(**{"methods.four": four | {"members": 1}})
    assert problem.startswith("tiny: methods.four: members must be at least the number of teachers, 2, got 1.")
    (problem,) = problems(**{"methods.bayesian_update": {"at": "training"}})
    assert problem == "tiny: methods.bayesian_update.at is not a known key"


def test_a_table_becomes_values_in_its_order():
    values = parse_update("tiny", table(**{"models.new.start": "previous", "methods.four": {"name": "elodi"}})).values
    assert list(values.models) == ["old", "new"]
    assert values.models["old"].network == SmallResNet(widths=(4, 8))
    assert (values.models["old"].samples, values.models["new"].samples) == (0.5, 1.0)
    assert values.models["new"].start == "previous"
    assert list(values.methods) == ["none", "bcwi", "four"]
    assert values.methods["bcwi"] == WeightInterpolation(0.3)
    assert values.methods["four"] == Elodi()
    assert values.training == Recipe()
    assert values.fine_tuning is None
    assert (values.references, values.seeds) == (("chain",), (0,))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models.new": None}, "models must name at least two models, the old and the new one, got 1"),
        ({"methods": {}}, "methods must name at least one method, got none. Write [methods.none]."),
        ({"seeds": []}, "seeds must be one or more different numbers, got []"),
        ({"seeds": [1, 2, 1]}, "seeds must be one or more different numbers, got [1, 2, 1]"),
        ({"references": []}, "references must be one or more different kinds, got []"),
        ({"references": ["fc", "fc"]}, "references must be one or more different kinds, got ['fc', 'fc']"),
        ({"calibration_images": 1}, "calibration_images must be at least 2, got 1"),
        ({"models.a/b": {"network": NETWORK}}, f'{NAMES}, got "a/b"'),
        ({"methods.a b": {"name": "none"}}, f'{NAMES}, got "a b"'),
        ({"methods": {"": {"name": "none"}}}, f'{NAMES}, got ""'),
        (
            {"models.new.checkpoint": "new.pth"},
            "models.new is the newest model and must be trained, got one with existing weights",
        ),
        (
            {"models.new.trained": False},
            "models.new is the newest model and must be trained, got one with existing weights",
        ),
        ({"models.old.start": "previous"}, 'models.old.start must be "fresh" for the oldest model, got "previous"'),
        ({"models.new.samples": 0.4}, "models.new.samples must be at least that of models.old, 0.5, got 0.4"),
        ({"models.new.classes": 0.4}, "models.new.classes must be at least that of models.old, 0.5, got 0.4"),
        (
            {"models.new.start": "previous", "models.new.network": {"name": "small_resnet"}},
            'models.new.network must be that of models.old, because start is "previous"',
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(changes, message):
    assert problems(**changes) == (f"tiny: {message}",)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"models.old.samples": 0}, "models.old: samples must be above 0 and at most 1, got 0.0"),
        ({"models.old.classes": 1.5}, "models.old: classes must be above 0 and at most 1, got 1.5"),
        ({"models.old.sample": 0.5}, 'models.old.sample is not a known key; did you mean "samples"?'),
        ({"models.old.network": {"name": "small_resnt"}}, 'unknown network "small_resnt"; did you mean "small_resnet"'),
        ({"methods.elodie": {}}, 'unknown method "elodie"; did you mean "elodi"?'),
        ({"methods.bcwi.alpha": 1.2}, "methods.bcwi: alpha must be between 0 and 1, got 1.2"),
        (
            {"methods.focal_distillation_lm": {"beta": -1}},
            "methods.focal_distillation_lm: beta must be 0 or above and finite, got -1.0",
        ),
        (
            {"methods.knowledge_distillation": {"temperature": 0}},
            "methods.knowledge_distillation: temperature must be above 0",
        ),
        ({"references": ["chains"]}, 'references[0] = "chains"'),
        ({"seeds": ["a"]}, 'seeds[0] = "a"'),
        ({"data": None}, "data is missing"),
        ({"models.old": {}}, "models.old.network is missing"),
        ({"fine_tuning": {"epochs": 0}}, "fine_tuning: epochs must be at least 1"),
        ({"training": {"epochs": 0}}, "training: epochs must be at least 1"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_place(changes, part):
    (problem,) = problems(**changes)
    assert problem.startswith("tiny: ")
    assert part in problem


def test_all_problems_are_reported_at_once():
    found = problems(**{"methods.bcwi.alpha": 2.0, "models.old.samples": 3.0, "seed": [1]})
    assert len(found) == 3


def test_a_configuration_of_a_search_is_sent_to_its_command():
    with pytest.raises(ConfigurationError, match="it is for `regnas run tiny`"):
        parse_update("tiny", {"supernet": {"name": "elastic_resnet"}})


# Sweeps


@pytest.mark.parametrize(
    ("text", "label", "key", "values"),
    [
        ("bcwi.alpha=0:1:0.25", "bcwi", "alpha", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("bcwi.alpha=0:1:0.1", "bcwi", "alpha", tuple(index / 10 for index in range(11))),  # 0.3 and not 0.30000000004
        ("elodi.members=2:5:2", "elodi", "members", (2.0, 4.0)),  # the end is not passed
        ("ewc.strength=1:1:1", "ewc", "strength", (1.0,)),
        ("elodi-4.alpha=.5:1e0:0.5", "elodi-4", "alpha", (0.5, 1.0)),
        (" bcwi.alpha =0: 1 :1", "bcwi", "alpha", (0.0, 1.0)),
    ],
)
def test_a_range_is_read(text, label, key, values):
    assert Sweep.parse(text) == Sweep(label, key, values)
    assert str(Sweep.parse(text)) == f"{label}.{key}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bcwi.alpha",
        "bcwi.alpha=",
        "bcwi.alpha=0:1",
        "bcwi.alpha=0:1:0.1:2",
        "bcwi.alpha=a:b:c",
        "bcwi=0:1:0.1",
        ".alpha=0:1:0.1",
        "bcwi.=0:1:0.1",
        "bcwi.alpha=0:1:0",
        "bcwi.alpha=0:1:-0.1",
        "bcwi.alpha=1:0:0.1",
        "bcwi.alpha=0:inf:1",
        "bcwi.alpha=0:1:nan",
        "bcwi.alpha=nan:1:1",
        "bcwi.alpha=0:1:1e-9",
    ],
)
def test_an_invalid_range_is_refused_with_an_example(text):
    with pytest.raises(ConfigurationError, match=r"such as bcwi\.alpha=0:1:0\.1") as error:
        Sweep.parse(text)
    assert f'"{text}"' in str(error.value)


@given(st.text(max_size=30) | st.from_regex(r"[a-z]{1,4}\.[a-z]{1,4}=[-0-9e.:naif]{1,12}", fullmatch=True))
def test_any_text_is_a_range_or_refused(text):
    try:
        sweep = Sweep.parse(text)
    except ConfigurationError:
        return
    assert 1 <= len(sweep.values) <= 1001
    assert list(sweep.values) == sorted(sweep.values)


def test_a_variant_has_the_value_in_place_and_all_else_as_configured():
    configured = {"bcwi": WeightInterpolation(0.3), "four": Elodi(members=4, alpha=0.6)}
    assert Sweep.parse("bcwi.alpha=0:1:0.5").variants(configured) == {
        0.0: WeightInterpolation(0.0),
        0.5: WeightInterpolation(0.5),
        1.0: WeightInterpolation(1.0),
    }
    found = Sweep.parse("four.members=2:3:1").variants(configured)
    assert found == {2.0: Elodi(members=2, alpha=0.6), 3.0: Elodi(members=3, alpha=0.6)}
    assert all(type(method.members) is int for method in found.values())
    assert all(type(method.alpha) is float for method in Sweep.parse("four.alpha=0:1:1").variants(configured).values())


def test_a_method_that_is_not_configured_has_its_defaults():
    assert Sweep.parse("elodi.top_k=5:5:1").variants({}) == {5.0: Elodi(top_k=5)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bcwi.beta=0:1:0.5", r"bcwi has no beta \(known: alpha\)"),
        ("bcwi.title=0:1:0.5", "bcwi has no title"),
        ("elodi.teacher=0:1:0.5", "teacher must be a number"),
        ("bcwi.alpha=0:2:0.5", r"alpha must be between 0 and 1, got 1\.5"),
        ("elodi.members=0:2:1", "members must be at least 1"),
        ("elodi.members=1:2:0.5", "start and step must be integers"),
        ("focal_distillation_lm.beta=-1:1:1", "beta must be 0 or above and finite, got -1.0"),
        ("bayesian_update.cost_ratio=0:2:1", "cost_ratio must be 1 or above, got 0.0"),
        ("heterogeneous_ensemble.members=1:2:1", "networks must name at least one network, got none"),
        ("elodie.alpha=0:1:1", 'unknown method "elodie"; did you mean "elodi"'),
    ],
)
def test_a_sweep_that_cannot_be_planned_is_refused(text, message):
    with pytest.raises(ConfigurationError, match=message):
        Sweep.parse(text).variants({})


def test_every_number_of_every_method_can_be_swept_over_its_own_value():
    for name, kind in METHODS.items():
        if name == "heterogeneous_ensemble":
            continue
        method = kind()
        for key, value in vars(method).items():
            if isinstance(value, int | float):
                assert Sweep(name, key, (float(value),)).variants({}) == {float(value): method}
