"""Predict with a network: run images in batches without gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from regnas.data import Images, Preprocessing, Split, batches_of
from regnas.flips import Predictions

PREDICTION_BATCH = 512
# Large images come in smaller batches, so that the activations of a batch fit into memory.
PREDICTION_PIXELS = 2**20
FEWEST_PREDICTED = 16


def prediction_batch(shape: Sequence[int]) -> int:
    """Return the batch size for images of the shape [..., H, W]."""
    pixels = shape[-1] * shape[-2]
    return max(FEWEST_PREDICTED, min(PREDICTION_BATCH, PREDICTION_PIXELS // pixels))


def spread_images(split: Split, count: int) -> Tensor:
    """Return a fixed set of images, spread evenly over the split so that it covers all classes and originals."""
    chosen = torch.linspace(0, len(split) - 1, min(count, len(split))).round().long()
    return split.images[chosen]


def prepare_spread_images(split: Split, preprocessing: Preprocessing, count: int, device: torch.device) -> Tensor:
    """Return ``spread_images`` as a network reads them."""
    return prepare_batch(spread_images(split, count), preprocessing, device)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Images [N, C, H, W] that are kept as bytes; a slice is prepared for a network on request."""

    images: Tensor
    preprocessing: Preprocessing
    device: torch.device

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: slice) -> Tensor:
        return prepare_batch(self.images[index], self.preprocessing, self.device)


def prepare_batch(images: Images, preprocessing: Preprocessing, device: torch.device) -> Tensor:
    return preprocessing(images[:].to(device)).contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def logits_of(network: nn.Module, images: Tensor) -> Tensor:
    """Return the logits, [N, C, H, W] -> [N, classes]; the network is left in evaluation mode."""
    network.eval()
    return torch.cat([network(batch) for batch in torch.split(images, prediction_batch(images.shape))])


@torch.no_grad()
def logits_on(network: nn.Module, split: Split, preprocessing: Preprocessing, device: torch.device) -> Tensor:
    """Return the logits [samples of the split, classes] on the CPU, batch by batch without copying all images.

    The next batch of streamed images is decoded while the network runs on the current one.
    """
    batches = batches_of(split.images, prediction_batch(split.images.shape))
    answers = (logits_of(network, prepare_batch(batch, preprocessing, device)) for batch in batches)
    return gather(answers, len(split))


def gather(answers: Iterable[Tensor], samples: int) -> Tensor:
    """Collect the logits of all batches, each [M, classes], in one tensor [samples, classes] on the CPU.

    Small tensors kept from every batch would fragment the memory between the large ones that are freed, so it would
    still grow with the number of images.
    """
    whole: Tensor | None = None
    done = 0
    for logits in answers:
        if whole is None:
            whole = torch.empty(samples, logits.shape[1])
        whole[done : done + len(logits)] = logits.float().cpu()
        done += len(logits)
    if whole is None or done != samples:
        raise ValueError(f"logits must cover {samples} samples, got {done}")
    return whole


def predictions_from(model: str, logits: Tensor, split: Split, keep_logits: bool) -> Predictions:
    values = logits.float().cpu().numpy()
    return Predictions(
        model=model,
        ids=split.ids,
        # A copy: passing the split to worker processes moves the tensor, which would invalidate a view.
        targets=split.targets.numpy().copy(),
        predicted=values.argmax(axis=1).astype(np.int64),
        logits=values if keep_logits else None,
        groups=split.groups,
        split=split.digest,
    )
