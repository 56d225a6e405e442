"""Models whose weights are a mean of others', against the formulas written out."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn.modules.batchnorm import _BatchNorm

from regnas.data import DataFraction
from regnas.runtime.files import sha256_of
from regnas.updates.models import (
    Checkpoint,
    FisherInterpolated,
    FisherMerged,
    Interpolated,
    Soup,
    Trained,
    mixed_weights,
    share_of,
)
from tests.updates.models.making import SMALL, open_store, same, state

A, B, C = (Trained(SMALL, chance) for chance in "abc")
HALF = Trained(SMALL, "half", share=DataFraction(0.5))  # calibrated on other images than the rest
OF_TWO = Trained(SMALL, "old", share=DataFraction(1.0, 0.5))  # has 2 of the 4 classes


def parameters(store, model):
    return {name: value.detach().clone() for name, value in store.module(model).named_parameters()}


def calibrated_by_hand(store, network, share):
    """A batch norm's statistics are the mean and unbiased variance of what it is given, where all is one batch."""
    part = store.samples(share)
    chosen = torch.linspace(0, len(part) - 1, store.calibration_images).round().long()
    network = copy.deepcopy(network).train()
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.register_forward_pre_hook(remember)
    with torch.no_grad():
        network(store.splits.preprocessing(part.images[chosen]))
    return {
        name: (module.given.mean(dim=(0, 2, 3)), module.given.transpose(0, 1).flatten(1).var(dim=1, correction=0))
        for name, module in network.named_modules()
        if isinstance(module, _BatchNorm)
    }


def remember(module, inputs):
    module.given = inputs[0].detach()


def statistics(network):
    return {
        name: (module.running_mean, module.running_var)
        for name, module in network.named_modules()
        if isinstance(module, _BatchNorm)
    }


def has_statistics_of_its_own(store, model):
    found = statistics(store.module(model))
    expected = calibrated_by_hand(store, store.module(model), share_of(model))
    for name, pair in expected.items():
        torch.testing.assert_close(found[name], pair, rtol=1e-4, atol=1e-5)


def test_a_soup_has_the_mean_of_the_weights_and_statistics_of_its_own(shared_shop):
    soup = Soup((A, B, C))
    members = [parameters(shared_shop, member) for member in (A, B, C)]
    for name, weight in parameters(shared_shop, soup).items():
        torch.testing.assert_close(weight, sum(member[name] for member in members) / 3)
    has_statistics_of_its_own(shared_shop, soup)


# Interpolation


@pytest.mark.parametrize("alpha", [0.1, 0.4, 0.9])
def test_interpolated_weights_are_alpha_of_the_old_and_the_rest_of_the_new(shared_shop, alpha):
    mixed, olds, news = (parameters(shared_shop, model) for model in (Interpolated(A, B, alpha), A, B))
    for name, weight in mixed.items():
        torch.testing.assert_close(weight, alpha * olds[name] + (1 - alpha) * news[name])


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_interpolated_networks_have_statistics_of_their_own_at_the_end_of_the_line_too(shared_shop, alpha):
    model = Interpolated(HALF, B, alpha)
    has_statistics_of_its_own(shared_shop, model)
    found = statistics(shared_shop.module(model))
    others = (HALF, B) if alpha < 1 else (HALF,)  # of the old weights on the old images
    for name, (mean, _) in found.items():
        for other in others:
            assert not torch.equal(mean, statistics(shared_shop.module(other))[name][0])


KINDS = [
    Interpolated,
    lambda old, new, alpha: FisherInterpolated(old, new, alpha, 16),
    lambda old, new, alpha: FisherMerged(old, new, alpha, 16),
]


@pytest.mark.parametrize("kind", KINDS, ids=["plain", "fisher", "merged"])
def test_at_alpha_0_a_mixture_is_exactly_the_new_model(shared_shop, kind):
    assert same(state(shared_shop, kind(HALF, B, 0.0)), state(shared_shop, B))


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2]], ids=["plain", "merged"])
def test_at_alpha_1_a_mixture_has_exactly_the_old_weights(shared_shop, kind):
    assert same(parameters(shared_shop, kind(HALF, B, 1.0)), parameters(shared_shop, HALF))


def given_old(store, folder):
    """A checkpoint whose batch-norm statistics are far from those of any images here."""
    weights = state(store, A)
    weights = {name: value + 3.0 if name.endswith("running_mean") else value for name, value in weights.items()}
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "old.safetensors")
    path = folder / "old.safetensors"
    return Checkpoint(SMALL, str(path), sha256_of(path))


@pytest.mark.parametrize("given", [False, True], ids=["trained", "given"])
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_answers_do_not_jump_at_the_ends_of_the_line(shared_shop, tmp_path, end, given):
    old = given_old(shared_shop, tmp_path) if given else HALF
    near = abs(end - 1e-6)
    at_end, nearby, old_logits = (
        shared_shop.logits(model, shared_shop.splits.report)
        for model in (Interpolated(old, B, end), Interpolated(old, B, near), old)
    )
    torch.testing.assert_close(at_end, nearby, rtol=1e-3, atol=1e-3)
    # the old model itself is not on the line
    assert (at_end - old_logits).abs().max() > 0.01


def test_making_a_mixture_leaves_its_parts_as_they_were(shared_shop):
    before = [state(shared_shop, model) for model in (A, B)]
    for model in (Soup((A, B)), *(kind(A, B, alpha) for kind in KINDS for alpha in (0.3, 1.0))):
        shared_shop.module(model)
    assert all(same(state(shared_shop, model), kept) for model, kept in zip((A, B), before, strict=True))


@pytest.mark.parametrize("alpha", [0.4, 1.0])
def test_classes_that_were_added_have_the_rows_of_the_new_model(shared_shop, alpha):
    mixed, old, new = (parameters(shared_shop, model) for model in (Interpolated(OF_TWO, B, alpha), OF_TWO, B))
    assert old["classifier.weight"].shape == (2, 8)
    for name in ("classifier.weight", "classifier.bias"):
        assert torch.equal(mixed[name][2:], new[name][2:])
        torch.testing.assert_close(mixed[name][:2], alpha * old[name] + (1 - alpha) * new[name][:2])
    torch.testing.assert_close(mixed["stem.weight"], alpha * old["stem.weight"] + (1 - alpha) * new["stem.weight"])


# By Fisher information


def importances(store, model, value):
    return {name: torch.full_like(weight, value) for name, weight in parameters(store, model).items()}


def knowing(monkeypatch, information):
    """Replace the Fisher information, and record the models that it is computed for."""
    asked = []

    def known(store, model, samples, labels):
        asked.append((model, samples, labels))
        return information(store, model)

    monkeypatch.setattr(mixed_weights, "fisher_information", known)
    return asked


@pytest.mark.parametrize("kind", KINDS[1:], ids=["fisher", "merged"])
def test_weights_of_equal_importance_are_mixed_as_if_there_were_none(shared_shop, monkeypatch, kind):
    knowing(monkeypatch, lambda store, model: importances(store, model, 0.7))
    fresh = open_store(shared_shop.folder)  # nothing made yet
    plain, weighted = (parameters(fresh, model) for model in (Interpolated(A, B, 0.3), kind(A, B, 0.3)))
    for name, weight in plain.items():
        torch.testing.assert_close(weighted[name], weight)


@pytest.mark.parametrize("alpha", [0.3, 0.98, 1.0])
def test_fisher_bcwi_is_the_published_formula_of_the_old_models_scaled_information(shared_shop, monkeypatch, alpha):
    """(a F w_old + (1 - a) w_new) / (a F + 1 - a) in double precision, number by number."""
    random = np.random.default_rng(0)
    names = {name: weight.shape for name, weight in parameters(shared_shop, A).items()}
    information = {name: random.gamma(0.3, 5.0, tuple(shape)) for name, shape in names.items()}
    information["classifier.bias"][:] = 0.0  # the old model does not depend on it
    asked = knowing(
        monkeypatch, lambda store, model: {name: torch.tensor(each).float() for name, each in information.items()}
    )
    fresh = open_store(shared_shop.folder)
    mixed, olds, news = (
        {name: weight.double().numpy() for name, weight in parameters(fresh, model).items()}
        for model in (FisherInterpolated(A, B, alpha, 16), A, B)
    )
    assert asked == [(A, 16, "predicted")]  # the Fisher information of the new model is not computed
    mean = np.concatenate([each.ravel() for each in information.values()]).mean()
    for name in names:
        scaled = information[name] / mean
        with np.errstate(invalid="ignore"):
            expected = (alpha * scaled * olds[name] + (1 - alpha) * news[name]) / (alpha * scaled + 1 - alpha)
        expected = news[name] if name == "classifier.bias" else expected  # at alpha = 1 it is the limit
        np.testing.assert_allclose(mixed[name], expected, rtol=2e-5, atol=1e-6)


def test_fisher_bcwi_leaves_added_classes_to_the_new_model(shared_shop):
    mixed, new = (parameters(shared_shop, model) for model in (FisherInterpolated(OF_TWO, B, 0.9, 16), B))
    for name in ("classifier.weight", "classifier.bias"):
        assert torch.equal(mixed[name][2:], new[name][2:])
        assert not torch.equal(mixed[name][:2], new[name][:2])


def test_in_fisher_merging_a_weight_counts_by_how_much_its_own_model_depends_on_it(shared_shop, monkeypatch):
    def information(store, model):
        values = importances(store, model, 3.0 if model == OF_TWO else 1.0)
        values["stem.weight"].fill_(0.0)  # neither depends on the stem
        values["classifier.bias"].fill_(0.0 if model == OF_TWO else 2.0)  # the new one alone does
        return values

    asked = knowing(monkeypatch, information)
    fresh = open_store(shared_shop.folder)
    model = FisherMerged(OF_TWO, B, 0.25, 16)
    mixed, old, new = (parameters(fresh, each) for each in (model, OF_TWO, B))
    assert asked == [(OF_TWO, 16, "drawn"), (B, 16, "drawn")]
    # (0.25 * 3 * old + 0.75 * 1 * new) / (0.25 * 3 + 0.75 * 1)
    name = "stages.0.0.conv1.weight"
    torch.testing.assert_close(mixed[name], (old[name] + new[name]) / 2)
    torch.testing.assert_close(
        mixed["classifier.weight"][:2], (old["classifier.weight"] + new["classifier.weight"][:2]) / 2
    )
    assert torch.equal(mixed["classifier.weight"][2:], new["classifier.weight"][2:])
    torch.testing.assert_close(mixed["stem.weight"], 0.25 * old["stem.weight"] + 0.75 * new["stem.weight"])
    torch.testing.assert_close(mixed["classifier.bias"], new["classifier.bias"])
