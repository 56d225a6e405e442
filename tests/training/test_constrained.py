"""The multiplier of a constraint, and what a step under it minimizes."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regnas.data import Preprocessing, Split
from regnas.training import ConstrainedObjective, HeldOut, Step, WithMultipliers
from regnas.training.constrained import MEMORY, batch_statistics
from regnas.training.trainer import _parts


class Pixels(nn.Module):
    """Logits are a linear function of the four pixels; counts its calls."""

    def __init__(self, classes=3):
        super().__init__()
        self.layer = nn.Linear(4, classes)
        self.calls = 0

    def forward(self, images):
        self.calls += 1
        return self.layer(images.flatten(1))


NONE = Preprocessing((0.0,), (1.0,))


def held_out(samples=12, correct=None, batch_size=8):
    random = np.random.default_rng(0)
    images = torch.from_numpy(random.integers(0, 256, (samples, 1, 2, 2)).astype(np.uint8))
    numbers = np.arange(samples)
    split = Split("held out", images, torch.arange(samples) % 3, np.array([f"s{n}" for n in numbers]), numbers)
    right = torch.ones(1, samples, dtype=torch.bool) if correct is None else correct
    return HeldOut(split, right, NONE, batch_size, ("key",))


def objective(olds, **changes):
    settings = {"held_out": held_out(), "target": 0.1, "rate": 1.0, "steps_per_epoch": 4, "name": "test"}
    return ConstrainedObjective(olds=olds, **(settings | changes))


def batch(index=0, samples=5):
    images = torch.randn(samples, 1, 2, 2, generator=torch.Generator().manual_seed(index))
    return Step(images, torch.arange(samples) % 3, torch.arange(samples), index=index, progress=0.0)


def constrained(count=1, multiplier=0.0, epochs=3):
    torch.manual_seed(2)
    model = WithMultipliers(Pixels(), count, epochs)
    model.multiplier.fill_(multiplier)
    return model


# Dual ascent


def test_the_multiplier_rises_by_the_rate_while_the_target_is_missed_and_falls_to_zero_when_it_is_met():
    model = constrained()
    for _ in range(30):
        model.ascend(torch.tensor([0.5]), target=0.01, rate=0.25)
    assert model.multiplier.item() == pytest.approx(30 * 0.25)  # the violation is clamped to 1
    rises = []
    for _ in range(200):
        before = model.multiplier.item()
        model.ascend(torch.tensor([0.0]), target=0.01, rate=0.25)
        rises.append(model.multiplier.item() - before)
    assert rises[-1] == 0.0
    assert model.multiplier.item() == 0.0
    assert all(later <= earlier for earlier, later in itertools.pairwise(rises[:60]))


def test_at_the_target_the_multiplier_stays():
    model = constrained(multiplier=3.0)
    for _ in range(10):
        model.ascend(torch.tensor([0.25]), target=0.25, rate=1.0)
    assert model.multiplier.item() == 3.0


def test_the_rate_is_averaged_over_the_last_batches():
    model, seen, average = constrained(), np.random.default_rng(0).random(50), 0.0
    for count, value in enumerate(seen, start=1):
        model.ascend(torch.tensor([value], dtype=torch.float32), target=0.3, rate=0.1)
        average += (value - average) / min(count, MEMORY)
        assert model.flip_rate.item() == pytest.approx(average, rel=1e-4)
    assert MEMORY < 50


def test_each_old_model_has_a_multiplier_of_its_own():
    model = constrained(2, multiplier=1.0)
    model.ascend(torch.tensor([0.9, 0.0]), target=0.1, rate=0.5)
    assert model.multiplier.tolist() == [1.5, 0.5]


# Held-out batches


def test_flips_are_counted_where_the_old_model_is_correct_and_the_network_wrong():
    correct = torch.arange(12) % 2 == 0
    held, network = held_out(correct=correct[None], batch_size=12), Pixels()
    images = NONE(held.split.images)
    wrong = network(images).argmax(1) != held.split.targets
    by_hand = (correct & wrong).float().mean().item()
    assert 0 < by_hand < 1
    assert held.flip_rates(network, 0, torch.device("cpu")).tolist() == pytest.approx([by_hand])


def test_the_batch_is_drawn_by_the_step():
    held = held_out(samples=40, batch_size=6)
    asked = []

    class Watch(Pixels):
        def forward(self, images):
            asked.append(images.clone())
            return super().forward(images)

    network = Watch()
    for index in (0, 1, 0):
        held.flip_rates(network, index, torch.device("cpu"))
    assert torch.equal(asked[0], asked[2])
    assert not torch.equal(asked[0], asked[1])
    assert len(asked[0]) == 6


def test_measuring_leaves_the_network_as_it_was():
    network = nn.Sequential(nn.Conv2d(1, 3, 1), nn.BatchNorm2d(3), nn.Dropout(0.5), nn.Flatten()).train()
    statistics = network[1].running_mean.clone(), network[1].running_var.clone()
    images = torch.randn(8, 1, 2, 2)
    with torch.no_grad(), batch_statistics(network):
        found = network(images)
    hidden = network[0](images)
    normed = (hidden - hidden.mean((0, 2, 3), keepdim=True)) / (
        hidden.var((0, 2, 3), correction=0, keepdim=True) + 1e-5
    ).sqrt()
    torch.testing.assert_close(found, normed.flatten(1))  # statistics of the batch, and no dropout
    assert torch.equal(network[1].running_mean, statistics[0])
    assert torch.equal(network[1].running_var, statistics[1])
    assert network[1].momentum == 0.1
    assert all(module.training for module in network.modules())


# The step


def test_the_loss_is_the_lagrangian_divided_by_one_plus_the_multipliers():
    model, olds, step = constrained(2, multiplier=2.0), [Pixels(), Pixels()], batch()
    model.updates.fill_(1)  # no ascent in this step
    loss = objective(olds)(model, step)
    logits = model.network(step.images)
    total = F.cross_entropy(logits, step.targets)
    for old in olds:
        reference, hinge = old(step.images), torch.zeros(())
        for row, target, known in zip(logits, step.targets.tolist(), reference, strict=True):
            if int(known.argmax()) == target:
                others = max(row[k] for k in range(3) if k != target)
                hinge = hinge + torch.relu(1 - (row[target] - others))
        total = total + 2.0 * hinge / 5
    torch.testing.assert_close(loss, total / 5)  # 1 + 2 + 2
    loss.backward()
    assert all(parameter.grad is None for old in olds for parameter in old.parameters())


def test_a_batch_in_parts_ascends_once():
    model, task = constrained(), objective([Pixels()])
    for part, weight in _parts(batch(index=0, samples=6), 3):
        (weight * task(model, part)).backward()
    assert model.updates.item() == 1
    assert model.network.calls == 3 + 1


def test_the_log_has_the_multiplier_and_the_flip_rate_of_every_epoch(caplog):
    model, task = constrained(), objective([Pixels()], steps_per_epoch=2)
    expected = []
    with caplog.at_level(logging.INFO, "regnas"):
        for index in range(4):
            task(model, batch(index))
            if index % 2:
                expected.append((model.multiplier.item(), model.flip_rate.item()))
    for epoch, (message, (multiplier, rate)) in enumerate(zip(caplog.messages, expected, strict=True), start=1):
        assert message == f"test: epoch {epoch}: multiplier {multiplier:.3f}, held-out NFR {rate:.2%}"
    torch.testing.assert_close(model.history[:2, :, 0], torch.tensor(expected))
    assert model.history[2].abs().sum() == 0


def test_the_state_of_the_constraint_is_in_the_state_of_the_module():
    model, task = constrained(), objective([Pixels()])
    for index in range(5):
        task(model, batch(index))
    again = constrained()
    again.load_state_dict(model.state_dict())
    for index in (5, 6):
        for each in (model, again):
            task(each, batch(index))
    for name in ("multiplier", "flip_rate", "updates", "history"):
        assert torch.equal(getattr(model, name), getattr(again, name))
    assert {name for name, _ in model.named_parameters()} == {"network.layer.weight", "network.layer.bias"}


def test_the_old_models_see_the_batch_of_the_step():
    old = Pixels()
    model = constrained()
    objective([old])(model, replace(batch(), index=0))
    assert old.calls == 1
