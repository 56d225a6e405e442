"""Two models that answer together, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from torch import nn

from regnas.data import DataFraction
from regnas.networks import parameters_of
from regnas.updates.models import Averaged, Ensemble, Trained, network_of, share_of, weights_in
from regnas.updates.models.averaged import MeanOfTwo
from tests.updates.models.making import SMALL

OLD, NEW = Trained(SMALL, "old"), Trained(SMALL, "new")
OF_TWO = Trained(SMALL, "old", share=DataFraction(1.0, 0.5))  # has 2 of the 4 classes


class Says(nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = torch.tensor(logits, dtype=torch.float64)

    def forward(self, images):
        return self.logits


def answer(old, new, of):
    return MeanOfTwo(Says(old), Says(new), of)(torch.zeros(len(new))).exp().numpy()


def by_hand(old, new, of):
    rows = []
    for old_row, new_row in zip(old, new, strict=True):
        p, q, known = softmax(old_row), softmax(new_row), len(old_row)
        together = q[:known].sum()
        if of == "probabilities":
            inside = (p + q[:known] / together) / 2
        else:
            inside = np.sqrt(p * q[:known])
            inside = inside / inside.sum()
        rows.append(np.concatenate([together * inside, q[known:]]))
    return np.array(rows)


@pytest.mark.parametrize("of", ["logits", "probabilities"])
@pytest.mark.parametrize("known", [1, 3, 5])
def test_the_mean_is_taken_among_the_classes_that_both_know(of, known):
    random = np.random.default_rng(4)
    old, new = random.normal(size=(6, known)) * 2, random.normal(size=(6, 5)) * 2
    found = answer(old, new, of)
    np.testing.assert_allclose(found, by_hand(old, new, of), rtol=1e-10)
    np.testing.assert_allclose(found.sum(1), 1)
    np.testing.assert_allclose(found[:, known:], softmax(new, axis=1)[:, known:], rtol=1e-10)


@pytest.mark.parametrize("of", ["logits", "probabilities"])
@given(st.floats(-50, 50), st.floats(-50, 50), st.integers(0, 2**32 - 1))
def test_a_constant_on_all_logits_of_a_model_changes_nothing(of, old_shift, new_shift, seed):
    random = np.random.default_rng(seed)
    old, new = random.normal(size=(3, 2)), random.normal(size=(3, 4))
    np.testing.assert_allclose(answer(old + old_shift, new + new_shift, of), answer(old, new, of), rtol=1e-9)


def test_on_the_same_classes_it_is_the_mean_of_logits_or_of_probabilities(shared_shop):
    report = shared_shop.splits.report
    old, new = (shared_shop.logits(model, report) for model in (OLD, NEW))
    torch.testing.assert_close(shared_shop.logits(Averaged(OLD, NEW), report).softmax(1), ((old + new) / 2).softmax(1))
    torch.testing.assert_close(
        shared_shop.logits(Averaged(OLD, NEW, "probabilities"), report).exp(), (old.softmax(1) + new.softmax(1)) / 2
    )
    together = shared_shop.logits(Ensemble((OLD, NEW)), report)
    assert torch.equal(shared_shop.logits(Averaged(OLD, NEW), report).argmax(1), together.argmax(1))


def test_it_answers_for_all_classes_of_the_new_model_and_both_networks_count(shared_shop):
    model = Averaged(OF_TWO, NEW)
    assert shared_shop.logits(model, shared_shop.splits.report).shape == (44, 4)
    both = parameters_of(shared_shop.module(OF_TWO)) + parameters_of(shared_shop.module(NEW))
    assert parameters_of(shared_shop.module(model)) == both
    assert share_of(model) == NEW.share


def test_what_is_trained_further_is_the_new_model():
    assert weights_in(Averaged(OLD, NEW)) == NEW
    assert weights_in(Averaged(OLD, Averaged(OLD, NEW))) == NEW
    assert network_of(Averaged(OLD, NEW)) is None  # no single network to export
