"""Trainings and evaluations on devices that this machine need not have.

On the ``meta`` device tensors have shapes but no values: an operation that mixes devices fails, and so does every
attempt of the host to read a value, for which it would have to wait on a real device. On fake CUDA tensors the same
holds, and the rules of CUDA apply; torch cannot run backward passes on them without a CUDA device.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regnas.data import Preprocessing, Split
from regnas.losses import (
    CrossEntropy,
    FocalDistillation,
    KnowledgeDistillation,
    LogitDifferenceInhibition,
)
from regnas.networks.small_resnet import SmallResNet
from regnas.runs.config import load_config
from regnas.training import (
    DecayToward,
    LogitTerm,
    Recipe,
    SingleNetwork,
    Step,
    SupernetObjective,
    Trainer,
    calibrate,
)
from regnas.training.prediction import logits_of, prepare_batch
from regnas.training.readings import Readings
from regnas.training.state import TrainingState

SHAPE, CLASSES = (1, 16, 16), 10
META, CUDA = torch.device("meta"), torch.device("cuda")
NORMALIZATION = Preprocessing((0.5,), (0.25,))


@pytest.fixture(scope="module")
def digits():
    return load_config("digits").values


@pytest.fixture
def unread(monkeypatch):
    """No value is read at the planned places; the others are what a test looks for."""
    monkeypatch.setattr(Readings, "take", lambda self: [])
    monkeypatch.setattr(TrainingState, "save", lambda self, *arguments, **settings: None)


def trainer(device, **changes):
    images = torch.zeros(48, *SHAPE, dtype=torch.uint8)
    split = Split("train", images, torch.arange(48) % CLASSES, np.arange(48).astype(str), np.arange(48))
    return Trainer(Recipe(**({"epochs": 2, "batch_size": 16} | changes)), split, NORMALIZATION, device)


def network(device):
    with torch.device(device):
        return SmallResNet(widths=(4, 8), patch=4).build(SHAPE, CLASSES)


def terms(*losses, device):
    return tuple(LogitTerm(loss, 0.5, (network(device).eval(),)) for loss in losses)


OBJECTIVES = {
    "labels": lambda device: SingleNetwork(),
    "teachers": lambda device: SingleNetwork(
        terms=terms(KnowledgeDistillation(), FocalDistillation(), LogitDifferenceInhibition(), device=device)
    ),
    "known logits": lambda device: SingleNetwork(
        terms=(LogitTerm(KnowledgeDistillation(), 0.5, known=torch.zeros(48, CLASSES)),)
    ),
    "decay": lambda device: SingleNetwork(decay=DecayToward(dict(network(device).named_parameters()), 0.1)),
}


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("changes", [{}, {"accumulation": 2, "ema_decay": 0.5}], ids=["plain", "parts and average"])
def test_a_step_of_a_network_waits_for_no_value(unread, tmp_path, name, changes):
    model = network(META)
    trainer(META, **changes).train(model, OBJECTIVES[name](META), (0,), tmp_path, "")
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}


def test_a_step_of_a_supernet_waits_for_no_value(unread, tmp_path, digits):
    with META:
        supernet = digits.supernet.supernet(SHAPE, CLASSES)
    objective = SupernetObjective(
        digits.supernet.space(SHAPE, CLASSES), digits.curriculum, CrossEntropy(), (0,), supernets_before=()
    )
    trainer(META).train(supernet, objective, (0,), tmp_path, "")


def test_a_value_that_is_read_in_a_step_is_found(unread, tmp_path):
    class Reads(SingleNetwork):
        def __call__(self, model, step):
            loss = super().__call__(model, step)
            return loss if float(loss.detach()) < 1e9 else loss / 2

    with pytest.raises(RuntimeError, match="meta"):
        trainer(META).train(network(META), Reads(), (0,), tmp_path, "")


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_losses_of_fake_cuda_networks_are_on_cuda_in_full_precision(half, digits, monkeypatch):
    monkeypatch.setattr("torch.cuda.amp.common.amp_definitely_not_available", lambda: False)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda: True)
    space = digits.supernet.space(SHAPE, CLASSES)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.device("cuda"):
        supernet = digits.supernet.supernet(SHAPE, CLASSES)
        model = network(CUDA)
        objective = SupernetObjective(space, digits.curriculum, CrossEntropy(), (0,))
        images = prepare_batch(torch.zeros(16, *SHAPE, dtype=torch.uint8), NORMALIZATION, CUDA)
        late = Step(images, torch.arange(16) % CLASSES, torch.arange(16), 0, 0.9)  # when all lessons have begun
        with torch.autocast("cuda", half):
            losses = [objective(supernet, late), *(make(CUDA)(model, late) for make in OBJECTIVES.values())]
    for loss in losses:
        assert (loss.device.type, loss.dtype, loss.shape) == ("cuda", torch.float32, ())


def test_networks_are_calibrated_and_predict_on_fake_cuda(digits):
    space = digits.supernet.space(SHAPE, CLASSES)
    with FakeTensorMode(allow_non_fake_inputs=True):
        with CUDA:
            supernet = digits.supernet.supernet(SHAPE, CLASSES)
        images = prepare_batch(torch.zeros(600, *SHAPE, dtype=torch.uint8), NORMALIZATION, CUDA)
        own = calibrate(supernet.extract(space.smallest), images, batch_size=100)
        logits = logits_of(own, images)
    assert (logits.device.type, logits.shape) == ("cuda", (600, CLASSES))
    assert {buffer.device.type for buffer in own.buffers()} == {"cuda"}
