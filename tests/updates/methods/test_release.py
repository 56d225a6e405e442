from __future__ import annotations

import pytest

from regnas.data import Preprocessing
from regnas.networks import Normalized, SmallResNet, TimmModel, TorchvisionModel
from regnas.updates.methods import Release
from regnas.updates.normalization import parse_normalization


def test_the_statistics_of_published_weights_are_those_of_the_network():
    release = Release(TorchvisionModel("resnet18"), normalization=parse_normalization("published"))
    imagenet = Preprocessing((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert release.statistics == imagenet
    assert release.reading.network == Normalized(TorchvisionModel("resnet18"), imagenet)


def test_timm_has_other_statistics_for_other_weights():
    pytest.importorskip("timm")
    release = Release(TimmModel("tf_efficientnet_lite0"), normalization="published")
    assert release.statistics == Preprocessing((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


def test_a_network_without_published_weights_has_none():
    with pytest.raises(ValueError, match="must belong to a network with published weights"):
        Release(SmallResNet(), normalization="published")
    assert Release(SmallResNet()).statistics is None
