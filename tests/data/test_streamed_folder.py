"""Folders of which only the search split is kept: nothing of it is decoded twice, and networks run on the rest."""

from __future__ import annotations

import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from regnas.augmentations.shift import Shift
from regnas.data import Preprocessing, Splits
from regnas.errors import DataError, EnvironmentProblem, Interrupted
from regnas.runtime import signals
from regnas.training import (
    Recipe,
    SingleNetwork,
    Step,
    Trainer,
    logits_on,
    prediction,
    prepare_spread_images,
)
from tests.data.photographs import Decoded, make_photographs, photograph, streamed

CPU = torch.device("cpu")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_photographs(tmp_path / "photographs")


def test_all_images_are_checked_and_the_search_split_is_decoded_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = Decoded(monkeypatch)
    first = streamed(root, transform="imagenet").load()
    assert len(first.search) == 6
    ids = [name for split in first.all for name in split.ids.tolist()]
    assert decoded.taken() == sorted(ids + first.search.ids.tolist())
    again = streamed(root, transform="imagenet").load()
    assert torch.equal(again.search.images, first.search.images)
    assert again.digest == first.digest
    assert decoded.taken() == []
    again.report.images[2:4]
    assert decoded.taken() == again.report.ids[2:4].tolist()


def test_fitting_decodes_a_few_training_images_and_only_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regnas.data.preprocessing.MOST_DECODED", 4)
    first = streamed(root).load()
    fitted = first.train.ids[[0, 4, 9, 13]].tolist()  # of 18: floor(i * 18 / 4)
    (record,) = (path for path in (root.parent / "cache").rglob("*.json") if "mean" in path.read_text())
    record.unlink()
    decoded = Decoded(monkeypatch)
    again = streamed(root).load()
    assert decoded.taken() == sorted(fitted)
    assert again.preprocessing == first.preprocessing
    streamed(root).load()
    assert decoded.taken() == []


def test_what_was_fitted_is_fitted_again_when_it_is_damaged_or_of_other_images(root: Path) -> None:
    first = streamed(root).load()
    records = sorted((root.parent / "cache").rglob("*.json"))
    (record,) = (path for path in records if "mean" in path.read_text())
    content = record.read_text()
    for damaged in ("", "[]", "{}", content.replace("0.", "0.1", 1), content.replace("mean", "name")):
        record.write_text(damaged)
        assert streamed(root).load().preprocessing == first.preprocessing
        assert record.read_text() == content
    photograph(root / "train" / "class0" / "9.JPEG", 9)
    other = streamed(root).load()
    assert other.preprocessing == Preprocessing.fitted_to(other.train.images[:])
    assert other.preprocessing != first.preprocessing


def test_the_two_transforms_are_kept_apart(root: Path) -> None:
    for keep in ("all", "search"):
        fit = streamed(root, keep=keep).load().search.images
        imagenet = streamed(root, keep=keep, transform="imagenet").load().search.images
        assert not torch.equal(fit, imagenet)
        assert torch.equal(fit, streamed(root, keep=keep).load().search.images)


@pytest.mark.parametrize("keep", ["all", "search"])
@pytest.mark.parametrize(("wanted", "of_each_class"), [(3, 1), (6, 2), (12, 4), (1, 1), (23, 7)])
def test_search_images_are_taken_from_every_class(root: Path, keep: str, wanted: int, of_each_class: int) -> None:
    splits = streamed(root, keep=keep, search_images=wanted).load()
    assert splits.search.targets.bincount().tolist() == [of_each_class] * 3
    assert len(splits.train) == 24 - 3 * of_each_class


def test_more_search_images_than_there_are_is_refused_before_decoding(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = Decoded(monkeypatch)
    with pytest.raises(DataError, match=r"search_images must be below the number of images in train/ \(24\), got 24"):
        streamed(root, search_images=24).load()
    (root / "val" / "emu").mkdir()
    with pytest.raises(DataError, match=r'must have images, got 1 of 4 without, first "emu"'):
        streamed(root).load()
    assert decoded.taken() == []


def test_a_disk_that_is_too_small_is_named_before_decoding(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = Decoded(monkeypatch)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**6, 10**6, 24 * 768 - 1))
    for options in ({"keep": "all"}, {"pack": "pixels"}):
        with pytest.raises(EnvironmentProblem, match='set "cache" of the data set to another folder'):
            streamed(root, **options).load()
    assert decoded.taken() == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workers": -1}, "workers must be 0 or above, got -1"),
        ({"search_images": -1}, "search_images must be 0 or above, got -1"),
        ({"keep": "all", "pack": "jpeg"}, 'pack must be "none" if keep is "all", got "jpeg". Set keep to "search"'),
        ({"transform": "imagenet", "channels": 1}, "channels must be 3 for the transform"),
    ],
)
def test_impossible_options_are_refused(tmp_path: Path, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        streamed(tmp_path, **wrong)


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(196, 3))


def pair(root: Path) -> tuple[Splits, Splits]:
    return streamed(root).load(), streamed(root, keep="all").load()


def test_predictions_on_streamed_images_are_those_on_a_tensor(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "PREDICTION_BATCH", 4)
    ours, theirs = pair(root)
    for split, kept in zip(ours.all, theirs.all, strict=True):
        found = logits_on(network(), split, ours.preprocessing, CPU)
        assert torch.equal(found, logits_on(network(), kept, ours.preprocessing, CPU))
        assert found.shape == (len(kept), 3)


def test_calibration_decodes_its_own_images_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pair(root)
    decoded = Decoded(monkeypatch)
    found = prepare_spread_images(ours.train, ours.preprocessing, 5, CPU)
    assert torch.equal(found, prepare_spread_images(theirs.train, ours.preprocessing, 5, CPU))
    assert decoded.taken() == sorted(ours.train.ids[[0, 4, 8, 13, 17]].tolist())


class StopAt(SingleNetwork):
    """Asks to stop while the given step is computed."""

    def __init__(self, index: int) -> None:
        super().__init__()
        object.__setattr__(self, "index", index)

    def __call__(self, model: nn.Module, step: Step) -> torch.Tensor:
        if step.index == self.index:  # type: ignore[attr-defined]
            signals.ask_to_stop(signal.SIGTERM)
        return super().__call__(model, step)


def trained(splits: Splits, folder: Path, stop: int = -1) -> list[np.ndarray]:
    recipe = Recipe(epochs=2, batch_size=6, augmentations=(Shift(1),))
    trainer = Trainer(recipe, splits.train, splits.preprocessing, CPU)
    if stop >= 0:
        with pytest.raises(Interrupted):
            trainer.train(network(), StopAt(stop), (0,), folder, "")
        signals._received.clear()
        assert not [each for each in threading.enumerate() if each.name.startswith("images")]
    model = network()
    trainer.train(model, SingleNetwork(), (0,), folder, "")
    return [tensor.numpy() for tensor in model.state_dict().values()]


def test_training_on_streamed_images_ends_with_the_same_bits(root: Path, tmp_path: Path) -> None:
    """Also if it is interrupted in the middle of an epoch, and with another number of threads."""
    expected = trained(streamed(root, keep="all").load(), tmp_path / "kept")
    for options in ({}, {"pack": "pixels", "workers": 1}):
        found = trained(streamed(root, **options).load(), tmp_path / f"streamed {options}", stop=4)
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    of_jpegs = streamed(root, pack="jpeg").load()
    found, unbroken = trained(of_jpegs, tmp_path / "broken", stop=1), trained(of_jpegs, tmp_path / "jpeg")
    assert all(np.array_equal(one, other) for one, other in zip(found, unbroken, strict=True))
    assert not np.array_equal(found[0], expected[0])
