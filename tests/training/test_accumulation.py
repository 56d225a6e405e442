"""A batch in parts: one backward pass each, one step of the optimizer."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regnas.augmentations.shift import Shift
from regnas.training import Recipe, SingleNetwork
from tests.training.together import network, trainer


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny networks gain nothing from more, and lose much where the cores are busy."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def by_hand(model, steps, recipe):
    """The whole batch at once: cross-entropy, clipping, momentum, weight decay and the schedule, written out."""
    velocity = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for step in steps:
        model.zero_grad()
        F.cross_entropy(model(step.images), step.targets).backward()
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients.values()))
        scale = min(1.0, recipe.clip_norm / (float(norm) + 1e-6))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                pull = gradients[name] * scale + recipe.weight_decay * parameter
                velocity[name] = recipe.momentum * velocity[name] + pull
                parameter -= recipe.learning_rate_at(step.progress) * velocity[name]
    return model


@pytest.mark.parametrize("parts", [2, 4, 16])
def test_without_batch_norm_the_weights_are_those_of_whole_batches(tmp_path, parts):
    model = network(norm=False)
    expected = copy.deepcopy(model)
    settings = {"ema_decay": 0.0, "accumulation": parts, "augmentations": (Shift(1),)}
    training = trainer(**settings)
    training.train(model, SingleNetwork(), (0,), tmp_path, "")
    steps = training._steps((0,), range(training.total_steps), {})
    by_hand(expected.to(memory_format=torch.channels_last), steps, training.recipe)
    for name, tensor in expected.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], tensor, rtol=1e-4, atol=1e-6)


def test_a_split_smaller_than_the_batch_weighs_uneven_parts_by_their_images(tmp_path):
    """70 images in 4 parts of a batch of 96: 18, 18, 17 and 17."""
    seen = []

    class Watching(SingleNetwork):
        def __call__(self, model, step):
            seen.append(len(step.targets))
            return super().__call__(model, step)

    model = network(norm=False)
    expected = copy.deepcopy(model)
    training = trainer(batch_size=96, accumulation=4, ema_decay=0.0, epochs=1)
    training.train(model, Watching(), (0,), tmp_path, "")
    assert seen == [18, 18, 17, 17]
    steps = training._steps((0,), range(training.total_steps), {})
    by_hand(expected.to(memory_format=torch.channels_last), steps, training.recipe)
    for name, tensor in expected.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], tensor, rtol=1e-4, atol=1e-6)


def test_the_loss_that_is_shown_is_the_mean_over_the_whole_batch(tmp_path, monkeypatch):
    notes = {1: [], 4: []}
    for parts, kept in notes.items():
        training = trainer(accumulation=parts, ema_decay=0.0)
        monkeypatch.setattr("regnas.training.trainer.Bar.advance", lambda self, note, kept=kept: kept.append(note))
        training.train(network(norm=False), SingleNetwork(), (0,), tmp_path / str(parts), "")
        monkeypatch.undo()
    assert len(notes[1]) == 8
    assert notes[1] == notes[4]


def test_batch_norms_count_every_part(tmp_path):
    model = network()
    trainer(accumulation=4, epochs=1).train(model, SingleNetwork(), (0,), tmp_path, "")
    assert model[1].num_batches_tracked == 16  # four steps


def test_in_bfloat16_products_are_rounded_and_weights_are_not(tmp_path):
    kinds = set()
    model = network()
    model[0].register_forward_hook(lambda module, given, answer: kinds.add(answer.dtype))
    trainer(accumulation=2, precision="bfloat16").train(model, SingleNetwork(), (0,), tmp_path, "")
    assert kinds == {torch.bfloat16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    exact = network()
    trainer(accumulation=2).train(exact, SingleNetwork(), (0,), tmp_path / "exact", "")
    for name, tensor in exact.state_dict().items():
        if tensor.is_floating_point():
            assert nn.functional.cosine_similarity(model.state_dict()[name].flatten(), tensor.flatten(), 0) > 0.99


@pytest.mark.parametrize("parts", [0, 3])
def test_parts_that_are_no_equal_parts_are_refused(parts):
    with pytest.raises(ValueError, match=f"divide batch_size, got batch_size 16 and accumulation {parts}"):
        Recipe(batch_size=16, accumulation=parts)


def test_several_processes_multiply_the_batch_and_one_in_their_place_takes_it_in_parts():
    recipe = Recipe(batch_size=32, accumulation=2)
    assert recipe.over(1) == recipe.one_after_another(1) == recipe
    assert (recipe.over(3).batch_size, recipe.over(3).accumulation) == (96, 2)
    alone = recipe.one_after_another(3)
    assert (alone.batch_size, alone.accumulation) == (96, 6)
