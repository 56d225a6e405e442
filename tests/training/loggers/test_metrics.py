from __future__ import annotations

import json
import logging
import math
import signal
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode

from regnas.errors import EnvironmentProblem, Interrupted
from regnas.runtime import signals
from regnas.training import Clipping, SingleNetwork
from regnas.training.loggers import METRICS, LoggedTraining, Metrics, RunLoggers, metrics
from regnas.training.loggers.metrics import LINES_PER_EPOCH
from tests.training.test_trainer import StopAt, files, network, trainer


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


def lines(folder):
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


class Steep:
    """A loss with a gradient of a known norm."""

    def __init__(self):
        self.values = []

    def __call__(self, model, step):
        loss = 1000 * model.weight.sum() + 0 * model.bias.sum()
        self.values.append(float(loss.detach()))
        return loss


def test_a_line_has_the_values_of_its_step(tmp_path):
    run, steep = trainer(epochs=2, clip_norm=0.5, weight_decay=0.0, ema_decay=0.0), Steep()
    run.train(nn.Linear(1, 4), steep, (0,), tmp_path, "")
    found = lines(tmp_path)
    assert [line["step"] for line in found] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [line["epoch"] for line in found] == [index / 4 for index in range(1, 9)]
    assert [line["loss"] for line in found] == pytest.approx(steep.values, rel=1e-6)
    assert [line["gradient_norm"] for line in found] == pytest.approx([1000 * math.sqrt(4)] * 8)
    rates = [run.recipe.learning_rate_at(index / 8) for index in range(8)]
    assert [line["learning_rate"] for line in found] == pytest.approx(rates, rel=1e-6)
    assert [line["clipped_share"] for line in found] == [0.0, *[1.0] * 7]  # the first step belongs to the warm-up


def test_a_line_has_the_means_since_the_line_before_and_every_epoch_ends_with_one(tmp_path):
    per_epoch = 2 * LINES_PER_EPOCH + 51  # three steps per line; the last line of an epoch has two
    with Metrics.open(RunLoggers(), "a", tmp_path, 0, per_epoch + 2, per_epoch) as record:
        for step in range(1, per_epoch + 3):
            record.add(step, float(step), torch.tensor(2.0 * step), 0.1, Clipping(5.0, 4, step % 2))
    found = lines(tmp_path)
    ends = [*range(3, per_epoch, 3), per_epoch, per_epoch + 2]
    assert [line["step"] for line in found] == ends
    assert len(found) <= LINES_PER_EPOCH + 1
    starts = [1, *(end + 1 for end in ends)]
    assert [line["loss"] for line in found] == [(a + b) / 2 for a, b in zip(starts, ends, strict=False)]
    assert all(line["gradient_norm"] == 2 * line["loss"] for line in found)
    assert [line["clipped_share"] for line in found] == [0.25 * (end % 2) for end in ends]


@pytest.mark.parametrize("stop", [0, 2, 5, 10])
def test_a_training_that_was_interrupted_inside_an_interval_ends_with_the_same_file(tmp_path, stop, monkeypatch):
    monkeypatch.setattr(metrics, "LINES_PER_EPOCH", 2)
    trainer().train(network(), SingleNetwork(), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted):
        trainer().train(network(), StopAt(stop), (0,), tmp_path / "broken", "")
    signals._received.clear()
    trainer().train(network(), SingleNetwork(), (0,), tmp_path / "broken", "")
    assert [line["step"] for line in lines(tmp_path / "unbroken")] == [2, 4, 6, 8, 10, 12]
    assert files(tmp_path / "broken") == files(tmp_path / "unbroken")


def test_lines_after_the_checkpoint_of_a_killed_training_are_dropped(tmp_path):
    trainer().train(network(), SingleNetwork(), (0,), tmp_path, "")
    whole = files(tmp_path)
    with pytest.raises(Interrupted):
        trainer().train(network(), StopAt(3), (0,), tmp_path / "killed", "")
    with (tmp_path / "killed" / METRICS).open("a") as file:
        file.write('{"step": 5, "loss": 99.0}\n{"step": 6, "lo')
    signals._received.clear()
    trainer().train(network(), SingleNetwork(), (0,), tmp_path / "killed", "")
    assert files(tmp_path / "killed") == whole


@pytest.mark.parametrize("damage", [b"\xff\xfe\x00", b"[1]\n", b'{"step": "one"}\n', b"[" * 100_000])
def test_a_damaged_record_does_not_stop_a_training(tmp_path, damage):
    (tmp_path / METRICS).write_bytes(damage)
    trainer(epochs=1).train(network(), SingleNetwork(), (0,), tmp_path, "")
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 3, 4]


def test_a_finished_training_keeps_its_record_and_opens_no_log(tmp_path):
    run = trainer(epochs=1)
    run.train(network(), SingleNetwork(), (0,), tmp_path, "")
    before = files(tmp_path)
    replace(run, loggers=RunLoggers((Failing("open"),))).train(network(), SingleNetwork(), (0,), tmp_path, "")
    assert files(tmp_path) == before


def test_a_step_does_not_read_values_of_a_device(tmp_path):
    """Reading a fake tensor fails, as it has no values."""
    with Metrics.open(RunLoggers(), "a", tmp_path, 0, 10_000, 10_000) as record, FakeTensorMode():
        for step in range(1, 100):
            record.add(step, torch.ones((), device="cuda"), torch.ones((), device="cuda"), 0.1, Clipping(5.0))
        with pytest.raises(Exception, match=r"_local_scalar_dense"):
            record.add(100, torch.ones((), device="cuda"), torch.ones((), device="cuda"), 0.1, Clipping(5.0))


def test_values_that_are_not_finite_are_left_out(tmp_path):
    with Metrics.open(RunLoggers(), "a", tmp_path, 0, 1, 1) as record:
        record.add(1, 0.5, math.inf, 0.1, Clipping(5.0))
    assert lines(tmp_path) == [{"step": 1, "epoch": 1.0, "loss": 0.5, "learning_rate": 0.1, "clipped_share": 0.0}]


@dataclass(frozen=True)
class Failing:
    """A logger that fails in one of its calls."""

    where: str

    def open(self, training):
        return FailingLog(self._fail("open"), self)

    def _fail(self, where):
        if where == self.where:
            raise ConnectionError("no server\nfor you")


@dataclass(frozen=True)
class FailingLog:
    nothing: None
    logger: Failing

    def log(self, step, values):
        self.logger._fail("log")

    def close(self, finished):
        self.logger._fail("close")


@pytest.mark.parametrize("where", ["log", "close"])
def test_a_logger_that_fails_during_a_training_does_not_stop_it(tmp_path, where, caplog):
    run = replace(trainer(epochs=1), loggers=RunLoggers((Failing(where), Remembering.new())))
    with caplog.at_level(logging.WARNING, "regnas"):
        run.train(network(), SingleNetwork(), (0,), tmp_path, "")
    assert caplog.messages == ["the logger Failing failed and gets no more values: no server"]
    assert [step for step, _ in Remembering.logged] == [1, 2, 3, 4]


def test_a_logger_that_cannot_open_its_log_is_refused_before_the_first_step(tmp_path):
    watch = StopAt(None)
    run = replace(trainer(epochs=1), loggers=RunLoggers((Failing("open"),)))
    with pytest.raises(EnvironmentProblem, match="logger Failing must open its log, got ConnectionError: no server"):
        run.train(network(), watch, (0,), tmp_path, "")
    assert watch.seen == []


@dataclass(frozen=True)
class Remembering:
    """A logger that keeps what it is told."""

    told: ClassVar = []
    logged: ClassVar = []
    closed: ClassVar = []

    @classmethod
    def new(cls):
        for kept in (cls.told, cls.logged, cls.closed):
            kept.clear()
        return cls()

    def open(self, training):
        self.told.append(training)
        return self

    def log(self, step, values):
        self.logged.append((step, dict(values)))

    def close(self, finished):
        self.closed.append(finished)


def test_a_logger_gets_the_lines_of_the_file_and_is_told_which_training_continues(tmp_path):
    loggers = RunLoggers((Remembering.new(),), "night", "id", {"seed": 3}, tmp_path)
    run, folder = replace(trainer(), loggers=loggers), tmp_path / "supernet"
    with pytest.raises(Interrupted):
        run.train(network(), StopAt(5), (0,), folder, "train supernet")
    signals._received.clear()
    run.train(network(), SingleNetwork(), (0,), folder, "train supernet")
    run.train(network(), SingleNetwork(), (0,), tmp_path / "other", "train supernet")
    first, continued, other = Remembering.told
    assert first == LoggedTraining("night", "supernet", first.identity, {"seed": 3}, tmp_path, 1)
    assert continued == replace(first, first=7)
    assert other.identity != first.identity
    assert [{"step": step, **values} for step, values in Remembering.logged[:12]] == lines(folder)
    assert Remembering.closed == [False, True, True]


def test_an_interruption_by_another_signal_keeps_what_was_collected(tmp_path, monkeypatch):
    monkeypatch.setattr(metrics, "LINES_PER_EPOCH", 1)
    with pytest.raises(Interrupted), Metrics.open(RunLoggers(), "a", tmp_path, 0, 8, 4) as record:
        record.add(1, 1.0, 10.0, 0.1, Clipping(5.0))
        raise Interrupted(signal.SIGINT)
    with Metrics.open(RunLoggers(), "a", tmp_path, 1, 8, 4) as record:
        for step, loss in ((2, 2.0), (3, 3.0), (4, 6.0)):
            record.add(step, loss, 10 * loss, 0.1, Clipping(5.0))
    [line] = lines(tmp_path)
    assert (line["step"], line["loss"], line["gradient_norm"]) == (4, 3.0, 30.0)
