"""A classifier on samples."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from regnas.errors import EnvironmentProblem
from regnas.flips import Predictions
from regnas.prediction.classes import outputs_by_class
from regnas.prediction.data import Samples
from regnas.prediction.models import Classifier
from regnas.runtime.progress import track
from regnas.runtime.signals import stop_unwritten
from regnas.training import gather, prediction_batch, predictions_from, prepare_batch


@torch.no_grad()
def predict(
    classifier: Classifier, samples: Samples, device: torch.device, batch_size: int | None = None
) -> Predictions:
    """The classes are numbered as the data number them, so that the answers of two models can be compared.

    By default batches are as large as those of a run, which makes the answers to its own samples the same to the bit.
    """
    outputs = outputs_by_class(
        classifier.name, classifier.classes, samples.source, samples.classes, by_number=classifier.by_number
    )
    size = batch_size or prediction_batch(classifier.reading.shape)
    batches = samples.batches(classifier.reading, size)
    network = classifier.network.to(device).to(memory_format=torch.channels_last)  # as in a run, to the bit

    def answers() -> Iterator[Tensor]:
        for batch in track(batches, f"predict {classifier.name}", math.ceil(len(samples) / size)):
            yield network(prepare_batch(batch, classifier.preprocessing, device))[:, outputs]  # [M, outputs]
            stop_unwritten()

    try:
        logits = gather(answers(), len(samples))
    except torch.OutOfMemoryError:
        raise EnvironmentProblem(
            f"{device} has no memory for {size} images of {classifier.name} at once: lower --batch-size"
        ) from None
    return predictions_from(classifier.name, logits, samples.split, keep_logits=True)
