"""How sure a model is, against probabilities worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from regnas.flips import Predictions, probabilities_of, severities, softmax

LOGITS = np.log(np.array([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.1, 0.1, 0.8]])).astype(np.float32)


def predictions(**changes) -> Predictions:
    values = {
        "model": "m",
        "ids": np.arange(3),
        "targets": np.array([1, 1, 0]),
        "predicted": np.array([0, 1, 2]),
        "logits": LOGITS,
    }
    return Predictions(**(values | changes))


def test_severity_is_the_probability_of_the_answer_minus_that_of_the_label():
    found = severities(predictions(), np.array([2, 0]))
    assert found == pytest.approx([0.8 - 0.1, 0.7 - 0.2])


def test_without_logits_severity_is_0_and_no_probability_is_known():
    bare = predictions(logits=None)
    assert severities(bare, np.array([0, 2])).tolist() == [0, 0]
    assert probabilities_of(bare, np.array([0]), bare.predicted) is None


def test_a_class_without_a_logit_has_the_probability_0():
    new_class = predictions(targets=np.array([5, 1, 0]))
    assert probabilities_of(new_class, np.arange(3), new_class.targets) == pytest.approx([0, 0.5, 0.1])


def test_softmax_of_huge_logits_is_finite():
    assert softmax(np.array([[3e38, -3e38]], np.float32)).tolist() == [[1, 0]]
