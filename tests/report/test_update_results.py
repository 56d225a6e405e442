"""The results of an update as values: to JSON and back, in other forms, and from damaged files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import diagnose
from regnas.report.diagnostics import diagnostics_of
from regnas.report.tuning import Choice, Tried
from regnas.report.update.curves import EpochRates, FlipsByEpoch, SplitRates
from regnas.report.update.methods import SeedPair
from regnas.report.update.results import ClippedSteps, TrainingClipping, UpdateResult
from regnas.runtime.files import unsealed

from .test_diagnostics import NEW, OLD
from .update_helpers import difference, method, none, realistic, sweep, update, with_pairs

REMEDY = "Write it with `regnas update runs/x`."


def whole() -> UpdateResult:
    """Results that have a value in every place."""
    of_seed = SeedPair(0, 0.1, 0.2, (0.05, 0.15), 0.1, (0.0, 0.2), 0.5, 1.0)
    elodi = method("elodi", [(0.2, 0.2), (0.1, 0.1)], [(0.01, 0.02)], difference(-0.02), difference(0.0))
    rates = SplitRates(9, (0.3,), (0.1,), (0.5,), (EpochRates((0.3,), (0.1,), (0.5,)),))
    return update(
        none(on_front=True),
        with_pairs(elodi, {"by_seed": (of_seed,)}),
        sweeps=(sweep(), sweep(None)),
        tuning=(Choice("elodi", "alpha", 0.5, (Tried(0.5, 0.1, 0.01),), False, True, 12, 1.5),),
        diagnostics=diagnostics_of("old", "new", [("none", "No treatment", diagnose([(OLD, NEW)]))]),
        by_epoch=(FlipsByEpoch("none", "No treatment", "old", "new", rates, rates, (1,)),),
        clipping=(
            TrainingClipping("none", "old 12ab", 0, ClippedSteps(5.0, 100, 3, 0.03)),
            TrainingClipping("elodi", "", None, None),
        ),
        facts={"Folder": "caf\udce9"},
    )


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "update.json"
    path.write_bytes(whole().to_json().encode("utf-8", "backslashreplace"))
    assert UpdateResult.read(path, REMEDY) == whole()


def test_the_keys_of_the_json_are_these() -> None:
    content = whole().to_dict()
    assert unsealed(json.loads(whole().to_json()), "the text") == content
    assert list(content) == [
        "title", "scenario", "models", "seeds", "samples", "clusters", "interval_level", "noise_floor", "methods",
        "sweeps", "facts", "tuning", "diagnostics", "by_epoch", "clipping",
    ]  # fmt: skip
    made = content["methods"][1]
    assert list(made) == [
        "name", "label", "title", "description", "counterpart", "error_rates", "pairs", "mean_nfr",
        "mean_nfr_difference", "mean_nfr_difference_to_none", "error_rate_difference", "error_rate_difference_to_none",
        "parameters", "training_cost", "on_front",
    ]  # fmt: skip
    assert made["error_rates"][0] == {"model": "old", "mean": 0.2, "spread": 0.0, "values": [0.2, 0.2]}
    assert list(made["error_rates"][0]) == ["model", "mean", "spread", "values"]
    assert list(made["mean_nfr"]) == ["mean", "spread", "values", "interval"]
    assert list(made["pairs"][0]) == [
        "reference", "new", "nfr", "nfr_interval", "relative_nfr", "pfr", "nfr_difference", "nfr_difference_to_none",
        "by_seed",
    ]  # fmt: skip
    assert list(made["pairs"][0]["by_seed"][0]) == [
        "seed", "nfr", "pfr", "nfr_interval", "accuracy_difference", "accuracy_difference_interval", "mcnemar_p",
        "mcnemar_p_corrected",
    ]  # fmt: skip
    assert list(content["sweeps"][0]["points"][0]) == [
        "value", "error_rate", "nfr", "relative_nfr", "error_rate_difference", "search_error_rate", "search_nfr",
    ]  # fmt: skip
    assert list(content["diagnostics"]["methods"][0]) == [
        "name", "title", "margin_edges", "margin_quantiles", "samples", "negative_flips", "reference_uncertainty",
        "new_uncertainty", "flips", "common_errors",
    ]  # fmt: skip
    assert list(content["by_epoch"][0]) == ["label", "title", "reference", "new", "train", "report", "epochs"]
    assert list(content["tuning"][0]) == [
        "label", "key", "value", "tried", "eligible", "at_edge", "training_macs", "cost",
    ]  # fmt: skip


REMOVED = object()


def changed(content: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    inner: Any = content
    for part in place[:-1]:
        inner = inner[part]
    if value is REMOVED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return content


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (("methods",), REMOVED, " must have methods, got none"),
        (("methods", 1, "label"), REMOVED, " must have methods[1].label, got none"),
        (("methods", 1, "mean_nfr", "mean"), "much", ': methods[1].mean_nfr.mean must be a number, got "much"'),
        (("methods", 0, "pairs", 0, "nfr"), None, ": methods[0].pairs[0].nfr must be an object, got null"),
        (("methods", 0, "pairs", 0, "nfr_interval"), [0.1], " must have methods[0].pairs[0].nfr_interval[1], got none"),
        (
            ("methods", 0, "pairs", 0, "nfr_interval"),
            [0, 1, 2],
            ": methods[0].pairs[0].nfr_interval must be shorter, got a list of 3",
        ),
        (("methods", 0, "counterpart"), "elodi", ": methods[0].counterpart must be 'none' or 'fine_tuning', got \"elo"),
        (("methods", 1, "pairs"), [], ": methods[1].pairs must have 1 entries for 2 models, got 0"),
        (("sweeps",), {}, ": sweeps must be a list, got an object"),
        (("seeds", 1), 0.5, ": seeds[1] must be a whole number, got 0.5"),
        (("title",), 7, ": title must be a text, got 7"),
        (("facts",), ["x" * 99], ": facts must be an object, got a list of 1"),
        (("diagnostics", "methods", 0, "flips"), 1, ": diagnostics.methods[0].flips must be an object, got 1"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_the_key(tmp_path: Path, place: Any, value: Any, problem: str) -> None:
    path = tmp_path / "update.json"
    path.write_text(json.dumps(changed(whole().to_dict(), place, value)))
    with pytest.raises(ArtifactError) as caught:
        UpdateResult.read(path, REMEDY)
    assert str(caught.value).startswith(f"{path}{problem}")
    assert str(caught.value).endswith(f". {REMEDY}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [("[]", "update.json is damaged: it must hold a table, got list"), ("{", "update.json is damaged: it is not JSON")],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "update.json").write_text(content)
    with pytest.raises(ArtifactError, match=problem):
        UpdateResult.read(tmp_path / "update.json", REMEDY)


def test_a_method_is_found_by_its_label() -> None:
    results = whole()
    assert results["elodi"] is results.methods[1]
    assert [each.label for each in results] == ["none", "elodi"]
    assert results.untreated is results["none"]
    assert results["elodi"].error_rate.mean == 0.1
    assert results["elodi"].mean_nfr_difference.interval == pytest.approx((-0.022, -0.018))
    with pytest.raises(KeyError) as caught:
        results["elod"]
    assert isinstance(caught.value, ConfigurationError)
    assert str(caught.value) == 'no method "elod"; did you mean "elodi"? (methods: none, elodi)'


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_a_frame_has_one_row_per_method(library: str) -> None:
    pytest.importorskip(library)
    frame = whole().to_frame(library=library)
    rows = frame.to_dict("records") if library == "pandas" else frame.to_pylist()
    plain, elodi = rows
    assert (plain["method"], plain["title"], plain["on_front"]) == ("none", "No treatment", True)
    assert (elodi["error_rate"], elodi["error_rate_spread"]) == (0.1, 0.0)
    assert elodi["mean_nfr"] == pytest.approx(0.015)
    assert (elodi["mean_nfr_difference"], elodi["mean_nfr_difference_low"]) == (-0.02, -0.022)
    assert (elodi["parameters"], elodi["training_cost"], elodi["counterpart"]) == (12345, 1.0, "none")
    if library == "pyarrow":
        assert plain["mean_nfr_difference"] is None


def test_a_frame_by_pair_has_the_pairs_of_a_chain() -> None:
    rows = realistic(3, ("a", "b", "c")).to_frame("pair", library="pyarrow").to_pylist()
    assert [(row["reference"], row["new"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")] * 3
    assert {"nfr", "nfr_spread", "nfr_low", "nfr_high", "relative_nfr", "pfr", "nfr_difference_low"} <= set(rows[0])
    with pytest.raises(ConfigurationError, match="by must be None or \"pair\", got 'seed'"):
        realistic(3).to_frame("seed")  # type: ignore[arg-type]


def test_the_page_is_returned_or_written(tmp_path: Path) -> None:
    page = whole().to_html()
    assert page is not None
    assert page.startswith("<!DOCTYPE html>")
    assert r"caf\udce9" in page
    assert whole().to_html(tmp_path / "page.html") is None
    assert (tmp_path / "page.html").read_text() == page


def test_results_show_themselves() -> None:
    results = update(
        none(on_front=True),
        method("<b>", [(0.2, 0.22), (0.11, 0.11)], [(0.01, 0.012)], difference(-0.031), difference(0.0)),
    )
    assert repr(results) == (
        "Update update_test, old → new, 4,768 samples, 2 seeds\n"
        "  none: error rate 11.00 ± 1.41 %, NFR 4.20 ± 0.28 %\n"
        "  <b>: error rate 11.00 ± 0.00 %, NFR 1.10 ± 0.14 % (-3.10 [-3.30, -2.90] points)"
    )
    shown = results._repr_html_()
    assert "&lt;b&gt; has the fewest negative flips" in shown
    assert "<td>-3.10 [-3.30, -2.90]</td>" in shown
    assert "<b>" not in shown
    chain = replace(realistic(2, ("a", "b", "c"), 1), title="chain")
    assert repr(chain).startswith("Update chain, a → b → c, 4,768 samples, 1 seed\n  none: error rate ")
    assert "mean NFR" in repr(chain)
