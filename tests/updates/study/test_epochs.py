"""Flips by epoch: the rates, and whose epochs can be shown."""

from __future__ import annotations

import numpy as np
import pytest

from regnas.errors import ConfigurationError
from regnas.updates.config import parse_update
from regnas.updates.epochs import rates, watched_variants
from regnas.updates.planning import plan_all

NETWORK = {"name": "small_resnet", "widths": [4, 8]}
MODELS = {"old": {"network": NETWORK, "samples": 0.5}, "new": {"network": NETWORK}}


def configured(methods=("none", "elodi", "ensemble", "bcwi"), models=MODELS, **changes):
    table = {"data": {"name": "digits"}, "models": models, "methods": {name: {} for name in methods}} | changes
    return parse_update("test", table)


def labels_of(config, labels):
    variants = plan_all(config, config.values.chain)
    return [variant.label for variant in watched_variants(config.values, variants, labels)]


def test_rates_are_those_by_hand():
    """Four samples of old classes and one of a class that the old model does not have."""
    targets = np.array([0, 1, 0, 1, 2])
    old = np.array([0, 1, 0, 0, 1])  # correct, correct, correct, wrong
    new = np.array([[1, 0, 0, 0, 2], [0, 2, 0, 1, 0]], dtype=np.int32)
    found = rates(old, new, targets, classes=2)
    assert found.error_rate == (0.75, 0.25)
    assert found.nfr == (0.5, 0.25)
    assert found.relative_nfr == pytest.approx((0.5 / (0.75 * 0.75), 0.25 / (0.75 * 0.25)))


def test_without_errors_the_relative_rate_is_0():
    right = np.array([0, 1])
    assert rates(right, right[None].astype(np.int32), right, classes=2).relative_nfr == (0,)


def test_named_methods_are_watched_and_all_are_those_that_end_in_one_training():
    config = configured()
    assert labels_of(config, ["elodi"]) == ["elodi"]
    assert labels_of(config, ["all"]) == ["none", "elodi", "fine_tuning"]
    assert labels_of(config, []) == []


def test_in_a_chain_a_method_is_watched_with_each_kind_of_references():
    models = {"a": {"network": NETWORK}, "b": {"network": NETWORK}, "c": {"network": NETWORK}}
    methods = ("none", "knowledge_distillation")
    config = configured(methods, models, references=["chain", "fc"])
    found = labels_of(config, ["knowledge_distillation"])
    assert found == ["knowledge_distillation-chain", "knowledge_distillation-fc"]


def test_a_method_whose_new_model_is_made_of_others_has_no_epochs():
    with pytest.raises(
        ConfigurationError, match=r"methods\.bcwi must end in one training, got Interpolated, which has"
    ):
        labels_of(configured(), ["bcwi"])


def test_a_method_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ConfigurationError, match=r'by_epoch must name methods, got "kd"\. Choose from none, .*, all\.'):
        configured(by_epoch=["kd"])
