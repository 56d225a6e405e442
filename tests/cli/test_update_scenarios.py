"""An update study in every scenario that a configuration can describe."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from benchmarks.tiny import write_tiny_update
from regnas.networks import SmallResNet
from tests.cli.update_runs import arrays_of, correct_of, method_of, predicted_by, records, results_of

pytestmark = pytest.mark.slow

LABELS = ["none", "focal_distillation_lm", "ensemble", "elodi", "fine_tuning", "bcwi"]


def network_like(seed=0, classes=3):
    """An old model of the user's own, whose answers are not all the same class."""
    torch.manual_seed(seed)
    network = SmallResNet(widths=(4, 8)).build((1, 8, 8), classes).eval()
    *_, classifier = (module for module in network.modules() if isinstance(module, torch.nn.Linear))
    with torch.no_grad():
        classifier.weight.normal_(0, 2)
        classifier.bias -= network(torch.randn(200, 1, 8, 8)).mean(dim=0)
    return network


def scenario(command, folder, *replacements, sets=()):
    """Run the tiny update with one seed and changed texts; the run folder."""
    config = write_tiny_update(folder)
    text = config.read_text().replace("epochs = 2", "epochs = 1")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
    assignments = [part for each in ("seeds=[0]", *sets) for part in ("--set", each)]
    outcome = command("update", config, "--out", folder / "run", *assignments)
    assert outcome.code == 0, outcome.stderr
    return folder / "run"


def test_more_classes_are_judged_on_the_old_ones(command, tmp_path):
    run = scenario(command, tmp_path, ("samples = 0.5", "classes = 0.67"))
    results = results_of(run)
    assert results["scenario"] == "same architecture, more classes (67% → 100%)"
    targets = np.load(tmp_path / "data.npz")["test_targets"]
    for label in LABELS:
        arrays = {model: arrays_of(run, label, model) for model in ("old", "new")}
        for model, classes in (("old", 2), ("new", 3)):
            judged = np.array([int(name.removeprefix("test/")) for name in arrays[model]["id"]])
            known = np.unique(targets[judged])
            assert len(known) == 2
            np.testing.assert_array_equal(judged, np.flatnonzero(np.isin(targets, known)))
            assert results["samples"] == len(judged)
            assert arrays[model]["logits"].shape == (len(judged), classes)
            assert set(arrays[model]["target"]) == {0, 1}
            np.testing.assert_array_equal(arrays[model]["predicted"], arrays[model]["logits"].argmax(1))


def test_a_new_model_that_starts_from_the_old_weights(command, tmp_path):
    kept = ("[methods.focal_distillation_lm]\n[methods.ensemble]\nmembers = 2\n[methods.elodi]\nmembers = 2\n", "")
    run = scenario(command, tmp_path, kept, sets=["models.new.start=previous"])
    assert results_of(run)["scenario"].endswith("fine-tuned from the old weights")
    started = {}
    for record in records(tmp_path / "cache"):
        trained = record["model"]["Trained"]
        started[trained["chance"]] = trained["start"] and trained["start"]["Trained"]["chance"]
    # bcwi's new model is the plain one here, and costs as much
    assert started == {"old 0": None, "new 0": "old 0", "new 1": "old 0"}
    assert method_of(run, "bcwi")["training_cost"] == 1
    # no treatment is fine-tuning here: no row is added, and bcwi is compared with no treatment
    assert [method["label"] for method in results_of(run)["methods"]] == ["none", "bcwi"]
    assert method_of(run, "bcwi")["counterpart"] == "none"


def test_a_new_model_of_another_architecture(command, tmp_path):
    larger = ("widths = [4, 8] }\n\n[training]", "widths = [4, 12] }\n\n[training]")
    run = scenario(command, tmp_path, larger, ("[methods.bcwi]\n", ""))
    assert results_of(run)["scenario"] == "other architecture, more samples (50% → 100%)"
    assert [method["label"] for method in results_of(run)["methods"]] == LABELS[:-2]
    network = SmallResNet(widths=(4, 12)).build((1, 8, 8), 3)
    assert method_of(run, "none")["parameters"] == sum(weight.numel() for weight in network.parameters())


def test_a_chain_of_three_with_every_kind_of_references(command, tmp_path):
    middle = '[models.middle]\nnetwork = { name = "small_resnet", widths = [4, 8] }\nsamples = 0.7\n\n[models.new]'
    run = scenario(
        command,
        tmp_path,
        ("[models.new]", middle),
        ("[methods.none]\n", ""),
        ("[methods.bcwi]\n", ""),
        ("[methods.ensemble]\nmembers = 2\n", ""),
        sets=['references=["chain", "radial", "fc", "untargeted"]'],
    )
    results = results_of(run)
    assert results["scenario"] == "same architecture, more samples (50% → 70% → 100%), a chain of 3"
    variants = [f"focal_distillation_lm-{kind}" for kind in ("chain", "radial", "fc", "untargeted")]
    assert [method["label"] for method in results["methods"]] == [*variants, "elodi"]
    assert len({method["title"] for method in results["methods"]}) == 5
    for method in results["methods"]:
        correct = {model: correct_of(run, method["label"], model) for model in ("old", "middle", "new")}
        rates = {(pair["reference"], pair["new"]): pair["nfr"]["mean"] for pair in method["pairs"]}
        assert rates == pytest.approx(
            {
                (old, new): (correct[old] & ~correct[new]).mean()
                for old, new in (("old", "middle"), ("old", "new"), ("middle", "new"))
            }
        )
    assert (run / "report" / "pairwise.svg").exists()
    logits = [{model: arrays_of(run, label, model)["logits"] for model in results["models"]} for label in variants]
    chain, radial, fully, untargeted = logits
    for other in (radial, fully):  # with one ancestor they are the same, with two they are not
        np.testing.assert_array_equal(other["middle"], chain["middle"])
        assert not np.array_equal(other["new"], chain["new"])
    assert not np.array_equal(untargeted["middle"], chain["middle"])
    assert results["methods"][3]["pairs"][0]["nfr_difference"] is None  # nothing was treated


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_a_given_old_model_stays_as_it_is_with_every_method(command, tmp_path, suffix):
    network, path = network_like(), tmp_path / f"old.{suffix}"
    if suffix == "pt":
        torch.save({"epoch": 7, "state_dict": network.state_dict()}, path)
    else:
        save_file(network.state_dict(), path)
    run = scenario(command, tmp_path, ("samples = 0.5", f'samples = 0.5\ncheckpoint = "{path}"'))
    expected = predicted_by(network, run, np.load(tmp_path / "data.npz")["test_images"])
    assert len(set(expected.tolist())) > 1
    for label in LABELS:
        np.testing.assert_array_equal(arrays_of(run, label, "old")["predicted"], expected)
    assert not any("old" in record["model"]["Trained"]["chance"] for record in records(tmp_path / "cache"))


def test_a_given_old_model_with_fewer_classes_has_the_first_classes_of_the_data(command, tmp_path):
    """Its outputs already stand for classes, so the classes are not chosen at random."""
    network, path = network_like(seed=3, classes=2), tmp_path / "old.pt"
    torch.save(network.state_dict(), path)
    run = scenario(command, tmp_path, ("samples = 0.5", f'classes = 0.67\ncheckpoint = "{path}"'))
    data = np.load(tmp_path / "data.npz")
    first = data["test_targets"] < 2
    for label in LABELS:
        arrays = arrays_of(run, label, "old")
        np.testing.assert_array_equal(arrays["target"], data["test_targets"][first])
        np.testing.assert_array_equal(arrays["predicted"], predicted_by(network, run, data["test_images"][first]))


def test_no_treatment_is_recognized_by_its_name_under_any_label(command, tmp_path):
    run = scenario(command, tmp_path, ("[methods.none]", '[methods.plain]\nname = "none"'))
    assert (method_of(run, "plain")["name"], method_of(run, "bcwi")["name"]) == ("none", "bcwi")
    assert "no treatment" in (run / "report" / "update.md").read_text().partition("## Methods")[0]
