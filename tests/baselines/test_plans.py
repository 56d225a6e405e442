from __future__ import annotations

import pytest

from regnas.baselines import BASELINES, Training
from regnas.baselines.sources import needed
from regnas.losses import FocalDistillationLM, LogitDifferenceInhibition
from supernets.elastic_resnet import ElasticResNet

SPACE = ElasticResNet().space((1, 16, 16), 10)
FAMILY = {"small": SPACE.smallest, "large": SPACE.largest}


def plan(name, **settings):
    return BASELINES[name](**settings).plan(FAMILY, None)


def test_independent_trainings_have_the_familys_architectures_and_no_teacher():
    assert plan("independent") == {"small": Training(SPACE.smallest), "large": Training(SPACE.largest)}


def test_focal_distillation_goes_from_each_member_to_the_next():
    plans = plan("focal_distillation", beta=7.0)
    assert plans["small"] == Training(SPACE.smallest)
    large = plans["large"]
    assert (large.label_weight, large.weight, large.teachers) == (1.0, 1.0, (plans["small"],))
    assert large.loss == FocalDistillationLM(1.0, 7.0)


def test_elodi_distils_ensembles_of_the_same_architecture():
    large = plan("elodi", members=3)["large"]
    assert (large.label_weight, large.weight) == (pytest.approx(0.2), 0.8)
    assert large.loss == LogitDifferenceInhibition(2.0, 10)
    assert large.teachers == tuple(Training(SPACE.largest, repeat) for repeat in range(3))


def test_what_several_methods_need_is_trained_once():
    trainings = [source for name in ("independent", "focal_distillation", "elodi") for source in plan(name).values()]
    # 2 independent + 1 focal + 2 students + 2 * 7 further ensemble members
    assert len(needed(trainings)) == 2 + 1 + 2 + 14


def test_the_id_of_a_training_depends_on_everything_in_it():
    base = Training(SPACE.smallest)
    others = [
        Training(SPACE.largest),
        Training(SPACE.smallest, repeat=1),
        Training(SPACE.smallest, label_weight=0.5),
        Training(SPACE.smallest, loss=FocalDistillationLM(), weight=1.0, teachers=(base,)),
        Training(SPACE.smallest, loss=FocalDistillationLM(beta=2.0), weight=1.0, teachers=(base,)),
        Training(SPACE.smallest, loss=FocalDistillationLM(), weight=1.0, teachers=(Training(SPACE.largest),)),
    ]
    assert len({training.id for training in [base, *others]}) == 7
    assert Training(SPACE.smallest).id == base.id


@pytest.mark.parametrize("settings", [{"members": 0}, {"alpha": 1.5}])
def test_impossible_elodi_is_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        BASELINES["elodi"](**settings)
