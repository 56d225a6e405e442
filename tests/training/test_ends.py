from __future__ import annotations

import numpy as np
import pytest
import torch

from regnas.data import Preprocessing, Split
from regnas.losses import CrossEntropy, LogitDifferenceInhibition
from regnas.training import Curriculum, Ends, ForkedTraining, Recipe, SupernetObjective, TeachingTerm, Trainer
from regnas.training.schedules import Ramp
from regnas.training.sub_networks import Sandwich
from regnas.training.teachers import Mean
from supernets.elastic_resnet import ElasticResNet

SHAPE, CLASSES = (1, 8, 8), 3
PLUGIN = ElasticResNet(widths=((4, 8), (8, 16)), depths=(1, 2), stem_width=4)
SPACE = PLUGIN.space(SHAPE, CLASSES)
KEY = (0, "ends")
LATE = Curriculum(Sandwich(1), {"late": TeachingTerm(Mean(), LogitDifferenceInhibition(), 0.5, Ramp(0.6, 0.7))})


def trainer():
    generator = torch.Generator().manual_seed(0)
    targets = torch.arange(48) % CLASSES
    images = torch.randint(0, 80, (48, *SHAPE), generator=generator) + 60 * targets[:, None, None, None]
    split = Split("train", images.to(torch.uint8), targets, np.arange(48).astype(str), np.arange(48))
    recipe = Recipe(epochs=3, batch_size=16, learning_rate=0.05)  # 9 steps: the late lesson begins with step 6
    return Trainer(recipe, split, Preprocessing.fitted_to(images.to(torch.uint8)), torch.device("cpu"))


def start():
    torch.manual_seed(1)
    return PLUGIN.supernet(SHAPE, CLASSES)


def objective(curriculum):
    return SupernetObjective(SPACE, curriculum, CrossEntropy(), KEY)


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_each_end_is_what_a_whole_training_would_have_been(tmp_path):
    ends = ForkedTraining(trainer(), objective, LATE, tmp_path / "forked").train(start, KEY, "")
    for curriculum, end in ((LATE.plain(), ends.plain), (LATE, ends.congruent)):
        alone = start()
        trainer().train(alone, objective(curriculum), KEY, tmp_path / str(len(curriculum.lessons)), "")
        assert same(end, alone.state_dict())
    assert not same(ends.plain, ends.congruent)


def test_weights_between_the_ends():
    plain = {"w": torch.tensor([0.0, 2.0]), "count": torch.tensor(3)}
    ends = Ends(plain, {"w": torch.tensor([4.0, 2.0]), "count": torch.tensor(9)})
    assert ends.at(0.25)["w"].tolist() == [1.0, 2.0]
    assert ends.at(0.0)["w"].tolist() == [0.0, 2.0]
    assert ends.at(1.0)["w"].tolist() == [4.0, 2.0]
    assert int(ends.at(1.0)["count"]) == 3


def test_what_both_ends_cost():
    """Nine steps of one, and of the other the three that come after the fork."""
    forked = ForkedTraining(trainer(), objective, LATE, None)
    assert forked.fork_step == 6
    steps = [objective(LATE).macs_of(index, index / 9) for index in range(9)]
    assert forked.macs() == 16 * (sum(steps) + sum(steps[6:]))


def test_without_a_later_lesson_there_is_one_end(tmp_path):
    ends = ForkedTraining(trainer(), objective, LATE.plain(), tmp_path).train(start, KEY, "")
    assert same(ends.plain, ends.congruent)
    assert {path.name for path in tmp_path.iterdir()} == {"shared"}


def test_interpolation_needs_a_line_to_walk_on():
    with pytest.raises(ValueError, match="needs a lesson whose schedule begins after the start"):
        Curriculum(interpolation=0.5)
    with pytest.raises(ValueError, match=r"interpolation must be between 0 and 1, got 1\.5"):
        Curriculum(lessons=LATE.lessons, interpolation=1.5)
