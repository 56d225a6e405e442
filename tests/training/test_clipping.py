"""Clipped steps are counted as defined, whatever interrupts the training, and the end of an epoch changes nothing."""

from __future__ import annotations

import json
import logging
import math

import pytest
import torch
from torch import nn

from regnas.components.builder import Builder
from regnas.errors import Interrupted
from regnas.runtime import signals
from regnas.training import RECIPE_PARTS, Clipping, Recipe, SingleNetwork
from regnas.training.checkpoint import last_checkpoint, save_checkpoint
from tests.training.test_trainer import StopAt, network, same, state, trainer

# The norms of the twelve steps. The first (progress 0) is warm-up: the second is at 1/12, above 5 %.
NORMS = [9.0, 1.0, 3.0, 2.0, 5.0, 0.5, 0.0, 2.5, 1.0, 1.0, 8.0, 1.0]


class Single(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))


class WithNorms(StopAt):
    """The gradient of step n is NORMS[n]."""

    def __call__(self, model, step):
        super().__call__(network(), step)
        return NORMS[step.index] * model.weight.sum()


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


def test_steps_above_the_norm_are_counted_after_the_warm_up(tmp_path):
    found = trainer(clip_norm=2.0).train(Single(), WithNorms(None), (0,), tmp_path, "")
    assert found == Clipping(2.0, steps=11, clipped=4)  # 3, 5, 2.5 and 8; neither the first 9 nor the 2 itself
    assert found.share == pytest.approx(4 / 11)
    assert str(found) == "clipped 36.4 % of 11 steps after warm-up (clip_norm 2)"
    assert Clipping.from_json(found.to_json()) == found


def test_the_warm_up_is_the_first_twentieth():
    counts = Clipping(1.0)
    for step in range(100):
        counts = counts.after(step / 100, norm=2.0)
    assert (counts.steps, counts.clipped) == (95, 95)


@pytest.mark.parametrize("stop", [2, 5, 7])
def test_an_interruption_loses_no_count(tmp_path, stop):
    with pytest.raises(Interrupted):
        trainer(clip_norm=2.0).train(Single(), WithNorms(stop), (0,), tmp_path, "")
    signals._received.clear()
    assert trainer(clip_norm=2.0).train(Single(), WithNorms(None), (0,), tmp_path, "") == Clipping(2.0, 11, 4)
    loaded = trainer(clip_norm=2.0).train(Single(), WithNorms(None), (0,), tmp_path, "")  # finished: only loaded
    assert loaded == Clipping(2.0, 11, 4)


def test_a_checkpoint_of_an_earlier_version_has_no_counts_and_what_follows_is_counted(tmp_path):
    with pytest.raises(Interrupted):
        trainer(clip_norm=2.0).train(Single(), WithNorms(6), (0,), tmp_path, "")
    signals._received.clear()
    kept = last_checkpoint(tmp_path)
    save_checkpoint(tmp_path, kept.step, {part: kept.part(part) for part in ("model", "momentum", "ema")})
    found = trainer(clip_norm=2.0).train(Single(), WithNorms(None), (0,), tmp_path, "")
    assert found == Clipping(2.0, steps=5, clipped=2)  # 2.5 and 8


def test_a_training_with_a_description_logs_one_line_and_one_that_is_loaded_none(tmp_path, caplog):
    caplog.set_level(logging.INFO, "regnas")
    trainer(clip_norm=2.0).train(Single(), WithNorms(None), (0,), tmp_path / "silent", "")
    assert caplog.messages == []
    for _ in range(2):
        trainer(clip_norm=2.0).train(Single(), WithNorms(None), (0,), tmp_path / "told", "train it")
    assert caplog.messages == ["train it: clipped 36.4 % of 11 steps after warm-up (clip_norm 2)"]


def test_without_clipping_no_step_is_shortened_and_the_record_is_json(tmp_path, caplog):
    caplog.set_level(logging.INFO, "regnas")
    builder = Builder(RECIPE_PARTS)
    recipe = builder.record(Recipe, {"clip_norm": "none"}, "training")
    model = Single()
    settings = {"momentum": 0.0, "weight_decay": 0.0, "ema_decay": 0.0}
    run = trainer(clip_norm=recipe.clip_norm, **settings)
    found = run.train(model, WithNorms(None), (0,), tmp_path, "train it")
    steps = [run.recipe.learning_rate_at(index / 12) * norm for index, norm in enumerate(NORMS)]
    assert float(model.weight.detach()) == pytest.approx(-sum(steps), rel=1e-5)
    assert Clipping.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found
    assert caplog.messages == ["train it: gradients are not clipped"]


@pytest.mark.parametrize("value", ["off", 0, -1.0, True, math.inf])
def test_other_limits_are_refused(value):
    builder = Builder(RECIPE_PARTS)
    builder.record(Recipe, {"clip_norm": value}, "training")
    assert 'clip_norm must be a positive number, or "none"' in builder.problems[0]


# The end of an epoch


def test_what_looks_on_after_every_epoch_changes_no_bit(tmp_path):
    """Even if it ruins what it is given; with a moving average, momentum and batch norm."""
    alone, watched, seen = network(), network(), []

    def ruin(epochs_done, shown):
        seen.append((epochs_done, state(shown)))
        shown.train()(torch.randn(8, 1, 6, 6)).sum().backward()
        with torch.no_grad():
            for parameter in shown.parameters():
                parameter.zero_()

    trainer().train(alone, SingleNetwork(), (0,), tmp_path / "alone", "")
    trainer().train(watched, SingleNetwork(), (0,), tmp_path / "watched", "", after_epoch=ruin)
    assert same(state(watched), state(alone))
    assert [epochs for epochs, _ in seen] == [1, 2, 3]
    assert same(seen[-1][1], state(alone))  # the last one shown is what comes out, the moving average in place
    assert not same(seen[0][1], seen[1][1])
