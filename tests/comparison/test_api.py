"""`regnas.compare` and `regnas.gate` from arrays, lists, tensors, frames and files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regnas
from regnas.errors import ArtifactError, ConfigurationError, RegnasError

from .helpers import FORMATS, write

TARGET = [0, 1, 2, 1, 0, 2]
OLD = [0, 1, 2, 0, 1, 2]  # samples 3 and 4 are wrong
NEW = [0, 2, 2, 1, 1, 2]  # loses sample 1, gains sample 3
NAMES = np.array(["cat", "dog", "eel"])
PAIRS = np.arange(6) // 2
SIX = {"old": OLD, "new": NEW}
TWO = {"old": [0, 1], "new": [0, 1]}
NOT_CLASSES = "must be classes of shape [N], or floating point scores"


def numbers_of(comparison):
    pair = comparison["old", "new"]
    return pair.negative_flip_ids.tolist(), pair.positive_flip_ids.tolist(), pair.nfr, pair.pfr


def refusal(*arguments, kind=RegnasError, **options) -> str:
    with pytest.raises(kind) as caught:
        regnas.compare(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def scores_of(classes, dtype=np.float64):
    return np.eye(3, dtype=dtype)[classes]


def one_hot_list(classes):
    return scores_of(classes).tolist()


@pytest.mark.parametrize(
    "kind",
    [
        list, tuple, np.array, lambda values: np.array(values, dtype=np.uint8), lambda values: np.array(values, float),
        lambda values: NAMES[values], lambda values: NAMES[values].tolist(),
        lambda values: NAMES[values].astype(object), lambda values: [str(each) for each in values],
        lambda values: [np.int64(each) for each in values], pa.array, lambda values: pa.chunked_array([values]),
    ],
)  # fmt: skip
def test_classes_in_any_kind_of_array(kind):
    found = regnas.compare({"old": kind(OLD), "new": kind(NEW)}, target=kind(TARGET))
    assert numbers_of(found) == ([1], [3], 1 / 6, 1 / 6)
    assert found.error_rates == (2 / 6, 2 / 6)


@pytest.mark.parametrize("kind", [scores_of, one_hot_list, lambda values: scores_of(values, np.float16)])
def test_the_highest_score_is_the_predicted_class(kind):
    assert numbers_of(regnas.compare({"old": kind(OLD), "new": NEW}, TARGET)) == ([1], [3], 1 / 6, 1 / 6)


def test_scores_that_differ_by_less_than_single_precision_are_distinguished():
    scores = np.full((6, 3), 1 / 3)
    scores[np.arange(6), OLD] += 1e-12
    assert numbers_of(regnas.compare({"old": scores, "new": NEW}, TARGET))[:2] == ([1], [3])


def test_tensors():
    torch = pytest.importorskip("torch")
    scores = torch.tensor(scores_of(OLD), requires_grad=True)
    found = regnas.compare({"old": scores, "new": torch.tensor(NEW)}, torch.tensor(TARGET))
    assert numbers_of(found)[:2] == ([1], [3])


def test_columns_of_scores_have_the_classes_that_scikit_learn_gives_them():
    turned = scores_of(OLD)[:, ::-1]
    found = regnas.compare({"old": turned, "new": NAMES[NEW]}, NAMES[TARGET], classes=NAMES[::-1])
    assert numbers_of(found)[:2] == ([1], [3])
    found = regnas.compare(
        {"old": scores_of(OLD), "new": np.array(NEW) + 10}, np.array(TARGET) + 10, classes=[10, 11, 12]
    )
    assert numbers_of(found)[:2] == ([1], [3])
    assert "classes must name the 3 columns" in refusal({"old": scores_of(OLD), "new": NEW}, TARGET, classes=[0, 1])
    message = refusal({"old": scores_of(OLD), "new": NAMES[NEW]}, NAMES[TARGET])
    assert "must both be integers or both be names" in message


def frame_of(library, **columns):
    if library == "pyarrow":
        return pa.table(columns)
    module = pytest.importorskip(library)
    return module.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_with_ids_are_joined_and_other_columns_are_slices(library):
    ids, order = list("abcdef"), [5, 0, 3, 1, 4, 2]
    old = frame_of(library, id=ids, target=NAMES[TARGET].tolist(), predicted=NAMES[OLD].tolist(), place=list("xyxyxy"))
    new = frame_of(
        library,
        id=[ids[each] for each in order],
        target=NAMES[np.array(TARGET)[order]].tolist(),
        predicted=NAMES[np.array(NEW)[order]].tolist(),
        group=[7, 1, 4, 2, 5, 3],
    )
    found = regnas.compare({"old": old, "new": new})
    assert numbers_of(found)[:2] == (["b"], ["d"])
    assert {part.value: part.negative_flips for part in found["old", "new"].slices["place"].parts} == {"x": 0, "y": 1}
    assert found.clusters == 6
    target = np.array(TARGET)
    without = regnas.compare({"old": _drop(old, "target"), "new": _drop(new, "target")}, NAMES[target], ids=ids)
    assert numbers_of(without)[:2] == (["b"], ["d"])


def _drop(frame, column):
    return (
        frame.drop_columns([column])
        if isinstance(frame, pa.Table)
        else frame[[c for c in frame.columns if c != column]]
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_without_ids_are_compared_row_by_row(library):
    old = frame_of(library, target=TARGET, predicted=OLD)
    assert numbers_of(regnas.compare({"old": old, "new": NEW}, TARGET))[:2] == ([1], [3])
    new = frame_of(library, target=TARGET, logits=scores_of(NEW).tolist())
    assert numbers_of(regnas.compare({"old": old, "new": new}))[:2] == ([1], [3])
    new = frame_of(library, target=TARGET, **{f"probabilities_{place}": scores_of(NEW)[:, place] for place in range(3)})
    assert numbers_of(regnas.compare({"old": old, "new": new}))[:2] == ([1], [3])


def test_categories_of_pandas_and_polars():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    texts = pandas.DataFrame({"target": pandas.Categorical(NAMES[TARGET]), "predicted": pandas.Categorical(NAMES[OLD])})
    other = polars.DataFrame({"target": NAMES[TARGET], "predicted": NAMES[NEW]}).cast(polars.Categorical)
    assert numbers_of(regnas.compare({"old": texts, "new": other}))[:2] == ([1], [3])
    whole = pandas.DataFrame(
        {"target": pandas.Categorical(TARGET), "predicted": pandas.Categorical(OLD)}, index=range(9, 15)
    )
    assert numbers_of(regnas.compare({"old": whole, "new": pandas.Series(NEW)}, TARGET))[:2] == ([1], [3])


def test_missing_values_of_frames_are_refused_by_row():
    for library in ("pandas", "polars"):
        frame = frame_of(library, target=[0, None, 2], predicted=[0, 1, 2])
        message = refusal({"old": frame, "new": frame})
        assert (
            message
            == 'model "old": column "target" must have a value for every sample, got none in 1 of 3 rows, such as row 2'
        )


def test_mappings_of_columns_and_predictions():
    old = {"target": TARGET, "predicted": OLD, "place": list("xyxyxy")}
    assert numbers_of(regnas.compare({"old": old, "new": NEW}, TARGET))[:2] == ([1], [3])
    kept = [regnas.Predictions(name, np.arange(6)[::-1], np.array(TARGET)[::-1], np.array(each)[::-1], groups=PAIRS)
            for name, each in (("old", OLD), ("new", NEW))]  # fmt: skip
    found = regnas.compare(kept)
    assert (numbers_of(found)[:2], found.clusters) == (([1], [3]), 3)


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_and_frames_give_the_same_as_the_command_line(suffix, tmp_path, capsys):
    from regnas.cli import exit_code

    columns = {"id": list(range(6)), "target": TARGET, "place": list("xyxyxy")}
    old = write(tmp_path / f"old.{suffix}", **columns, predicted=OLD)
    new = write(tmp_path / f"new.{suffix}", **columns, predicted=NEW)
    for ids in (False, True):
        assert exit_code(["compare", str(old), str(new), "--json", *(["--ids"] if ids else [])]) == 0
        printed = capsys.readouterr().out
        assert regnas.compare([old, new]).to_json(ids) + "\n" == printed
        assert (
            regnas.compare({"old": str(old), "new": pa.table(columns | {"predicted": NEW})}).to_json(ids) + "\n"
            == printed
        )
    assert json.loads(printed)["pairs"][0]["negative_flip_ids"] == [1]
    assert exit_code(["gate", str(old), str(new), "--json", "--max-nfr", "0.5"]) == 6
    assert regnas.gate(old, new, max_nfr=0.5).to_json() + "\n" == capsys.readouterr().out


def test_files_without_targets_take_the_given_ones_by_id(tmp_path):
    old = write(tmp_path / "old.csv", id=list("abcdef"), predicted=OLD)
    new = write(tmp_path / "new.csv", id=list("fedcba"), predicted=NEW[::-1])
    assert numbers_of(regnas.compare([old, new], TARGET))[:2] == (["b"], ["d"])
    found = regnas.compare(
        [old, new], TARGET[::-1], ids=list("fedcba"), groups=list("zyxwwu"), slices={"s": [1, 1, 1, 2, 3, 4]}
    )
    assert (numbers_of(found)[:2], found.clusters) == ((["b"], ["d"]), 5)
    flipped = [part.value for part in found["old", "new"].slices["s"].parts if part.negative_flips]
    assert flipped == [3]


def test_groups_and_slices_of_arrays():
    found = regnas.compare(
        {"old": OLD, "new": NEW}, TARGET, groups=["p", "p", "q", "q", "r", "r"], slices={"night": [True, False] * 3}
    )
    assert found.clusters == 3
    assert {part.value: part.nfr for part in found["old", "new"].slices["night"].parts} == {"false": 1 / 3, "true": 0.0}
    frame = pa.table({"country": list("aabbcc")})
    assert set(regnas.compare({"old": OLD, "new": NEW}, TARGET, slices=frame)["old", "new"].slices) == {"country"}
    assert 'slices["age"] cannot be used: it holds floating point numbers' in refusal(
        {"old": OLD, "new": NEW}, TARGET, slices={"age": [0.5] * 6}
    )


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ({"old": OLD, "new": NEW}, {}, 'target must be given, because model "old" is an array'),
        ({"old": OLD, "new": NEW[:5]}, {"target": TARGET}, '"new" must have 6 samples like the first model, got 5'),
        (SIX, {"target": TARGET[:5]}, 'model "old" must have 5 samples like target, got 6'),
        (SIX, {"target": [0, 1, None, 1, 0, 2]}, "target must have a value for every sample"),
        (SIX, {"target": [0, 1, float("nan"), 1, 0, 2]}, "target must have a value for every sample"),
        ({"old": np.r_[OLD[:5], np.nan], "new": NEW}, {"target": TARGET}, '"old" must have a value for every'),
        ({"old": ["a", float("nan")], "new": ["a", "b"]}, {"target": ["a", "b"]}, '"old" must have a value for every'),
        ({"old": [0.2, 0.7], "new": [0, 1]}, {"target": [0, 1]}, '"predicted" must be integers or names, got 0.2'),
        (TWO, {"target": [0.5, 1]}, '"target" must be integers or names, got 0.5'),
        ({"old": np.full((2, 3), np.nan), "new": [0, 1]}, {"target": [0, 1]}, "scores that are not finite in 2 rows"),
        ({"old": np.zeros((2, 1)), "new": [0, 1]}, {"target": [0, 1]}, NOT_CLASSES),
        ({"old": np.zeros((2, 3), int), "new": [0, 1]}, {"target": [0, 1]}, "got int64 of shape [2, 3]"),
        ({"old": np.zeros((2, 3, 4)), "new": [0, 1]}, {"target": [0, 1]}, "got float64 of shape [2, 3, 4]"),
        ({"old": [[0, 1], [0]], "new": [0, 1]}, {"target": [0, 1]}, 'model "old" cannot be read as an array'),
        ({"old": [0, "b"], "new": [0, 1]}, {"target": [0, 1]}, "must be all integers or all text, got int, str"),
        ({"old": [object()], "new": [0]}, {"target": [0]}, "must be all integers or all text, got object"),
        ({"old": 3, "new": [0]}, {"target": [0]}, 'model "old" must be a list or an array, got int'),
        ({"old": {0, 1}, "new": [0, 1]}, {"target": [0, 1]}, 'model "old" must be a list or an array, got set'),
        ({"old": [], "new": []}, {"target": []}, "ids must have at least one sample, got none"),
        ({"old": [0]}, {"target": [0]}, "a comparison must have at least two models, got 1"),
        ({1: [0], "new": [0]}, {"target": [0]}, "names of models must be text, got 1"),
        (np.zeros((2, 4)), {"target": [0] * 4}, "models must be a mapping from names to predictions, or a list"),
        ("old.csv", {}, "models must be a mapping from names to predictions, or a list"),
        ({"old": [0, 1], "new": ["a", "b"]}, {"target": [0, 1]}, "must both be integers or both be names"),
        (TWO, {"target": ["a", "b"]}, "must both be integers or both be names"),
        ({"old": [-1, 1], "new": [1, 1]}, {"target": [1, 1]}, "predicted holds -1, but classes are numbered from 0"),
        (TWO, {"target": [0, 1], "ids": ["a", "a"]}, "ids must differ"),
        (TWO, {"target": [0, 1], "ids": ["a"]}, "must have 1 samples like ids, got 2"),
        (TWO, {"target": [0], "ids": ["a", "b"]}, "target must have one value per id, got 1 for 2"),
        (TWO, {"target": [0, 1], "ids": [0.5, 1.5]}, "ids must be integers or text, got float64"),
        (TWO, {"target": [0, 1], "groups": [1]}, "groups must have 2 values, one per sample, got 1"),
        (TWO, {"target": [0, 1], "slices": {"a": [1]}}, 'slices["a"] must have 2 values'),
        (TWO, {"target": [0, 1], "slices": [1, 2]}, "slices must be a mapping"),
        (TWO, {"target": [[0, 1]]}, "target must have shape [N], got [1, 2]"),
        ({"old": [2**70, 1], "new": [0, 1]}, {"target": [0, 1]}, "must be integers of 64 bits"),
        ({"old": {"predicted": [0, 1]}, "new": [0, 1]}, {}, 'model "old" is an array of predictions without targets'),
        ({"old": {"target": [0, 1]}, "new": [0, 1]}, {}, 'model "old" lacks predicted'),
    ],
    ids=range(37),
)  # fmt: skip
def test_predictions_that_cannot_be_compared_are_refused_in_one_line(models, options, message):
    assert message in refusal(models, **options)


def test_ids_in_some_models_only():
    named, rows = (
        pa.table({"id": [5, 6], "target": [0, 1], "predicted": [0, 0]}),
        pa.table({"target": [0, 1], "predicted": [1, 1]}),
    )
    assert 'model "b" must have ids, like the first model, got none. Pass ids=' in refusal(
        {"a": named, "b": rows}, kind=ArtifactError
    )
    assert 'model "b" must have no ids, like the first model, got some. Pass ids=' in refusal(
        {"a": rows, "b": named}, kind=ArtifactError
    )
    assert regnas.compare({"a": rows, "b": named}, ids=[5, 6])["a", "b"].negative_flip_ids.tolist() == [6]
    assert "has 1 ids that are not among the 2 known: 6" in refusal({"a": named, "b": [0, 1]}, [0, 1], ids=[5, 7])


def test_targets_given_twice_must_agree():
    frame = pa.table({"target": [0, 1], "predicted": [0, 0]})
    assert regnas.compare({"a": frame, "b": [1, 1]}, [0, 1]).samples == 2
    assert 'model "a": column "target" differs from the given targets on 1 of 2 samples, such as 1' in refusal(
        {"a": frame, "b": [1, 1]}, [0, 0]
    )


def test_models_in_a_list_have_names():
    assert regnas.compare([OLD, NEW], TARGET).models == ("model 1", "model 2")
    same = regnas.Predictions("x", np.arange(2), np.array([0, 1]), np.array([0, 1]))
    assert 'two models are called "x"' in refusal([same, same])
    assert regnas.gate(same, same, max_nfr=1).reference == "old"


def test_a_gate_without_limits_reads_nothing():
    with pytest.raises(ConfigurationError, match="at least one limit: `max_nfr`, `max_class_nfr`, `min_accuracy_gain`"):
        regnas.gate("none.csv", "nor.csv")
    with pytest.raises(
        ConfigurationError, match=r"`max_nfr` must be a fraction between 0 and 1, got 2\. Write 0\.02 for 2 %\."
    ):
        regnas.gate("none.csv", "nor.csv", max_nfr=2)
    with pytest.raises(ConfigurationError, match="`max_nfr` must be a fraction between 0 and 1, got 'a'"):
        regnas.gate([0], [0], [0], max_nfr="a")


def test_statuses_of_a_gate():
    target = np.zeros(1000, int)
    new = np.r_[np.ones(10, int), target[10:]]
    statuses = [regnas.gate(target, new, target, max_nfr=limit).status for limit in (0.02, 0.012, 0.003)]
    assert statuses == ["pass", "unresolved", "fail"]
    groups = np.arange(1000) // 500
    assert regnas.gate(target, new, target, max_nfr=0.02, groups=groups).status == "unresolved"


@given(
    st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 3)),
    st.randoms(),
)
def test_rates_are_those_of_numpy_in_any_order_of_the_samples(columns, random):
    target, old, new = map(np.array, columns)
    pair = regnas.compare({"old": old, "new": new}, target)["old", "new"]
    lost = (old == target) & (new != target)
    assert pair.nfr == lost.mean()
    assert pair.negative_flip_ids.tolist() == np.flatnonzero(lost).tolist()
    order = list(range(len(target)))
    random.shuffle(order)
    shuffled = pa.table({"id": order, "target": target[order], "predicted": new[order]})
    first = pa.table({"id": np.arange(len(target)), "target": target, "predicted": old})
    joined = regnas.compare({"old": first, "new": shuffled})["old", "new"]
    assert (joined.nfr, joined.nfr_interval) == (pair.nfr, pair.nfr_interval)
    assert joined.negative_flip_ids.tolist() == pair.negative_flip_ids.tolist()


def test_nothing_is_printed_and_no_argument_changes(capsys, tmp_path):
    target, old, new = np.array(TARGET), np.array(OLD), np.array(NEW)
    before = [each.copy() for each in (target, old, new)]
    found = regnas.compare({"old": old, "new": new}, target)
    assert found.to_html(tmp_path / "x.html") is None
    regnas.gate(old, new, target, max_nfr=0.1)
    assert capsys.readouterr() == ("", "")
    assert all(np.array_equal(*each) for each in zip(before, (target, old, new), strict=True))
    assert Path(tmp_path / "x.html").read_text(encoding="utf-8") == found.to_html()
