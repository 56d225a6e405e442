"""Starting from the weights of an older model."""

from __future__ import annotations

import pytest
import torch

from regnas.data import DataFraction
from regnas.errors import ConfigurationError
from regnas.networks import SmallResNet
from regnas.training import Clipping
from regnas.updates.models import Trained
from regnas.updates.models.trained import inherit
from tests.updates.models.making import SMALL

SHAPE = (1, 8, 8)


def network(seed, classes=4, architecture=SMALL):
    torch.manual_seed(seed)
    built = architecture.build(SHAPE, classes)
    for name, tensor in built.state_dict().items():
        if "running" in name:
            tensor.uniform_(0.5, 1.5)
        if "num_batches" in name:
            tensor.fill_(seed)
    return built


def test_every_tensor_is_copied_statistics_included():
    new, old = network(1), network(2)
    before = {name: tensor.clone() for name, tensor in old.state_dict().items()}
    inherit(new, old)
    for name, tensor in new.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    new.stem.weight.data.fill_(0.0)  # a copy and not the same memory
    assert torch.equal(old.stem.weight, before["stem.weight"])


def test_classes_that_were_added_keep_their_fresh_rows():
    new, old = network(1, classes=4), network(2, classes=3)
    fresh = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    inherit(new, old)
    for name in ("classifier.weight", "classifier.bias"):
        assert torch.equal(new.state_dict()[name][:3], old.state_dict()[name])
        assert torch.equal(new.state_dict()[name][3:], fresh[name][3:])
    assert torch.equal(new.stem.weight, old.stem.weight)


@pytest.mark.parametrize(
    "older",
    [
        network(2, architecture=SmallResNet(widths=(4, 6))),
        network(2, architecture=SmallResNet(widths=(4, 12))),
        network(2, architecture=SmallResNet(widths=(4, 8), blocks=2)),
        network(2, architecture=SmallResNet(widths=(4,))),
        network(2, architecture=SmallResNet(widths=(4, 8), expansion=0.5)),
        network(2, classes=5),
    ],
    ids=["narrower", "wider", "deeper", "shallower", "thinner inside", "more classes"],
)
def test_another_architecture_is_refused_and_nothing_is_copied(older):
    new = network(1)
    before = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    with pytest.raises(ConfigurationError, match="that starts from other weights must have their architecture"):
        inherit(new, older)
    assert all(torch.equal(tensor, before[name]) for name, tensor in new.state_dict().items())


def test_a_training_starts_where_the_older_one_ended(tmp_path, store, monkeypatch):
    old = Trained(SMALL, "old", share=DataFraction(1.0, 0.5))
    seen = {}

    def first_state(trainer, model, *_, **__):
        seen.update({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return Clipping(trainer.recipe.clip_norm)

    older = store.module(old).state_dict()
    monkeypatch.setattr("regnas.training.Trainer.train", first_state)
    store.module(Trained(SMALL, "new", start=old))
    assert seen["classifier.weight"].shape == (4, 8)
    assert all(
        torch.equal(seen[name][: len(tensor)] if tensor.ndim else seen[name], tensor) for name, tensor in older.items()
    )
