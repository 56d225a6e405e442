"""Averages of the weights against their formulas, and resuming them."""

from __future__ import annotations

import pytest
import torch

from regnas.components.builder import Builder
from regnas.errors import ConfigurationError, Interrupted
from regnas.runtime import signals
from regnas.training import RECIPE_PARTS, Recipe, SingleNetwork
from regnas.training.averaging import Lookahead, MovingAverage
from tests.training.test_trainer import StopAt, files, network, same, state, trainer

STEPS = 12


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


class Slope(torch.nn.Module):
    """A weight whose gradient is always 1."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([5.0]))


def trained(folder, **recipe):
    model = Slope()
    settings = {"ema_decay": 0.0, "momentum": 0.0, "weight_decay": 0.0} | recipe
    run = trainer(**settings)
    run.train(model, lambda own, _: own.weight.sum(), (0,), folder, "")
    return float(model.weight.detach()), [run.recipe.learning_rate_at(index / STEPS) for index in range(STEPS)]


@pytest.mark.parametrize(
    "lookahead", [Lookahead(5, 0.9, 2.0), Lookahead(1, 0.5, 0.0), Lookahead(12, 0.5, 0.0)], ids=str
)
def test_lookahead_is_that_of_the_formula(tmp_path, lookahead):
    found, rates = trained(tmp_path, averaging=lookahead)
    fast = slow = 5.0
    for index, rate in enumerate(rates):
        fast -= rate
        if (index + 1) % lookahead.every == 0:
            kept = lookahead.decay * (index / STEPS) ** lookahead.power
            fast = slow = kept * slow + (1 - kept) * fast
    assert found == pytest.approx(slow, rel=1e-5)  # steps after the last average do not count


def test_a_moving_average_has_the_bits_of_ema_decay(tmp_path):
    one, other = network(), network()
    trainer(ema_decay=0.9).train(one, SingleNetwork(), (0,), tmp_path / "one", "")
    trainer(ema_decay=0.0, averaging=MovingAverage(0.9)).train(other, SingleNetwork(), (0,), tmp_path / "other", "")
    assert same(state(one), state(other))
    assert files(tmp_path / "one") == files(tmp_path / "other")


@pytest.mark.parametrize("stop", [4, 6])
def test_lookahead_resumes_with_the_same_bytes(tmp_path, stop):
    def run():
        return trainer(ema_decay=0.0, averaging=Lookahead(every=3, decay=0.9, power=1.0))

    unbroken, broken, resumed = network(), network(), network()
    run().train(unbroken, SingleNetwork(), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted):
        run().train(broken, StopAt(stop), (0,), tmp_path / "broken", "")
    signals._received.clear()
    run().train(resumed, SingleNetwork(), (0,), tmp_path / "broken", "")
    assert same(state(resumed), state(unbroken))
    assert files(tmp_path / "broken") == files(tmp_path / "unbroken")


def test_a_training_that_is_shorter_than_the_first_average_is_refused(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"averaging.every must be at most the 12 steps of the training, got 13. L"
    ):
        trained(tmp_path, averaging=Lookahead(13))
    assert trained(tmp_path, averaging=Lookahead(13), epochs=0)[0] == 5.0


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"averaging": "moving_average"}, "training.averaging.decay is missing"),
        ({"averaging": {"name": "moving_average", "decay": 1.0}}, "decay must be between 0 and 1, got 1"),
        ({"averaging": {"name": "lookahead", "every": 0}}, "every must be at least 1"),
        ({"averaging": "lookahead", "ema_decay": 0.9}, "ema_decay must be 0 if averaging is set, got both. Remove one"),
    ],
    ids=str,
)
def test_averages_that_cannot_be_kept_are_refused(table, problem):
    builder = Builder(RECIPE_PARTS)
    builder.record(Recipe, table, "training")
    assert problem in builder.problems[0]
