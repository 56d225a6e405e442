"""Batches from background threads: their order, their bits, and how the threads end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from regnas.data import Loader, loading
from regnas.errors import DataError

SHAPE = (3, 2, 2)


class Numbered:
    """Image n has the value n in every pixel; the first images take longest, so that threads finish out of order."""

    def __init__(self, count: int, workers: int = 4, bad: int = -1) -> None:
        self.shape = torch.Size((count, *SHAPE))
        self.folder, self.workers, self.bad = Path("photos"), workers, bad
        self.asked: list[int] = []

    def fill(self, index: int, pixels: NDArray[np.uint8]) -> str | None:
        self.asked.append(index)
        time.sleep(0.001 * (index % 3))
        pixels[:] = index
        return f"{index}.jpg: broken" if index == self.bad else None


def wanted(*batches: list[int], epoch: int = 0) -> Iterator[tuple[Tensor, int]]:
    return ((torch.tensor(batch, dtype=torch.int64), epoch) for batch in batches)


def noisy(images: Tensor, indices: Tensor, epoch: int) -> Tensor:
    """Noise keyed by epoch and sample, and twice the size."""
    noise = [np.random.default_rng((epoch, index)).integers(0, 99, (3, 4, 4)) for index in indices.tolist()]
    return images.repeat(1, 1, 2, 2) + torch.from_numpy(np.stack(noise)).to(torch.uint8)


def image_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("images")]


def test_batches_come_in_the_given_order_with_repetitions_and_any_size() -> None:
    order = [[5, 3, 5], [0], [], list(range(30))]
    found = [batch[:, 0, 0, 0].tolist() for batch in Loader(Numbered(30)).batches(wanted(*order))]
    assert found == order


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_augmented_batches_do_not_depend_on_the_number_of_threads(workers: int) -> None:
    order = [list(range(20)), [7, 3]]
    ours = list(Loader(Numbered(20, workers), augment=noisy).batches(wanted(*order, epoch=5)))
    in_memory = torch.arange(20, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, *SHAPE)
    theirs = list(Loader(in_memory, augment=noisy).batches(wanted(*order, epoch=5)))
    for batch, found, other in zip(order, ours, theirs, strict=True):
        expected = noisy(in_memory[batch], torch.tensor(batch), 5)
        assert torch.equal(found, expected)
        assert torch.equal(other, expected)


def test_images_in_memory_are_copied_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "running_threads", lambda _: pytest.fail("threads were started"))
    images = torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1)
    assert [batch.flatten().tolist() for batch in Loader(images).batches(wanted([2, 0], [3]))] == [[2, 0], [3]]


def test_no_more_than_the_lead_is_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "LEAD", 6)
    images = Numbered(100)
    consumed: list[int] = []

    def order() -> Iterator[tuple[Tensor, int]]:
        for start in range(0, 100, 4):
            consumed.append(start)
            yield torch.arange(start, start + 4), 0

    batches = Loader(images).batches(order())
    for done in range(1, 5):
        next(batches)
        assert consumed[-1] == 4 * (done - 1 + 2)  # two batches of 4 hold 6 images
    batches.close()
    assert len(images.asked) <= 24
    assert image_threads() == []


@pytest.mark.parametrize("end", ["last batch", "bad image", "bad augmentation", "closed", "error of the caller"])
def test_threads_end_with_the_batches(end: str) -> None:
    def failing(images: Tensor, indices: Tensor, epoch: int) -> Tensor:
        raise ZeroDivisionError

    images = Numbered(64, bad=9 if end == "bad image" else -1)
    loader = Loader(images, augment=failing if end == "bad augmentation" else None)
    batches = loader.batches(wanted(*[[index] for index in range(64)]))
    if end == "bad image":
        with pytest.raises(DataError, match=r"cannot read an image in photos: 9\.jpg: broken\. Repair or remove it"):
            list(batches)
    elif end == "bad augmentation":
        with pytest.raises(ZeroDivisionError):
            list(batches)
    elif end == "error of the caller":
        with pytest.raises(KeyError):
            for _ in loader.batches(wanted(*[[index] for index in range(64)])):
                raise KeyError
    elif end == "closed":
        next(batches)
        batches.close()
    else:
        list(batches)
    assert image_threads() == []


def test_batches_before_a_bad_image_arrive() -> None:
    batches = Loader(Numbered(64, bad=9)).batches(wanted([0, 1], [8, 9], [10]))
    assert next(batches)[:, 0, 0, 0].tolist() == [0, 1]
    with pytest.raises(DataError, match=r"9\.jpg"):
        next(batches)


@pytest.mark.parametrize("source", ["files", "memory", "augmented"])
def test_batches_for_cuda_are_pinned_and_copied_without_waiting(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be no CUDA here: what torch is asked for is recorded, and carried out on the CPU."""
    asked: list[Any] = []
    empty, to = torch.empty, Tensor.to

    def recorded_empty(*arguments: Any, pin_memory: bool = False, **options: Any) -> Tensor:
        made = empty(*arguments, **options)
        if pin_memory:
            asked.append(made.data_ptr())
        return made

    def recorded_to(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        if arguments and arguments[0] == torch.device("cuda"):
            assert self.data_ptr() in asked
            asked.append((arguments, options))
            return self
        return to(self, *arguments, **options)

    monkeypatch.setattr(torch, "empty", recorded_empty)
    monkeypatch.setattr(Tensor, "to", recorded_to)
    in_memory = torch.arange(20, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, *SHAPE)
    loader = Loader(
        Numbered(20) if source == "files" else in_memory, torch.device("cuda"), noisy if source == "augmented" else None
    )
    (batch,) = loader.batches(wanted([4, 2]))
    if source != "augmented":
        assert batch[:, 0, 0, 0].tolist() == [4, 2]
    assert [each for each in asked if isinstance(each, tuple)] == [((torch.device("cuda"),), {"non_blocking": True})]
