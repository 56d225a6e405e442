"""Optimizers against torch.optim run by hand, their groups, and resuming them."""

from __future__ import annotations

import contextlib
import math

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from regnas.components.builder import Builder
from regnas.errors import ConfigurationError, Interrupted
from regnas.runtime import signals
from regnas.training import RECIPE_PARTS, Recipe, SideBySide, SingleNetwork
from regnas.training.learning_rates import Cosine
from regnas.training.optimizers import AdamW, ModelOptimizer, Muon, StochasticGradientDescent
from regnas.training.optimizers.muon import in_memory_order
from regnas.training.optimizers.parameters import matches, trained_parameters
from tests.training.test_trainer import StopAt, files, network, same, state, trainer

STEPS = 8  # of two epochs


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


class Layers(nn.Module):
    """All kinds of layers, in a network that is never run."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Conv2d(3, 8, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8)
        self.pointwise = nn.Conv2d(8, 6, 1)
        self.hidden = nn.Linear(6, 5)
        self.classifier = nn.Linear(5, 3)


MATRICES = {"stem.weight", "pointwise.weight", "hidden.weight"}


def loss_of(model, index):
    """A loss of the parameters alone, so that training by hand needs no images."""
    return sum(
        (parameter * (1 + 0.1 * index) + place).sin().sum() for place, parameter in enumerate(model.parameters())
    )


def trained(folder, **recipe):
    model = Layers()
    settings = {"epochs": 2, "ema_decay": 0.0, "clip_norm": math.inf, "weight_decay": 0.1} | recipe
    run = trainer(**settings)
    run.train(model, lambda own, step: loss_of(own, step.index), (0,), folder, "")
    return model, run.recipe


def by_hand(recipe, build):
    """Train with torch's optimizers alone; ``build`` returns them with a function that gives them the gradients."""
    model = Layers().to(memory_format=torch.channels_last)
    optimizers, prepare = build(model)
    factors = {id(group): group["lr"] for optimizer in optimizers for group in optimizer.param_groups}
    for index in range(STEPS):
        model.zero_grad()
        loss_of(model, index).backward()
        prepare()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate_at(index / STEPS) * factors[id(group)]
            optimizer.step()
    return model


def close(model, expected, **tolerance):
    for name, parameter in expected.named_parameters():
        torch.testing.assert_close(
            model.get_parameter(name), parameter, msg=lambda text, n=name: f"{n}: {text}", **tolerance
        )


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_is_that_of_torch(tmp_path, nesterov):
    model, recipe = trained(tmp_path, optimizer=StochasticGradientDescent(nesterov))
    make = lambda own: torch.optim.SGD(own.parameters(), 1.0, 0.9, weight_decay=0.1, nesterov=nesterov)  # noqa: E731
    assert same(state(model), state(by_hand(recipe, lambda own: ([make(own)], lambda: None))))


def test_adamw_is_that_of_torch_with_the_momentum_as_beta1(tmp_path):
    model, recipe = trained(tmp_path, optimizer=AdamW(beta2=0.95, epsilon=1e-6), learning_rate=0.01, momentum=0.8)
    make = lambda own: torch.optim.AdamW(  # noqa: E731
        own.parameters(), 1.0, (0.8, 0.95), 1e-6, weight_decay=0.1, foreach=False
    )
    expected = by_hand(recipe, lambda own: ([make(own)], lambda: None))
    close(model, expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(model.stem.weight, Layers().stem.weight, atol=0.01)


@pytest.mark.parametrize("scale", ["original", "adamw"])
@pytest.mark.parametrize("others", ["sgd", "adamw"])
def test_muon_is_that_of_torch_on_matrices_and_others_train_the_rest(tmp_path, scale, others):
    muon = Muon(scale=scale, others=others, others_factor=0.1)
    model, recipe = trained(tmp_path, optimizer=muon, learning_rate=0.05, weight_decay_on="weights")

    def build(own):
        weights = {name: own.get_parameter(name) for name in MATRICES}
        matrices = {
            name: nn.Parameter(in_memory_order(weight.detach(), weight).flatten(1)) for name, weight in weights.items()
        }
        rest = [(name, parameter) for name, parameter in own.named_parameters() if name not in MATRICES]
        groups = [
            {"params": [parameter for _, parameter in rest if parameter.ndim > 1], "weight_decay": 0.1},
            {"params": [parameter for _, parameter in rest if parameter.ndim == 1], "weight_decay": 0.0},
        ]
        second = torch.optim.SGD(groups, 0.1, 0.9) if others == "sgd" else torch.optim.AdamW(groups, 0.1)
        adjust = "match_rms_adamw" if scale == "adamw" else "original"
        first = torch.optim.Muon(matrices.values(), 1.0, 0.1, momentum=0.9, adjust_lr_fn=adjust)

        def give_gradients():
            for name, matrix in matrices.items():
                matrix.grad = in_memory_order(weights[name].grad, weights[name]).flatten(1)

        return [first, second], give_gradients

    close(model, by_hand(recipe, build), rtol=1e-5, atol=1e-6)


def test_a_step_of_muon_has_the_singular_vectors_of_the_gradient_and_singular_values_near_one(tmp_path):
    gradients = {
        name: torch.randn(Layers().get_parameter(name).shape, generator=torch.Generator().manual_seed(4))
        for name in MATRICES
    }
    one_step = {"epochs": 1, "batch_size": 64, "learning_rate": 1.0, "ema_decay": 0.0, "schedule": Cosine()}
    model = Layers()
    trainer(optimizer=Muon(nesterov=False), momentum=0.0, weight_decay=0.0, clip_norm=math.inf, **one_step).train(
        model,
        lambda own, _: sum((own.get_parameter(name) * gradient).sum() for name, gradient in gradients.items()),
        (0,),
        tmp_path,
        "",
    )
    for name, gradient in gradients.items():
        left, values, right = torch.linalg.svd(gradient.flatten(1), full_matrices=False)
        step = (Layers().get_parameter(name) - model.get_parameter(name)).detach().flatten(1)
        turned = left.T @ step @ right.T / max(1, step.shape[0] / step.shape[1]) ** 0.5
        diagonal = turned.diagonal()
        assert (turned - diagonal.diag()).abs().max() < 0.05, name
        assert diagonal.min() > 0.5 and diagonal.max() < 1.3, name
        assert diagonal.max() / diagonal.min() < values.max() / values.min(), name


def test_hidden_weights_are_full_convolutions_and_all_linear_layers_but_the_last():
    def hidden(model):
        return {each.name for each in trained_parameters(model, 0.0, "all", {}) if each.is_hidden_weight}

    assert hidden(Layers()) == MATRICES
    both = {f"networks.{index}.{name}" for index in range(2) for name in MATRICES}
    assert hidden(SideBySide([Layers(), Layers()])) == both  # each has a classifier


@pytest.mark.parametrize(
    "optimizer",
    [
        StochasticGradientDescent(nesterov=True),
        AdamW(),
        Muon(),
        Muon(others="adamw", scale="adamw", others_factor=0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("stop", [0, 5])
def test_every_optimizer_resumes_with_the_same_bytes(tmp_path, optimizer, stop):
    def run():
        return trainer(
            optimizer=optimizer,
            learning_rate=0.02,
            weight_decay_on="weights",
            learning_rate_factors={"4": 0.5, "1": 0.0},
        )

    unbroken, broken, resumed = network(), network(), network()
    run().train(unbroken, SingleNetwork(), (0,), tmp_path / "unbroken", "")
    with pytest.raises(Interrupted):
        run().train(broken, StopAt(stop), (0,), tmp_path / "broken", "")
    signals._received.clear()
    run().train(resumed, SingleNetwork(), (0,), tmp_path / "broken", "")
    assert same(state(resumed), state(unbroken))
    assert files(tmp_path / "broken") == files(tmp_path / "unbroken")
    assert not torch.equal(unbroken[0].weight, network()[0].weight)
    assert torch.equal(unbroken[1].weight, network()[1].weight)  # a factor of 0


@pytest.mark.parametrize(
    "optimizer", [StochasticGradientDescent(nesterov=True), AdamW(), Muon(), Muon(others="adamw")], ids=str
)
def test_on_cuda_optimizers_are_fused_and_all_their_state_is_there(optimizer):
    """With fake tensors: there need not be a GPU."""
    library = torch.library.Library("aten", "IMPL", "Meta")
    with contextlib.suppress(RuntimeError):  # torch may bring it one day
        library.impl("_fused_sgd_", lambda *_, **__: None)
    with FakeTensorMode(), torch.device("cuda"):
        model = Layers()
        built = ModelOptimizer(optimizer.build(trained_parameters(model, 0.1, "all", {}), 0.9))
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        built.step(0.01, torch.amp.GradScaler("cpu", enabled=False))
        built.load(built.states())
        devices = {value.device.type for named in built.states().values() for value in named.values()}
    assert devices == {"cuda"}
    assert [own.defaults["fused"] for own in built.optimizers if not isinstance(own, torch.optim.Muon)] == [True]


# Groups


def test_a_pattern_matches_whole_parts_of_a_name_wherever_the_network_is():
    for name in ("classifier.weight", "largest.classifier.bias", "networks.0.classifier.weight"):
        assert matches("classifier", name)
        assert not matches("class", name)
    assert matches("stages.*.conv?", "network.stages.0.conv1.weight")
    assert not matches("stages.conv1", "network.stages.0.conv1.weight")
    assert matches("norm*.weight", "stages.0.norm2.weight")
    assert not matches("norm*.weight", "stages.0.norm2.bias")


def test_factors_multiply_and_decay_leaves_out_norms_and_biases():
    found = {
        each.name: (each.learning_rate_factor, each.weight_decay)
        for each in trained_parameters(Layers(), 0.3, "weights", {"classifier": 0.5, "*.weight": 0.1, "stem": 2.0})
    }
    assert found["classifier.weight"] == (pytest.approx(0.05), 0.3)
    assert found["classifier.bias"] == (0.5, 0.0)
    assert found["stem.weight"] == (pytest.approx(0.2), 0.3)
    assert found["norm.weight"] == (0.1, 0.0)
    assert found["depthwise.bias"] == (1.0, 0.0)
    assert {each.weight_decay for each in trained_parameters(Layers(), 0.3, "all", {})} == {0.3}


def test_a_pattern_without_a_layer_is_refused_before_training_with_the_layers(tmp_path):
    message = r'must name layers of the network, got "clasifier"; did you mean "classifier"\? \(known: stem, norm, .*\)'
    with pytest.raises(ConfigurationError, match=message):
        trained(tmp_path, learning_rate_factors={"clasifier": 0.1})
    assert list(tmp_path.iterdir()) == []


# Recipes


def recipe_from(**table):
    builder = Builder(RECIPE_PARTS)
    return builder.record(Recipe, table, "training"), builder.problems


def test_a_text_is_short_for_a_table():
    table = {"learning_rate": 0.001, "learning_rate_factors": {"classifier": 10.0}}
    short, problems = recipe_from(optimizer="adamw", **table)
    assert problems == []
    assert short == recipe_from(optimizer={"name": "adamw"}, **table)[0]
    assert (short.optimizer, short.learning_rate_factors) == (AdamW(), {"classifier": 10.0})


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"optimizer": "adam"}, r'training.optimizer: unknown optimizer "adam"; did you mean "adamw"'),
        ({"optimizer": {"name": "sgd", "beta2": 0.9}}, r"training.optimizer.beta2 is not a known key"),
        ({"optimizer": "adamw"}, r"training: learning_rate must be below 0.1 for adamw, got 0.1. Set it"),
        (
            {"optimizer": {"name": "muon", "others": "adamw"}},
            r"learning_rate must be below.*lower optimizer.others_factor",
        ),
        ({"optimizer": {"name": "sgd", "nesterov": True}, "momentum": 0.0}, r"momentum must be above 0 for nesterov"),
        ({"optimizer": {"name": "adamw", "beta2": 1.0}}, r"training.optimizer: beta2 must be at least 0 and below 1"),
        ({"optimizer": {"name": "muon", "others_factor": 0.0}}, r"others_factor must be above 0, got 0"),
        ({"learning_rate_factors": {"stem": -1.0}}, r"learning_rate_factors must be at least 0"),
        ({"weight_decay_on": "norms"}, r"weight_decay_on"),
    ],
)
def test_optimizers_that_cannot_train_are_refused(table, problem):
    _, problems = recipe_from(**table)
    assert len(problems) == 1
    with pytest.raises(ValueError, match=problem):
        raise ValueError(problems[0])
