"""Clipped steps and diagnostics of a whole run, by two worker processes."""

from __future__ import annotations

import json
import re

import numpy as np


def test_the_run_says_how_many_steps_of_each_training_were_clipped(finished_run):
    noted = json.loads((finished_run / "run.json").read_text())["clipping"]
    steps = 3 * (140 // 32)  # epochs and whole batches of the training split; the first of them is warm-up
    assert noted["supernet"]["steps"] == steps - 1
    own = {name: counts for name, counts in noted.items() if name != "supernet"}
    assert {name.partition(",")[0] for name in own} == {"independent", "focal_distillation_lm", "elodi"}
    assert all(counts["steps"] == steps - 1 for counts in own.values())
    lines = re.findall(r"train (.*): clipped .* % of 11 steps after warm-up", (finished_run / "run.log").read_text())
    assert len(lines) == len(noted)  # workers' trainings too, once each
    assert len(set(lines)) == len(lines)
    worst = max(counts["share"] for counts in noted.values())
    page = (finished_run / "report" / "index.html").read_text()
    (fact,) = re.findall(r"Clipped steps</th><td>(.*)</td>", page)
    assert fact.startswith(f"at most {100 * worst:.1f} %" if worst else "none after warm-up")


def test_the_diagnostics_of_the_family_are_those_of_its_predictions(finished_run):
    """Count again without regnas."""
    small, large = (np.load(finished_run / "predictions" / f"{name}.npz") for name in ("small", "large"))
    flipped = (small["predicted"] == small["target"]) & (large["predicted"] != large["target"])
    family = json.loads((finished_run / "report" / "flips.json").read_text())["diagnostics"]["methods"][0]
    assert (family["name"], family["negative_flips"]) == ("family", int(flipped.sum()))
    wrong = large["predicted"][flipped]
    logits = small["logits"][flipped]
    ranks = 1 + (logits > logits[np.arange(len(wrong)), wrong][:, None]).sum(axis=1)
    expected = [int((ranks == rank).sum()) for rank in range(1, 11)]
    assert family["flips"]["wrong_class_in_reference"]["counts"] == expected
