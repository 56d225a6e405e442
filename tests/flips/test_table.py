"""The table from one matrix product is the pairwise functions, K * K times."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regnas.flips.table as table_module
from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import (
    FlipTable,
    flip_table,
    flip_table_from_correctness,
    negative_flip_rate,
    positive_flip_rate,
    relative_negative_flip_rate,
)

from .helpers import answers, correctness_rows, from_rows, shuffled

SMALL = [answers("11000", "small"), answers("10110", "middle"), answers("01111", "large")]


def test_worked_by_hand() -> None:
    table = flip_table(SMALL)
    assert table.models == ("small", "middle", "large")
    assert table.samples == 5
    assert table.accuracy.tolist() == [0.4, 0.6, 0.8]
    assert table.nfr.tolist() == [[0.0, 0.2, 0.2], [0.4, 0.0, 0.2], [0.6, 0.4, 0.0]]
    assert table.relative_nfr[0, 1] == pytest.approx(0.2 / (0.4 * 0.4))
    assert table.mean_nfr() == pytest.approx((0.2 + 0.2 + 0.2) / 3)
    assert table.mean_nfr(["large", "small"]) == 0.6
    assert table.mean_nfr(["small", "large"]) == 0.2


def test_pair_gathers_one_cell() -> None:
    pair = flip_table(SMALL).pair("small", "large")
    assert (pair.reference, pair.new) == ("small", "large")
    assert (pair.reference_accuracy, pair.new_accuracy) == (0.4, 0.8)
    assert (pair.nfr, pair.pfr) == (0.2, 0.6)
    assert pair.relative_nfr == pytest.approx(0.2 / (0.4 * 0.2))


@settings(deadline=None)
@given(correctness_rows())
def test_equals_the_pairwise_functions_exactly(rows: list[list[bool]]) -> None:
    models = from_rows(rows)
    table = flip_table(models)
    for i, old in enumerate(models):
        assert table.accuracy[i] == old.accuracy
        for j, new in enumerate(models):
            assert table.nfr[i, j] == negative_flip_rate(old, new)
            assert table.pfr[i, j] == positive_flip_rate(old, new)
            assert table.relative_nfr[i, j] == relative_negative_flip_rate(old, new)


@settings(deadline=None)
@given(correctness_rows())
def test_a_model_never_flips_against_itself(rows: list[list[bool]]) -> None:
    table = flip_table(from_rows(rows))
    assert not table.nfr.diagonal().any()
    assert not table.relative_nfr.diagonal().any()


@settings(deadline=None)
@given(rows=correctness_rows(), seed=st.integers(0, 1000))
def test_order_of_the_samples_changes_nothing(rows: list[list[bool]], seed: int) -> None:
    models = from_rows(rows)
    mixed = [shuffled(model, seed + index) for index, model in enumerate(models)]
    assert flip_table(mixed).to_json() == flip_table(models).to_json()


def test_blocks_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    correctness = np.random.default_rng(0).random((7, 1001)) < 0.7
    names = [f"m{index}" for index in range(7)]
    whole = flip_table_from_correctness(names, correctness)
    monkeypatch.setattr(table_module, "BLOCK_ENTRIES", 7 * 64)
    assert flip_table_from_correctness(names, correctness).to_json() == whole.to_json()
    expected = [[np.mean(a & ~b) for b in correctness] for a in correctness]
    np.testing.assert_allclose(whole.nfr, expected, rtol=0, atol=1e-15)


def test_blocks_keep_counts_exact_in_float32() -> None:
    assert table_module.BLOCK_ENTRIES <= 2**24
    assert np.float32(2**24) - np.float32(1) == 2**24 - 1
    assert np.float32(2**24) + np.float32(1) == 2**24  # why not more


@settings(deadline=None)
@given(correctness_rows())
def test_json_round_trip_is_exact(rows: list[list[bool]]) -> None:
    table = flip_table(from_rows(rows))
    again = FlipTable.from_json(json.loads(json.dumps(table.to_json(), allow_nan=False)))
    assert again.to_json() == table.to_json()
    assert np.array_equal(again.nfr, table.nfr)
    assert again.models == table.models


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nfr": None}, "lacks nfr"),
        ({"nfr": [[0.0, 0.2], [0.4, 0.0]]}, "nfr must have the shape [3, 3], got [2, 2]"),
        ({"nfr": [[0.0, 0.2], [0.4]]}, "is damaged"),
        ({"accuracy": ["a", "b", "c"]}, "is damaged"),
        ({"accuracy": [0.4, 0.6, float("nan")]}, "accuracy holds values that are negative or not finite"),
        ({"samples": 0}, "3 models on 0 samples"),
        ({"samples": "many"}, "is damaged"),
        ({"models": ["a", "b", "a"]}, 'two models are called "a"'),
        ({"nfr": flip_table(SMALL).pfr.tolist()}, "the flip rates contradict the accuracies"),
    ],
)
def test_damaged_json_is_refused(changes: dict[str, Any], problem: str) -> None:
    value = {key: item for key, item in {**flip_table(SMALL).to_json(), **changes}.items() if item is not None}
    with pytest.raises(ArtifactError) as caught:
        FlipTable.from_json(value)
    assert problem in str(caught.value)
    assert caught.value.exit_code == 3


def test_unknown_model_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r'no model "smal".*did you mean "small"') as caught:
        flip_table(SMALL).pair("smal", "large")
    assert caught.value.exit_code == 2


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(ArtifactError, match='two models are called "same"'):
        flip_table([answers("10", "same"), answers("01", "same")])


def test_mean_over_no_pair_is_refused() -> None:
    with pytest.raises(ArtifactError, match="at least two models, got 1"):
        flip_table(SMALL).mean_nfr(["small"])


@pytest.mark.parametrize(
    "correctness",
    [np.zeros((2, 3)), np.zeros(3, dtype=bool), np.zeros((3, 4), dtype=bool), np.zeros((2, 0), dtype=bool)],
)
def test_correctness_must_be_a_matrix_of_booleans(correctness: Any) -> None:
    with pytest.raises(ArtifactError, match="flip table: "):
        flip_table_from_correctness(["a", "b"], correctness)
