from __future__ import annotations

import json
import math
import signal

import numpy as np
import pytest
import torch
from torch import nn

from regnas.augmentations import MixedLabels, choose_mixing
from regnas.augmentations.alternating_flip import AlternatingFlip
from regnas.augmentations.color_jitter import ColorJitter
from regnas.augmentations.cutmix import CutMix
from regnas.augmentations.mixup import Mixup
from regnas.augmentations.progressive_resize import ProgressiveResize
from regnas.augmentations.rand_augment import RandAugment
from regnas.augmentations.random_erasing import RandomErasing
from regnas.augmentations.random_resized_crop import RandomResizedCrop
from regnas.augmentations.shift import Shift
from regnas.data import Preprocessing, Split
from regnas.errors import ArtifactError, ConfigurationError, Interrupted, TrainingDiverged
from regnas.losses import FocalDistillationKL, KnowledgeDistillation
from regnas.runtime import signals
from regnas.runtime.randomness import generator
from regnas.training import DecayToward, LogitTerm, Recipe, SingleNetwork, Step, Trainer
from regnas.training.checkpoint import INDEX, copy_checkpoints, last_checkpoint
from regnas.training.readings import Readings


def split(samples=70):
    generator = torch.Generator().manual_seed(0)
    targets = torch.arange(samples) % 3
    images = torch.randint(0, 60, (samples, 1, 6, 6), generator=generator) + 60 * targets[:, None, None, None]
    ids = np.array([f"s{index}" for index in range(samples)])
    return Split("train", images.to(torch.uint8), targets, ids, np.arange(samples))


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))


def trainer(**changes):
    settings = {"epochs": 3, "batch_size": 16, "augmentations": (Shift(1),), "ema_decay": 0.5} | changes
    data = split()
    return Trainer(Recipe(**settings), data, Preprocessing.fitted_to(data.images), torch.device("cpu"))


class StopAt:
    """The usual objective, which asks to stop while a given step is computed."""

    single_labels = ""

    def __init__(self, index):
        self.index = index
        self.seen = []

    def __call__(self, model, step):
        self.seen.append(step.index)
        if step.index == self.index:
            signals.ask_to_stop(signal.SIGTERM)
        return SingleNetwork()(model, step)


class Diverging:
    """The usual objective, with a loss of NaN at one step."""

    def __call__(self, model, step):
        return SingleNetwork()(model, step) * (float("nan") if step.index == 6 else 1.0)


def state(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


def test_training_learns(tmp_path):
    model = network()
    trainer(epochs=10).train(model, SingleNetwork(), (0,), tmp_path, "")
    data = split()
    predicted = model.eval()(Preprocessing.fitted_to(data.images)(data.images)).argmax(1)
    assert (predicted == data.targets).float().mean() > 0.9


def test_without_epochs_a_network_stays_as_it_is_and_nothing_is_written(tmp_path):
    model = network()
    before = state(model)
    trainer(epochs=0).train(model, SingleNetwork(), (0,), tmp_path, "no training")
    assert same(state(model), before)
    assert list(tmp_path.iterdir()) == []


# With everything that is drawn: by sample and epoch, and by batch.
PIPELINE = (
    ProgressiveResize(multiple=1),
    RandomResizedCrop(scale=(0.5, 1.0)),
    AlternatingFlip(),
    ColorJitter(brightness=0.3),
    RandAugment(),
    RandomErasing(),
    Mixup(probability=0.7),
    CutMix(),
)


class Pooled(nn.Module):
    """A network for images of any size."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Linear(4, 3)

    def forward(self, images):
        return self.head(self.body(images).mean((2, 3)))


def test_a_training_with_augmentations_is_resumed_to_the_same_bits_whatever_the_batches(tmp_path):
    def pooled():
        torch.manual_seed(1)
        return Pooled()

    unbroken, broken, resumed = pooled(), pooled(), pooled()
    recipe = {"augmentations": PIPELINE, "epochs": 5}
    trainer(**recipe).train(unbroken, SingleNetwork(), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted):
        trainer(**recipe).train(broken, StopAt(9), (0,), tmp_path / "broken", "")
    signals._received.clear()
    trainer(**recipe).train(resumed, SingleNetwork(), (0,), tmp_path / "broken", "")
    assert same(state(resumed), state(unbroken))
    assert files(tmp_path / "broken") == files(tmp_path / "unbroken")


def test_steps_have_the_images_of_the_pipeline_and_the_mix_of_their_batch():
    """Against the pipeline and the mixing by hand."""
    mixup = Mixup()
    mixed = trainer(augmentations=(Shift(1), mixup))
    data = split()
    for step in mixed._steps((0,), range(3, 6), {}):
        chain = mixed.recipe.pipeline((0,))
        plain = mixed.preprocessing(chain.images(data.images[step.indices], step.indices, step.index // 4))
        random = generator(0, "mixing", step.index)
        assert choose_mixing([mixup], random) is mixup
        expected, share = mixup.mix(plain, plain.roll(1, 0), random)
        assert torch.equal(step.images, expected)
        assert torch.equal(step.targets, data.targets[step.indices])
        assert torch.equal(step.mixed.partners, step.targets.roll(1, 0))
        assert step.mixed.share == share


def test_a_training_on_mixed_images_has_the_loss_of_soft_labels():
    """Cross-entropy with the mixed label distribution, smoothed, by torch."""
    random = torch.Generator().manual_seed(0)
    logits, other = torch.randn(6, 3, generator=random), torch.randn(6, 3, generator=random)
    targets, partners = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([2, 0, 1, 2, 0, 1])
    step = Step(other, targets, torch.arange(6), 0, 0.0, mixed=MixedLabels(partners, 0.3))
    loss = SingleNetwork(label_loss=Recipe(label_smoothing=0.2).label_loss)(lambda images: logits, step)
    one_hot = torch.nn.functional.one_hot
    soft = 0.3 * one_hot(targets, 3) + 0.7 * one_hot(partners, 3)
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(logits, soft, label_smoothing=0.2))


@pytest.mark.parametrize(
    ("augmentations", "objective", "message"),
    [
        ((Shift(4),), SingleNetwork(), r"augmentations\[0\]: pixels must be at most half of the image, 3, got 4"),
        ((Mixup(),), Diverging(), "Diverging needs the label of a single image, got mixup"),
        (
            (CutMix(),),
            SingleNetwork(terms=[LogitTerm(FocalDistillationKL(), 1.0)]),
            "FocalDistillationKL needs the label of a single image, got cutmix",
        ),
        (
            (CutMix(),),
            SingleNetwork(terms=[LogitTerm(KnowledgeDistillation(), 1.0, known=torch.zeros(70, 3))]),
            "a teacher whose logits are known before needs the label",
        ),
    ],
)
def test_augmentations_that_do_not_fit_are_refused_before_the_first_step(tmp_path, augmentations, objective, message):
    with pytest.raises(ConfigurationError, match=message):
        trainer(augmentations=augmentations).train(network(), objective, (0,), tmp_path, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stop", [0, 3, 5, 11])
def test_interrupted_anywhere_and_resumed_the_bits_are_those_of_an_unbroken_training(tmp_path, stop):
    """Four steps an epoch, twelve in all; with momentum, moving average, shuffling and augmentation."""
    unbroken, broken = network(), network()
    trainer().train(unbroken, SingleNetwork(), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted) as error:
        trainer().train(broken, StopAt(stop), (0,), tmp_path / "broken", "")
    assert error.value.exit_code == 143
    signals._received.clear()
    resumed, rest = network(), StopAt(None)
    trainer().train(resumed, rest, (0,), tmp_path / "broken", "")
    assert rest.seen == list(range(stop + 1, 12))
    assert same(state(resumed), state(unbroken))
    assert files(tmp_path / "broken") == files(tmp_path / "unbroken")


def test_a_checkpoint_that_a_killed_training_did_not_delete_goes_when_it_is_continued(tmp_path):
    for _ in range(2):
        trainer().train(network(), SingleNetwork(), (0,), tmp_path, "")
        assert set(files(tmp_path)) == {
            "checkpoints.json",
            "metrics.jsonl",
            "step-8.safetensors",
            "step-12.safetensors",
        }
        (tmp_path / "step-4.safetensors").write_bytes(b"killed after the index was written")


def test_a_finished_training_is_only_loaded(tmp_path):
    first, second, watch = network(), network(), StopAt(None)
    trainer().train(first, SingleNetwork(), (0,), tmp_path, "")
    trainer().train(second, watch, (0,), tmp_path, "")
    assert watch.seen == []
    assert same(state(first), state(second))


def test_the_key_decides_the_order_of_the_samples(tmp_path):
    first, second = network(), network()
    trainer().train(first, SingleNetwork(), (0,), tmp_path / "a", "")
    trainer().train(second, SingleNetwork(), (1,), tmp_path / "b", "")
    assert not same(state(first), state(second))


class Steep:
    """A loss with a gradient that is known and far above any clipping, and a decay toward given weights."""

    def __init__(self, gradient, decay):
        self.gradient, self.decay = gradient, decay

    def __call__(self, model, step):
        return self.gradient * model.weight.sum() + 0 * model.bias.sum()

    def after_step(self, model, learning_rate):
        self.decay(model, learning_rate)


@pytest.mark.parametrize("strength", [0.3, 3.0, 1e6])
def test_decoupled_decay_is_no_part_of_the_clipped_gradient_and_comes_after_the_step(tmp_path, strength):
    """w <- c + (w - learning rate * g - c) * exp(-learning rate * strength), with g clipped to a norm of 0.5."""
    run = trainer(epochs=2, momentum=0.0, weight_decay=0.0, clip_norm=0.5, ema_decay=0.0)
    model = nn.Linear(1, 4)
    nn.init.constant_(model.weight, 3.0)
    center = {"weight": torch.full((4, 1), 1.0)}
    run.train(model, Steep(1000.0, DecayToward(center, strength)), (0,), tmp_path, "")
    weight = 3.0
    for index in range(8):
        rate = run.recipe.learning_rate_at(index / 8)
        weight = 1.0 + (weight - rate * 0.25 - 1.0) * math.exp(-rate * strength)  # 0.5 shared by 4 equal gradients
    assert model.weight.flatten().tolist() == pytest.approx([weight] * 4, rel=1e-5)


def test_the_moving_average_is_that_of_the_formula(tmp_path):
    """One step at a time: average <- decay * average + (1 - decay) * weights."""

    class Recorder:
        def __init__(self):
            self.weights = []

        def __call__(self, model, step):
            self.weights.append(model[4].weight.detach().clone())
            return SingleNetwork()(model, step)

    plain, averaged, recorder = network(), network(), Recorder()
    trainer(ema_decay=0.0).train(plain, recorder, (0,), tmp_path / "plain", "")
    trainer(ema_decay=0.75).train(averaged, SingleNetwork(), (0,), tmp_path / "averaged", "")
    expected = recorder.weights[0]
    for weights in [*recorder.weights[1:], plain[4].weight.detach()]:
        expected = 0.75 * expected + 0.25 * weights
    torch.testing.assert_close(averaged[4].weight.detach(), expected)


def test_every_epoch_sees_every_sample_at_most_once_and_all_but_the_rest():
    seen = {}
    whole = trainer(augmentations=())
    for step in whole._steps((0,), range(whole.total_steps), {}):
        assert isinstance(step, Step)
        seen.setdefault(step.index // 4, []).extend(image.sum().item() for image in step.images)
    assert [len(values) for values in seen.values()] == [64, 64, 64]
    assert all(len(set(values)) == len(values) for values in seen.values())
    assert seen[0] != seen[1]


@pytest.mark.parametrize("interval", [1, 20])
def test_a_loss_that_is_no_number_stops_with_the_last_good_checkpoint(tmp_path, monkeypatch, interval):
    monkeypatch.setattr(Readings, "on", lambda device: Readings(interval))
    with pytest.raises(TrainingDiverged, match=r"loss of step 7 is nan.*step-4\.safetensors.*learning_rate") as error:
        trainer().train(network(), Diverging(), (0,), tmp_path, "")
    assert error.value.exit_code == 4
    checkpoint = last_checkpoint(tmp_path)
    assert checkpoint.step == 4
    assert all(tensor.isfinite().all() for tensor in checkpoint.tensors.values())


def test_reading_at_intervals_changes_nothing(tmp_path, monkeypatch):
    networks, counts = [], []
    for interval in (1, 3, 20):
        monkeypatch.setattr(Readings, "on", lambda device, interval=interval: Readings(interval))
        networks.append(network())
        place = tmp_path / str(interval)
        counts.append(trainer(clip_norm=2.0).train(networks[-1], SingleNetwork(), (0,), place, ""))
    assert same(state(networks[0]), state(networks[1]))
    assert same(state(networks[0]), state(networks[2]))
    assert counts[0] == counts[1] == counts[2]
    assert 0 < counts[0].clipped < counts[0].steps


def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_continues(tmp_path):
    unbroken, model = network(), network()
    trainer().train(unbroken, SingleNetwork(), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted):
        trainer().train(model, StopAt(9), (0,), tmp_path / "broken", "")
    signals._received.clear()
    newest = tmp_path / "broken" / "step-10.safetensors"
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"step-10\.safetensors is damaged.*before it is .*step-8\.safetensors"):
        trainer().train(network(), SingleNetwork(), (0,), tmp_path / "broken", "")
    newest.unlink()
    resumed = network()
    trainer().train(resumed, SingleNetwork(), (0,), tmp_path / "broken", "")
    assert same(state(resumed), state(unbroken))


def test_a_checkpoint_of_another_network_is_refused_with_what_differs(tmp_path):
    trainer().train(network(), SingleNetwork(), (0,), tmp_path, "")
    other = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(64, 3))
    with pytest.raises(ArtifactError, match=r"belongs to another network: 2\.weight is missing; .* and \d+ more"):
        trainer().train(other, SingleNetwork(), (0,), tmp_path, "")


def test_only_the_two_newest_checkpoints_are_kept(tmp_path):
    trainer(epochs=5).train(network(), SingleNetwork(), (0,), tmp_path, "")
    assert sorted(path.name for path in tmp_path.glob("step-*")) == ["step-16.safetensors", "step-20.safetensors"]
    assert [entry["step"] for entry in json.loads((tmp_path / INDEX).read_text())["checkpoints"]] == [20, 16]


def test_a_training_that_ended_early_is_continued_by_others_as_if_they_had_begun_it(tmp_path):
    """Two objectives that differ only after a step share what comes before."""

    class Late:
        """Twice the loss from step 7 on."""

        def __call__(self, model, step):
            loss = SingleNetwork()(model, step)
            return loss if step.index < 7 else 2 * loss

    whole, branch = network(), network()
    trainer().train(whole, Late(), (0,), tmp_path / "whole", "")
    trainer().train(network(), SingleNetwork(), (0,), tmp_path / "shared", "", until=7)
    copy_checkpoints(tmp_path / "shared", tmp_path / "branch")
    trainer().train(branch, Late(), (0,), tmp_path / "branch", "")
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, branch.state_dict()[name]), name
    assert last_checkpoint(tmp_path / "shared").step == 7
    copy_checkpoints(tmp_path / "shared", tmp_path / "branch")  # does not throw back what went on
    assert last_checkpoint(tmp_path / "branch").step == 12
