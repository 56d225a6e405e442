"""Batch-norm calibration gives what once-for-all's own gives, so that published supernets predict as published."""

from __future__ import annotations

from random import Random

import pytest
import torch

from regnas.data import Preprocessing
from regnas.search.evaluation import CandidateRunner
from regnas.space import Budget, BudgetSampler
from regnas.supernet import SUPERNETS

pytestmark = pytest.mark.slow

SHAPE, CLASSES = (3, 32, 32), 10


def test_calibrated_candidates_predict_what_ofas_predict():
    from ofa.imagenet_classification.elastic_nn.utils import set_running_statistics

    torch.manual_seed(0)
    plugin = SUPERNETS["ofa_mobilenet_v3"]()
    supernet, space = plugin.supernet(SHAPE, CLASSES).eval(), plugin.space(SHAPE, CLASSES)
    anywhere, random = BudgetSampler(space, Budget(*space.macs_range)), Random(0)
    some = [anywhere.sample(random) for _ in range(3)]
    calibration, images = (torch.randint(0, 256, (64, *SHAPE), dtype=torch.uint8) for _ in range(2))
    preprocessing = Preprocessing((0.5,) * 3, (0.25,) * 3)
    runner = CandidateRunner(supernet, calibration, images, preprocessing, torch.device("cpu"))
    together, _ = runner.run(some)
    for architecture, predicted in zip(some, together, strict=True):
        supernet(preprocessing(images[:2]), architecture)  # makes it ofa's active sub-network
        peer = supernet.network.get_active_subnet(preserve_weight=True)
        set_running_statistics(peer, [(preprocessing(calibration), None)])
        with torch.no_grad():
            expected = peer.eval()(preprocessing(images))
            alone = runner.network(architecture, calibration)(preprocessing(images))
        torch.testing.assert_close(alone, expected, rtol=1e-3, atol=1e-3 * float(expected.std()))
        top, second = expected.topk(2).values.unbind(1)
        clear = (top - second > 3e-3 * expected.std()).numpy()  # only a tie may be decided otherwise
        assert clear.mean() > 0.9
        assert (predicted == expected.argmax(1).numpy())[clear].all()
