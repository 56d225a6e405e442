"""A supernet and data small enough to search in seconds."""

from __future__ import annotations

import pytest
import torch

from benchmarks.tiny import write_arrays
from regnas.data import Arrays
from regnas.runtime import signals
from regnas.search.evaluation import CalibrationImages, Evaluator
from supernets.elastic_resnet import ElasticResNet

PLUGIN = ElasticResNet(widths=((4, 6, 8), (8, 12, 16)), depths=(1, 2), stem_width=4)


@pytest.fixture(scope="session")
def splits(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.npz"
    write_arrays(path)
    return Arrays(str(path), search_fraction=0.3).load()


@pytest.fixture(scope="session")
def plugin():
    return PLUGIN


@pytest.fixture(scope="session")
def supernet(splits):
    torch.manual_seed(0)
    return PLUGIN.supernet(splits.input_shape, 3).eval()


@pytest.fixture(scope="session")
def evaluator(supernet, splits):
    return Evaluator.in_process(supernet, splits, CalibrationImages(64, 64), torch.device("cpu"))


@pytest.fixture(scope="session")
def space(splits):
    return PLUGIN.space(splits.input_shape, 3)


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()
