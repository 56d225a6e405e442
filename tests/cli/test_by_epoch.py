"""Flips by epoch, from the command to the report."""

from __future__ import annotations

import pytest

from tests.cli.update_runs import change, method_of, nothing_was_trained, results_of

pytestmark = pytest.mark.slow


@pytest.fixture
def config(config):
    change(
        config,
        ("seeds = [0, 1]", "seeds = [0]"),
        ("[methods.ensemble]\nmembers = 2\n[methods.elodi]\nmembers = 2\n", ""),
    )
    return config


def test_an_update_that_is_there_gets_its_curves_and_keeps_them(config, command, tmp_path):
    run = tmp_path / "run"
    assert command("update", config, "--out", run).code == 0
    before = results_of(run)
    assert before["by_epoch"] == []
    assert before["diagnostics"]["methods"][0]["name"] == "none"
    assert before["diagnostics"]["methods"][0]["negative_flips"] == round(
        before["samples"] * method_of(run, "none")["pairs"][0]["nfr"]["mean"]
    )
    assert {each["clipping"]["clip_norm"] for each in before["clipping"]} == {5.0}
    assert "steps after warm-up (clip_norm 5)" in (run / "run.log").read_text()
    labels = ("none", "focal_distillation_lm")
    assert command("update", run, *(f"--by-epoch={label}" for label in labels)).code == 0
    after = results_of(run)
    assert after["methods"] == before["methods"]  # the same networks, trained again for their answers
    assert [course["label"] for course in after["by_epoch"]] == list(labels)
    for course in after["by_epoch"]:
        assert course["epochs"] == [1, 2]
        pair, method = method_of(run, course["label"])["pairs"][0], method_of(run, course["label"])
        assert course["report"]["nfr"][-1] == pytest.approx(pair["nfr"]["mean"])
        assert course["report"]["relative_nfr"][-1] == pytest.approx(pair["relative_nfr"]["mean"])
        assert course["report"]["error_rate"][-1] == pytest.approx(method["error_rates"][-1]["mean"])
    assert (run / "report" / "by-epoch.svg").exists()
    assert command("update", run).code == 0
    assert results_of(run)["by_epoch"] == after["by_epoch"]


def test_methods_without_epochs_are_refused_before_anything_is_trained(config, refusal, tmp_path):
    code, lines = refusal("update", config, "--out", tmp_path / "run", "--by-epoch", "bcwi")
    assert code == 2
    assert lines == [
        "regnas: by_epoch: methods.bcwi must end in one training, got Interpolated, which has no epochs. Leave it out."
    ]
    assert nothing_was_trained(tmp_path)
    code, lines = refusal("update", config, "--out", tmp_path / "run", "--overwrite", "--by-epoch", "kd")
    assert code == 2
    assert lines == [
        'regnas: --by-epoch: by_epoch must name methods, got "kd". Choose from none, focal_distillation_lm, bcwi, all.'
    ]
