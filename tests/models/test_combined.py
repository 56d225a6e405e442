"""Models made of others, against the formulas written out."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from regnas.data import Share
from regnas.models import (
    BayesianUpdated,
    Centric,
    Checkpoint,
    Ensemble,
    Interpolated,
    Soup,
    Trained,
    combined,
    network_of,
    share_of,
    weights_in,
)
from regnas.models.combined import BayesianDecision, log_confusion
from regnas.networks import parameters_of
from tests.models.making import OTHER, SMALL, same, state, workshop

A, B, C = (Trained(SMALL, chance) for chance in "abc")
OF_TWO = Trained(SMALL, "old", share=Share(1.0, 0.5))  # knows 2 of the 4 classes


@dataclass(frozen=True)
class Fixed:
    """A model whose logits are a function of the number in the first pixel."""

    answers: tuple[tuple[float, ...], ...]

    def parts(self):
        return ()

    def build(self, shop):
        return LookedUp(torch.tensor(self.answers), shop.splits.preprocessing)


class LookedUp(nn.Module):
    def __init__(self, answers, preprocessing):
        super().__init__()
        self.answers = nn.Parameter(answers)
        self.preprocessing = preprocessing

    def forward(self, images):
        (mean,), (std,) = self.preprocessing.mean, self.preprocessing.std
        pixels = (images[:, 0, 0, 0] * std + mean) * 255
        return self.answers[pixels.round().long()]


def parameters(shop, model):
    return {name: value.detach().clone() for name, value in shop.module(model).named_parameters()}


def calibrated_by_hand(shop, network, share):
    """A batch norm's statistics are the mean and unbiased variance of what it is given, where all is one batch."""
    part = shop.samples(share)
    chosen = torch.linspace(0, len(part) - 1, shop.calibration_images).round().long()
    network = copy.deepcopy(network).train()
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.register_forward_pre_hook(remember)
    with torch.no_grad():
        network(shop.splits.preprocessing(part.images[chosen]))
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


def test_an_ensemble_answers_with_the_mean_of_its_members(shared_shop):
    report = shared_shop.splits.report
    by_hand = sum(shared_shop.logits(member, report) for member in (A, B, C)) / 3
    torch.testing.assert_close(shared_shop.logits(Ensemble((A, B, C)), report), by_hand)
    assert parameters_of(shared_shop.module(Ensemble((A, B, C)))) == 3 * parameters_of(shared_shop.module(A))


def test_a_soup_has_the_mean_of_the_weights_and_statistics_of_its_own(shared_shop):
    soup = Soup((A, B, C))
    members = [parameters(shared_shop, member) for member in (A, B, C)]
    for name, weight in parameters(shared_shop, soup).items():
        torch.testing.assert_close(weight, sum(member[name] for member in members) / 3)
    found = statistics(shared_shop.module(soup))
    expected = calibrated_by_hand(shared_shop, shared_shop.module(soup), share_of(soup))
    for name, pair in expected.items():
        torch.testing.assert_close(found[name], pair, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.1, 0.4, 0.9])
def test_interpolated_weights_are_alpha_of_the_old_and_the_rest_of_the_new(shared_shop, alpha):
    mixed, olds, news = (parameters(shared_shop, model) for model in (Interpolated(A, B, alpha), A, B))
    for name, weight in mixed.items():
        torch.testing.assert_close(weight, alpha * olds[name] + (1 - alpha) * news[name])


def test_interpolated_networks_have_statistics_of_their_own(shared_shop):
    model = Interpolated(A, B, 0.5)
    found = statistics(shared_shop.module(model))
    expected = calibrated_by_hand(shared_shop, shared_shop.module(model), share_of(model))
    for name, pair in expected.items():
        torch.testing.assert_close(found[name], pair, rtol=1e-4, atol=1e-5)
        for other in (A, B):
            assert not torch.allclose(found[name][0], statistics(shared_shop.module(other))[name][0], rtol=1e-3)


@pytest.mark.parametrize("fisher", [0, 16])
def test_at_the_ends_interpolation_is_exactly_the_new_and_the_old_model(shared_shop, fisher):
    assert same(state(shared_shop, Interpolated(A, B, 0.0, fisher)), state(shared_shop, B))
    assert same(state(shared_shop, Interpolated(A, B, 1.0, fisher)), state(shared_shop, A))


def test_making_a_mixture_leaves_its_parts_as_they_were(shared_shop):
    before = [state(shared_shop, model) for model in (A, B)]
    for model in (Interpolated(A, B, 0.3), Soup((A, B)), Interpolated(A, B, 0.3, 16)):
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


def importances(shop, model, value):
    return {name: torch.full_like(weight, value) for name, weight in parameters(shop, model).items()}


def test_weights_of_equal_importance_are_mixed_as_if_there_were_none(tmp_path, shared_shop, monkeypatch):
    monkeypatch.setattr(combined, "fisher_information", lambda shop, model, samples: importances(shop, model, 0.7))
    fresh = workshop(shared_shop.folder)  # nothing made yet
    plain, weighted = (parameters(fresh, Interpolated(A, B, 0.3, samples)) for samples in (0, 16))
    for name, weight in plain.items():
        torch.testing.assert_close(weighted[name], weight)


def test_a_weight_counts_by_how_much_its_own_model_depends_on_it(shared_shop, monkeypatch):
    asked = []

    def known(shop, model, samples):
        asked.append((model, samples))
        values = importances(shop, model, 3.0 if model == OF_TWO else 1.0)
        values["stem.weight"].fill_(0.0)  # neither depends on the stem
        values["classifier.bias"].fill_(0.0 if model == OF_TWO else 2.0)  # the new one alone does
        return values

    monkeypatch.setattr(combined, "fisher_information", known)
    fresh = workshop(shared_shop.folder)
    model = Interpolated(OF_TWO, B, 0.25, 16)
    mixed, old, new = (parameters(fresh, each) for each in (model, OF_TWO, B))
    assert asked == [(OF_TWO, 16), (B, 16)]
    # (0.25 * 3 * old + 0.75 * 1 * new) / (0.25 * 3 + 0.75 * 1)
    name = "stages.0.0.conv1.weight"
    torch.testing.assert_close(mixed[name], (old[name] + new[name]) / 2)
    torch.testing.assert_close(
        mixed["classifier.weight"][:2], (old["classifier.weight"] + new["classifier.weight"][:2]) / 2
    )
    assert torch.equal(mixed["classifier.weight"][2:], new["classifier.weight"][2:])
    torch.testing.assert_close(mixed["stem.weight"], 0.25 * old["stem.weight"] + 0.75 * new["stem.weight"])
    torch.testing.assert_close(mixed["classifier.bias"], new["classifier.bias"])


def test_the_centric_member_is_the_nearest_to_the_mean_on_the_search_split(tmp_path):
    shop = workshop(tmp_path)
    one, middle, far = (
        Fixed(((value, 0.0, 0.0, 0.0),) * 256) for value in (0.0, 1.0, 9.0)
    )  # the mean is 10/3, and 1 is the nearest
    for members in ((one, middle, far), (middle, far, one)):
        assert shop.module(Centric(members)) is shop.module(middle)


def test_the_centric_member_has_the_smallest_squared_distance_over_all_samples_and_classes(shared_shop):
    logits = torch.stack([shared_shop.logits(member, shared_shop.splits.search) for member in (A, B, C)]).double()
    distances = ((logits - logits.mean(0)) ** 2).sum(dim=(1, 2))
    expected = (A, B, C)[int(distances.argmin())]
    assert shared_shop.module(Centric((A, B, C))) is shared_shop.module(expected)


# Bayesian update


def test_confusions_are_counted_by_class_with_one_more_of_each():
    predicted, targets = torch.tensor([0, 0, 1, 1, 1, 0]), torch.tensor([0, 0, 0, 1, 1, 2])
    by_hand = torch.tensor([[3 / 6, 2 / 6, 1 / 6], [1 / 5, 3 / 5, 1 / 5], [2 / 4, 1 / 4, 1 / 4]])
    torch.testing.assert_close(log_confusion(predicted, targets, 3), by_hand.log())


class Answers(nn.Module):
    """Answers the class that stands in a column of the images."""

    def __init__(self, column, classes=3):
        super().__init__()
        self.column, self.classes = column, classes
        self.weight = nn.Parameter(torch.zeros(column + 2))

    def forward(self, images):
        return nn.functional.one_hot(images[:, self.column].long(), self.classes).float()


OLD_CONFUSION = torch.tensor([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]])
NEW_CONFUSION = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]])


def decided(cost_ratio, pairs, old=OLD_CONFUSION, new=NEW_CONFUSION):
    module = BayesianDecision(Answers(0), Answers(1), old.log(), new.log(), cost_ratio)
    return module(torch.tensor(pairs)).argmax(dim=1).tolist()


EVERY_PAIR = [(old, new) for old in range(3) for new in range(3)]


@pytest.mark.parametrize("cost_ratio", [1.0, 1.4, 2.9, 10.0, 1e9])
def test_the_old_answer_stands_unless_another_is_surer_by_the_cost_ratio(cost_ratio):
    expected = []
    for old, new in EVERY_PAIR:
        posterior = [float(OLD_CONFUSION[y, old] * NEW_CONFUSION[y, new]) for y in range(3)]
        best = posterior.index(max(posterior))
        expected.append(best if posterior[best] > cost_ratio * posterior[old] else old)
    assert decided(cost_ratio, EVERY_PAIR) == expected
    if cost_ratio == 1e9:
        assert expected == [old for old, _ in EVERY_PAIR]


def test_the_worked_example_of_two_answers_that_disagree():
    # old says 0, new says 1: posteriors 0.8 * 0.2 = 0.16, 0.3 * 0.8 = 0.24, 0.2 * 0.05 = 0.01
    assert decided(1.0, [(0, 1)]) == [1]
    assert decided(1.49, [(0, 1)]) == [1]
    assert decided(1.51, [(0, 1)]) == [0]


@pytest.mark.parametrize("cost_ratio", [1.0, 2.0, 1e9])
def test_where_classes_share_the_highest_posterior_the_old_answer_still_stands(cost_ratio):
    # Both matrices say nothing: all classes are equally likely, whatever was answered.
    even = torch.full((3, 3), 1 / 3)
    assert decided(cost_ratio, EVERY_PAIR, even, even) == [old for old, _ in EVERY_PAIR]
    # Classes 0 and 1 share the highest posterior for every answer; class 2 has a third of it.
    two = torch.tensor([[0.3, 0.3, 0.3], [0.3, 0.3, 0.3], [0.1, 0.1, 0.1]])
    stands = [old if cost_ratio > 9 or old < 2 else 0 for old, _ in EVERY_PAIR]
    assert decided(cost_ratio, EVERY_PAIR, two, two) == stands


def test_the_values_are_the_log_posterior_with_the_decision_on_top():
    module = BayesianDecision(Answers(0), Answers(1), OLD_CONFUSION.log(), NEW_CONFUSION.log(), 5.0)
    (values,) = module(torch.tensor([(0, 1)])).exp().tolist()
    assert values == pytest.approx([0.24 / 0.41, 0.16 / 0.41, 0.01 / 0.41])  # of 0 and 1 exchanged
    (values,) = (
        BayesianDecision(Answers(0), Answers(1), OLD_CONFUSION.log(), NEW_CONFUSION.log(), 1.0)(torch.tensor([(0, 1)]))
        .exp()
        .tolist()
    )
    assert values == pytest.approx([0.16 / 0.41, 0.24 / 0.41, 0.01 / 0.41])


def test_bayesian_update_counts_on_the_search_split_and_has_both_networks(shared_shop):
    shop, search, report = shared_shop, shared_shop.splits.search, shared_shop.splits.report
    module = shop.module(BayesianUpdated(A, B, 2.0))
    assert parameters_of(module) == parameters_of(shop.module(A)) + parameters_of(shop.module(B))
    answers = {model: shop.logits(model, search).argmax(1).tolist() for model in (A, B)}
    for model, found in ((A, module.old_confusion), (B, module.new_confusion)):
        counts = [[1.0] * 4 for _ in range(4)]
        for target, answer in zip(search.targets.tolist(), answers[model], strict=True):
            counts[target][answer] += 1
        by_hand = [[math.log(count / sum(row)) for count in row] for row in counts]
        torch.testing.assert_close(found, torch.tensor(by_hand))
    old = shop.logits(A, report).argmax(dim=1)
    assert torch.equal(shop.logits(BayesianUpdated(A, B, 1e9), report).argmax(dim=1), old)
    assert not torch.equal(shop.logits(BayesianUpdated(A, B, 1.0), report).argmax(dim=1), old)


def test_bayesian_update_decides_among_the_classes_that_the_new_model_knows(shared_shop):
    new = Trained(SMALL, "new", share=Share(1.0, 0.75))
    model = BayesianUpdated(OF_TWO, new, 1.0)
    assert shared_shop.logits(model, shared_shop.splits.report).shape == (44, 3)
    known = shared_shop.splits.search.targets < 3
    found = shared_shop.module(model).new_confusion
    answers = shared_shop.logits(new, shared_shop.splits.search).argmax(dim=1)
    torch.testing.assert_close(found, log_confusion(answers[known], shared_shop.splits.search.targets[known], 3))


# What a combined model stands for


def test_a_combined_model_knows_what_its_newest_part_knows():
    assert share_of(Interpolated(OF_TWO, B, 0.5)) == share_of(BayesianUpdated(OF_TWO, B, 2.0)) == Share()
    for kind in (Ensemble, Soup, Centric):
        assert share_of(kind((OF_TWO, OF_TWO))) == Share(1.0, 0.5)


def test_the_architecture_of_one_set_of_weights_is_known_and_of_an_ensemble_is_not():
    given = Checkpoint(OTHER, "old.safetensors", "")
    for model in (A, Soup((A, B)), Centric((A, B)), Interpolated(B, A, 0.5), BayesianUpdated(given, A, 2.0)):
        assert network_of(model) == SMALL
    assert network_of(given) == OTHER
    assert network_of(Ensemble((A, B))) is None
    assert network_of(None) is None


def test_training_goes_on_from_the_new_model_of_a_pair():
    assert weights_in(BayesianUpdated(A, BayesianUpdated(C, B, 2.0), 2.0)) == B
    assert weights_in(Interpolated(A, B, 0.5)) == Interpolated(A, B, 0.5)
