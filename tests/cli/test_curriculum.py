"""Every choice in the training of a supernet is a name in the configuration."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.tiny import write_tiny
from regnas.training.checkpoint import last_checkpoint

pytestmark = pytest.mark.slow

LESSON = 'curriculum.lessons.more={ teacher = { name = "%s" }, loss = { name = "%s" }, weight = 0.1 }'


@pytest.mark.parametrize(
    "sets",
    [
        ['curriculum.sub_networks={ name = "nested", random = 1 }'],
        ['curriculum.sub_networks={ name = "attentive", random = 1, pool = 2 }'],
        [LESSON % ("smaller", "focal_distillation_lm")],
        [LESSON % ("moving_average", "centered_logit_distance"), "training.ema_decay=0.9"],
        ['curriculum.shrinking={ name = "progressive", order = ["depth", "expansion", "width"] }'],
    ],
    ids=["nested", "attentive", "smaller", "moving average", "progressive shrinking"],
)
def test_a_supernet_trained_by_another_choice_is_another_supernet(tmp_path, command, sets):
    weights = {}
    for name, changes in (("plain", sets[1:]), ("changed", sets)):
        options = [option for change in [*changes, "training.epochs=1"] for option in ("--set", change)]
        outcome = command("train", write_tiny(tmp_path), "--out", tmp_path / name, *options)
        assert outcome.code == 0, outcome.stderr
        weights[name] = last_checkpoint(tmp_path / name / "supernet").part("model")
    assert any((tensor != weights["changed"][name]).any() for name, tensor in weights["plain"].items())


def test_an_ensemble_of_supernets_is_trained_first_and_counted(tmp_path, command):
    ensemble = 'curriculum.lessons.elodi={ teacher = { name = "ensemble", members = 2 }, loss = { name = "naive" } }'
    ends = 'curriculum.sub_networks={ name = "sandwich", random = 0 }'  # so that every step costs the same
    sets = ["--set", ensemble, "--set", ends, "--set", "training.epochs=1", "--set", "baselines={}"]
    sets += ["--set", "search.candidates=2"]
    run = tmp_path / "run"
    outcome = command("run", write_tiny(tmp_path), "--out", run, *sets)
    assert outcome.code == 0, outcome.stderr
    checkpoints = [last_checkpoint(run / "supernet" / place) for place in ("", "teacher-0", "teacher-1")]
    sums = {sum(tensor.double().sum().item() for tensor in found.part("model").values()) for found in checkpoints}
    assert len(sums) == 3  # each has its own random initialization
    alone = tmp_path / "alone"
    assert command("run", write_tiny(tmp_path), "--out", alone, *sets[2:]).code == 0
    with_teachers, without = (
        json.loads((folder / "report/flips.json").read_text())["methods"][0]["training_macs"] for folder in (run, alone)
    )
    # Three trainings of three passes; in the last one each of the two teachers passes once more.
    assert with_teachers / without == pytest.approx((3 + 3 + 5) / 3)


def test_interpolation_puts_the_supernet_between_its_two_ends(tmp_path, command):
    sets = ["--set", "curriculum.interpolation=0.5", "--set", "baselines={}", "--set", "search.candidates=2"]
    outcome = command("export", write_tiny(tmp_path), "--out", tmp_path / "run", *sets)
    assert outcome.code == 0, outcome.stderr
    folder = tmp_path / "run" / "supernet"
    plain, congruent = (last_checkpoint(folder / end).part("model") for end in ("plain", "congruent"))
    member = load_file(tmp_path / "run" / "family" / "small.safetensors")
    convolutions = {name: tensor for name, tensor in member.items() if tensor.ndim == 4}
    assert convolutions
    for name, tensor in convolutions.items():
        shape = tuple(slice(size) for size in tensor.shape)
        one, other = (end[f"largest.{name}"][shape] for end in (plain, congruent))
        assert not torch.equal(one, other)
        torch.testing.assert_close(tensor, 0.5 * one + 0.5 * other, msg=name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("curriculum.interpolation=0.5", "interpolation needs a lesson whose schedule begins after the start"),
        ('curriculum.sub_networks={ name = "sandwitch" }', 'did you mean "sandwich"'),
        (LESSON % ("moving_average", "naive"), "teacher moving_average needs training.ema_decay above 0"),
        (
            'curriculum.shrinking={ name = "progressive", order = ["kernel"] }',
            "order must name all elastic dimensions (depth, expansion, width), got kernel",
        ),
        ("curriculum.lessons.congruence.weight=-1.0", "weight must be at least 0, got -1.0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_trained(tmp_path, refusal, change, message):
    constant = ["--set", 'curriculum.lessons.congruence.schedule={ name = "constant" }']
    code, lines = refusal("train", write_tiny(tmp_path), "--out", tmp_path / "run", *constant, "--set", change)
    assert code == 2
    assert any(message in line for line in lines), lines
    assert not (tmp_path / "run" / "supernet").exists()
