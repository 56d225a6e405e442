"""Orders of the papers are decided by intervals, not by means."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.update_cifar10 import (
    RECORD,
    STUDIES,
    Decided,
    Order,
    Record,
    RecordedStudy,
    compute_measure,
    decide,
    markdown,
    orders_table,
    verdict,
    with_record,
)
from regnas.flips import Predictions
from regnas.report.tuning import Choice, Tried
from regnas.updates.config import load_update
from tests.report.update_helpers import none, update

SAMPLES = 400
TARGETS = np.zeros(SAMPLES, dtype=np.int64)


def model(wrong) -> Predictions:
    predicted = TARGETS.copy()
    predicted[list(wrong)] = 1
    return Predictions("model", np.arange(SAMPLES), TARGETS, predicted)


OLD = model(range(100))
ORDER = Order("a paper", "first below second", "NFR", "first", "second")


def table(found: Decided) -> list[str]:
    return orders_table([found]).splitlines()


def flipping(count: int) -> list[Predictions]:
    return [OLD, model(range(350, 350 + count))]


@pytest.mark.parametrize(
    ("low", "high", "close", "said"),
    [
        (-0.02, -0.01, None, "agrees"),
        (0.01, 0.02, None, "disagrees"),
        (-0.01, 0.02, None, "undecided"),
        (-0.01, 0.0, None, "undecided"),
        (-0.004, 0.004, 0.005, "agrees"),
        (0.006, 0.01, 0.005, "disagrees"),
        (-0.02, -0.006, 0.005, "disagrees"),
        (-0.004, 0.006, 0.005, "undecided"),
    ],
)
def test_the_interval_decides(low, high, close, said):
    assert verdict(low, high, close) == said


def test_a_difference_of_means_within_the_interval_is_undecided():
    found = decide("a study", ORDER, [flipping(8), flipping(12)], [flipping(11), flipping(10)])
    assert found.difference == pytest.approx((10 - 10.5) / SAMPLES)
    assert found.difference < 0
    assert found.verdict == "undecided"


def test_a_difference_beyond_seeds_and_samples_is_decided_either_way():
    few, many = [flipping(1), flipping(2), flipping(1)], [flipping(40), flipping(41), flipping(40)]
    assert decide("a study", ORDER, few, many).verdict == "agrees"
    assert decide("a study", ORDER, many, few).verdict == "disagrees"


def test_error_rates_are_those_of_the_new_model_and_of_a_family_the_mean():
    assert compute_measure("ER", [flipping(20)]).mean() == pytest.approx(20 / SAMPLES)
    family = [model(range(10)), model(range(20)), model(range(60))]
    assert compute_measure("ER", [family]).mean() == pytest.approx(30 / SAMPLES)


@pytest.mark.parametrize("preset", STUDIES)
def test_every_order_is_about_methods_of_its_preset(preset):
    methods = load_update(preset).values.methods
    assert {name for order in STUDIES[preset].orders for name in (order.first, order.second)} <= set(methods)


def test_what_does_not_agree_stands_out():
    rows = table(decide("a study", ORDER, [flipping(1)] * 2, [flipping(40)] * 2))
    assert "| agrees |" in rows[-1]
    rows = table(decide("a study", ORDER, [flipping(40)] * 2, [flipping(1)] * 2))
    assert "| **disagrees** | 10.00 and 0.25 | +9.75 [" in rows[-1]
    page = markdown(Record("x", 2, (), ()))
    assert "0 agrees, 0 disagrees, 0 undecided" in page


def choice(label: str, value: float, *tried: float) -> Choice:
    return Choice(label, "weight", value, tuple(Tried(each, 0.1, 0.01) for each in tried))


def recorded_study(preset: str, *tuning: Choice) -> RecordedStudy:
    return RecordedStudy(preset, 1, update(none(), tuning=tuning))


def test_studies_that_were_not_run_again_and_the_grids_behind_chosen_values_stay_on_record():
    first, second = list(STUDIES)[:2]
    grid = choice("kd", 0.3, 0.1, 0.3, 1.0)
    order = decide("", ORDER, [flipping(1)], [flipping(2)])
    known = Record(
        command="x",
        cores=2,
        studies=(recorded_study(first, grid, choice("fd", 1.0, 1.0, 2.0)), recorded_study(second)),
        orders=tuple(replace(order, study=STUDIES[each].title, claim=f"earlier {each}") for each in (first, second)),
    )
    found = Record(
        command="x",
        cores=2,
        studies=(recorded_study(first, choice("kd", 0.3), choice("fd", 0.1), choice("elodi", 0.5, 0.3, 0.5)),),
        orders=(replace(order, study=STUDIES[first].title, claim="now"),),
    )
    result = with_record(found, known)
    assert [each.preset for each in result.studies] == [first, second]
    assert result.studies[0].results.tuning == (grid, choice("fd", 0.1), choice("elodi", 0.5, 0.3, 0.5))
    assert [each.claim for each in result.orders] == ["now", f"earlier {second}"]


def test_the_page_is_that_of_the_record():
    record = Record.read(RECORD, "")
    assert json.dumps(record.to_dict(), indent=1) + "\n" == RECORD.read_text(encoding="utf-8")
    assert markdown(record) == RECORD.with_suffix(".md").read_text(encoding="utf-8")
