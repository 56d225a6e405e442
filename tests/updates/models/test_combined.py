"""Models whose answers are made of others', against the formulas written out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from regnas.data import DataFraction
from regnas.networks import parameters_of
from regnas.updates.models import (
    BayesianUpdated,
    Centric,
    Checkpoint,
    Ensemble,
    FisherInterpolated,
    FisherMerged,
    Interpolated,
    Soup,
    Trained,
    network_of,
    share_of,
    weights_in,
)
from regnas.updates.models.combined import BayesianDecision, log_confusion
from tests.updates.models.making import OTHER, SMALL, open_store

A, B, C = (Trained(SMALL, chance) for chance in "abc")
OF_TWO = Trained(SMALL, "old", share=DataFraction(1.0, 0.5))  # has 2 of the 4 classes


@dataclass(frozen=True)
class Fixed:
    """A model whose logits are a function of the number in the first pixel."""

    answers: tuple[tuple[float, ...], ...]

    def parts(self):
        return ()

    def build(self, store):
        return LookedUp(torch.tensor(self.answers), store.splits.preprocessing)


class LookedUp(nn.Module):
    def __init__(self, answers, preprocessing):
        super().__init__()
        self.answers = nn.Parameter(answers)
        self.preprocessing = preprocessing

    def forward(self, images):
        (mean,), (std,) = self.preprocessing.mean, self.preprocessing.std
        pixels = (images[:, 0, 0, 0] * std + mean) * 255
        return self.answers[pixels.round().long()]


def test_an_ensemble_answers_with_the_mean_of_its_members(shared_shop):
    report = shared_shop.splits.report
    by_hand = sum(shared_shop.logits(member, report) for member in (A, B, C)) / 3
    torch.testing.assert_close(shared_shop.logits(Ensemble((A, B, C)), report), by_hand)
    assert parameters_of(shared_shop.module(Ensemble((A, B, C)))) == 3 * parameters_of(shared_shop.module(A))


def test_the_centric_member_is_the_nearest_to_the_mean_on_the_search_split(tmp_path):
    store = open_store(tmp_path)
    one, middle, far = (
        Fixed(((value, 0.0, 0.0, 0.0),) * 256) for value in (0.0, 1.0, 9.0)
    )  # the mean is 10/3, and 1 is the nearest
    for members in ((one, middle, far), (middle, far, one)):
        assert store.module(Centric(members)) is store.module(middle)


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
    """Predict the class that a column of the images holds."""

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
def test_if_classes_share_the_highest_posterior_the_old_prediction_is_kept(cost_ratio):
    # Both matrices are uninformative: all classes are equally likely for every prediction.
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
    store, search, report = shared_shop, shared_shop.splits.search, shared_shop.splits.report
    module = store.module(BayesianUpdated(A, B, 2.0))
    assert parameters_of(module) == parameters_of(store.module(A)) + parameters_of(store.module(B))
    answers = {model: store.logits(model, search).argmax(1).tolist() for model in (A, B)}
    for model, found in ((A, module.old_confusion), (B, module.new_confusion)):
        counts = [[1.0] * 4 for _ in range(4)]
        for target, answer in zip(search.targets.tolist(), answers[model], strict=True):
            counts[target][answer] += 1
        by_hand = [[math.log(count / sum(row)) for count in row] for row in counts]
        torch.testing.assert_close(found, torch.tensor(by_hand))
    old = store.logits(A, report).argmax(dim=1)
    assert torch.equal(store.logits(BayesianUpdated(A, B, 1e9), report).argmax(dim=1), old)
    assert not torch.equal(store.logits(BayesianUpdated(A, B, 1.0), report).argmax(dim=1), old)


def test_bayesian_update_decides_among_the_classes_of_the_new_model(shared_shop):
    new = Trained(SMALL, "new", share=DataFraction(1.0, 0.75))
    model = BayesianUpdated(OF_TWO, new, 1.0)
    assert shared_shop.logits(model, shared_shop.splits.report).shape == (44, 3)
    known = shared_shop.splits.search.targets < 3
    found = shared_shop.module(model).new_confusion
    answers = shared_shop.logits(new, shared_shop.splits.search).argmax(dim=1)
    torch.testing.assert_close(found, log_confusion(answers[known], shared_shop.splits.search.targets[known], 3))


# What a combined model stands for


def test_a_combined_model_has_the_classes_of_its_newest_part():
    assert share_of(Interpolated(OF_TWO, B, 0.5)) == share_of(BayesianUpdated(OF_TWO, B, 2.0)) == DataFraction()
    for kind in (Ensemble, Soup, Centric):
        assert share_of(kind((OF_TWO, OF_TWO))) == DataFraction(1.0, 0.5)


def test_the_architecture_of_one_set_of_weights_is_known_and_of_an_ensemble_is_not():
    given = Checkpoint(OTHER, "old.safetensors", "")
    mixtures = (Interpolated(given, A, 0.5), FisherInterpolated(given, A, 0.5, 16), FisherMerged(given, A, 0.5, 16))
    for model in (A, Soup((A, B)), Centric((A, B)), *mixtures, BayesianUpdated(given, A, 2.0)):
        assert network_of(model) == SMALL
    assert network_of(given) == OTHER
    assert network_of(Ensemble((A, B))) is None
    assert network_of(None) is None


def test_training_goes_on_from_the_new_model_of_a_pair():
    assert weights_in(BayesianUpdated(A, BayesianUpdated(C, B, 2.0), 2.0)) == B
    assert weights_in(Interpolated(A, B, 0.5)) == Interpolated(A, B, 0.5)
