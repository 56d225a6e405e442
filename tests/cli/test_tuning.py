"""Keys that are "auto", from the command line to the report."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from benchmarks.processes import regnas
from benchmarks.tiny import write_tiny, write_tiny_update
from regnas.flips import load_predictions

pytestmark = pytest.mark.slow

METHODS = 'methods={ none = {}, focal_distillation_lm = { weight = "auto" }, bcwi = { alpha = "auto" } }'


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """An update whose methods were tuned, and its configuration."""
    folder = tmp_path_factory.mktemp("tuned")
    config = write_tiny_update(folder)
    regnas("update", config, "--set", METHODS, "--set", "seeds=[0]", "--out", folder / "run")
    return folder / "run", config


def results_of(run):
    return json.loads((run / "report" / "update.json").read_text())


def test_the_report_shows_grid_choice_and_cost(tuned):
    run, _ = tuned
    results = results_of(run)
    choices = {choice["label"]: choice for choice in results["tuning"]}
    assert set(choices) == {"focal_distillation_lm", "bcwi"}
    for choice in choices.values():
        assert choice["value"] in [each["value"] for each in choice["tried"]]
        assert len(choice["tried"]) >= 4
    # Every value of the weight is a training of its own; those of alpha share the fine-tuning, and it is shorter.
    assert choices["focal_distillation_lm"]["cost"] > len(choices["focal_distillation_lm"]["tried"])
    assert 0 < choices["bcwi"]["cost"] < 1
    page = (run / "report" / "index.html").read_text()
    assert "Chosen on the search split" in page
    assert "Chosen on the search split" in (run / "report" / "update.md").read_text()
    assert "tuned: focal_distillation_lm.weight = " in (run / "run.log").read_text()


def test_the_rows_of_the_report_are_those_of_the_chosen_values(tuned, command, tmp_path):
    run, config = tuned
    (weight,) = [each["value"] for each in results_of(run)["tuning"] if each["label"] == "focal_distillation_lm"]
    fixed = f"methods={{ none = {{}}, focal_distillation_lm = {{ weight = {weight} }} }}"
    assert command("update", config, "--set", fixed, "--set", "seeds=[0]", "--out", tmp_path / "fixed").code == 0
    place = "predictions/seed-0/focal_distillation_lm/new.npz"
    chosen, given = load_predictions(run / place), load_predictions(tmp_path / "fixed" / place)
    assert np.array_equal(chosen.logits, given.logits)


def test_what_was_chosen_is_taken_from_the_configuration_and_trains_nothing_more(tuned, command, tmp_path):
    run, config = tuned
    chosen = (run / "report" / "chosen.toml").read_text()
    written = tmp_path / "again.toml"
    written.write_text(config.read_text() + "\n" + chosen)
    cache = config.parent / "cache"
    before = set(cache.iterdir())
    arguments = ["--set", METHODS, "--set", "seeds=[0]", "--out", tmp_path / "run"]
    assert command("update", written, *arguments).code == 0
    assert set(cache.iterdir()) == before
    again = results_of(tmp_path / "run")
    assert [choice["tried"] for choice in again["tuning"]] == [[], []]
    assert again["methods"] == results_of(run)["methods"]
    assert tomllib.loads(chosen)["chosen"].keys() == {"focal_distillation_lm", "bcwi"}
    assert "chosen by an earlier run" in (tmp_path / "run" / "report" / "update.md").read_text()


def test_tune_chooses_again_and_is_remembered(tuned, command, tmp_path):
    run, config = tuned
    written = tmp_path / "wrong.toml"
    written.write_text(config.read_text() + "\n[chosen.focal_distillation_lm]\nweight = 77.0\n")
    arguments = ["--set", METHODS, "--set", "seeds=[0]", "--out", tmp_path / "run"]
    assert command("update", written, "--tune", *arguments).code == 0
    assert results_of(tmp_path / "run")["tuning"] == results_of(run)["tuning"]
    assert command("update", tmp_path / "run").code == 0  # without the flag, as one continues a run
    assert results_of(tmp_path / "run")["tuning"] == results_of(run)["tuning"]


def test_baselines_of_a_family_are_tuned_and_every_method_can_be_one(command, tmp_path):
    config = write_tiny(tmp_path)
    baselines = (
        'baselines={ independent = {}, focal_distillation_lm = { weight = "auto" }, ensemble = { members = 2 }, '
        "co_training = { weight = 0.1 }, mean_logits = {} }"
    )
    arguments = ["--set", baselines, "--set", "search.candidates=4", "--out", tmp_path / "run"]
    assert command("run", config, *arguments).code == 0
    comparison = json.loads((tmp_path / "run" / "report" / "flips.json").read_text())
    (choice,) = comparison["tuning"]
    assert (choice["label"], choice["key"]) == ("focal_distillation_lm", "weight")
    assert choice["cost"] > 0
    assert (tmp_path / "run" / "report" / "chosen.toml").exists()
    methods = {method["name"]: method for method in comparison["methods"]}
    assert set(methods) >= {"independent", "focal_distillation_lm", "ensemble", "co_training", "mean_logits"}
    plain, two = methods["independent"]["models"][-1], methods["ensemble"]["models"][-1]
    assert two["macs"] == 2 * plain["macs"]
    assert two["parameters"] == 2 * plain["parameters"]
    both = methods["mean_logits"]["models"][1]
    assert both["parameters"] == sum(model["parameters"] for model in methods["independent"]["models"][:2])


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        (
            'methods.focal_distillation_lm.beta="auto"',
            'methods.focal_distillation_lm.beta must be a number, got "auto"',
        ),
        ("chosen.nonsense.weight=1.0", "chosen.nonsense: there is no methods.nonsense"),
        ("chosen.focal_distillation_lm.beta=1.0", "chosen.focal_distillation_lm.beta: focal_distillation_lm has no"),
        ("tuning_seeds=3", "tuning_seeds must be between 1 and the number of seeds, 2, got 3"),
    ],
)
def test_what_cannot_be_chosen_is_refused_before_anything_is_trained(assignment, words, refusal, tmp_path):
    config = write_tiny_update(tmp_path)
    code, (line,) = refusal("update", config, "--set", assignment, "--out", tmp_path / "run")
    assert code == 2
    assert words in line
    assert not (tmp_path / "run").exists()
