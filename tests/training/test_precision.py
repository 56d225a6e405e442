"""Trainings in half precision, and the formats of products on CUDA."""

from __future__ import annotations

import pytest
import torch

from regnas.errors import ConfigurationError, Interrupted, TrainingDiverged
from regnas.runtime import signals
from regnas.training.precision import check_precision, half_type, products_on
from tests.training.test_trainer import StopAt, network, same, state, trainer

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


class Scaled(StopAt):
    """The usual objective with some losses multiplied; keeps the weights before every step, and asks to stop at one."""

    def __init__(self, factors=None, stop_at=-1):
        super().__init__(stop_at)
        self.factors, self.weights = factors or {}, []

    def __call__(self, model, step):
        self.weights.append(state(model))
        return super().__call__(model, step) * self.factors.get(step.index, 1.0)


@pytest.mark.parametrize(
    ("precision", "device", "expected"),
    [
        ("auto", CPU, None),
        ("auto", CUDA, torch.bfloat16),
        ("float32", CUDA, None),
        ("tf32", CUDA, None),
        ("bfloat16", CPU, torch.bfloat16),
        ("float16", CUDA, torch.float16),
    ],
)
def test_the_type_of_products(precision, device, expected, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: True)
    assert half_type(precision, device) == expected
    check_precision(precision, device)


def test_a_cuda_device_without_bfloat16_is_not_given_bfloat16(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: False)
    assert half_type("auto", CUDA) is None
    with pytest.raises(ConfigurationError, match=r"must be \"float16\" or \"float32\" on this CUDA device.*Change it"):
        check_precision("bfloat16", CUDA)
    check_precision("bfloat16", CPU)


def test_only_tf32_rounds_float32_products_on_cuda():
    places = (torch.backends.cuda.matmul, torch.backends.cudnn.conv)
    before = [place.fp32_precision for place in places]
    with products_on(CUDA, "tf32"):
        assert [place.fp32_precision for place in places] == ["tf32", "tf32"]
    with pytest.raises(RuntimeError), products_on(CUDA, "float32"):
        assert [place.fp32_precision for place in places] == ["ieee", "ieee"]
        raise RuntimeError
    assert [place.fp32_precision for place in places] == before


def test_float16_takes_the_steps_of_float32(tmp_path):
    after = {}
    for precision in ("float32", "float16"):
        model, types = network(), []
        model.register_forward_hook(lambda module, inputs, output, types=types: types.append(output.dtype))
        plain = trainer(precision=precision, ema_decay=0)
        small = Scaled({0: 0.01, 1: 0.01})  # so that no gradient overflows at the first scale
        plain.train(model, small, (0,), tmp_path / precision, "", until=2)
        assert set(types) == {getattr(torch, precision)}
        after[precision] = dict(model.named_parameters())
    for name, before in network().named_parameters():
        moved = after["float32"][name] - before
        difference = after["float16"][name] - after["float32"][name]
        assert difference.norm() < 0.1 * moved.norm() + 1e-5


def test_a_step_that_overflows_is_skipped_and_not_counted(tmp_path):
    objective = Scaled({5: 1e4})  # times 2 ** 16, beyond the largest number of float16
    counts = trainer(precision="float16", ema_decay=0).train(network(), objective, (0,), tmp_path, "")
    trained = [name for name, _ in network().named_parameters()]
    moved = [
        any(not torch.equal(before[name], after[name]) for name in trained)
        for before, after in zip(objective.weights, objective.weights[1:], strict=False)
    ]
    assert not moved[5]
    assert all(moved[6:])
    assert counts.steps == sum(moved[1:]) + 1  # the first step is warm-up, and the last has no successor here


def test_float16_gives_up_when_no_scale_helps(tmp_path):
    always = Scaled(dict.fromkeys(range(100), float("inf")))
    with pytest.raises(TrainingDiverged, match=r"loss of step 33 is "):
        trainer(precision="float16", epochs=10).train(network(), always, (0,), tmp_path, "")


def test_float16_continues_with_the_scale_that_it_had(tmp_path):
    unbroken, model = network(), network()
    overflow = {2: 1e4, 5: 1e4}
    trainer(precision="float16").train(unbroken, Scaled(overflow), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted):
        trainer(precision="float16").train(model, Scaled(overflow, stop_at=6), (0,), tmp_path / "broken", "")
    signals._received.clear()
    resumed = network()
    trainer(precision="float16").train(resumed, Scaled(overflow), (0,), tmp_path / "broken", "")
    assert same(state(resumed), state(unbroken))
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("unbroken", "broken")]
    assert files[0] == files[1]
