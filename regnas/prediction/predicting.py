"""Predict with a classifier on labeled samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from regnas.data import SplitName
from regnas.errors import ConfigurationError, EnvironmentProblem
from regnas.flips import Predictions
from regnas.prediction.classes import outputs_by_class
from regnas.prediction.data import Samples, samples_of
from regnas.prediction.models import Classifier, load_classifier
from regnas.runtime.files import check_output
from regnas.runtime.machine import choose_device
from regnas.runtime.progress import track
from regnas.runtime.signals import stop_unwritten
from regnas.training import gather, prediction_batch, predictions_from, prepare_batch

DEVICES = ("auto", "cpu", "cuda", "mps")


def predict(
    model: str | Path,
    data: str | Path,
    *,
    out: str | Path | None = None,
    split: SplitName = "report",
    weights: str | None = None,
    checkpoint: str | Path | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    overwrite: bool = False,
) -> Predictions:
    """Predict labeled images with any model, for ``compare`` and ``gallery``.

    Args:
        model: ``"RUN:small"``, a member of a family; ``"RUN:elodi"`` or ``"RUN:elodi-seed-1"``, a model of an update;
            an .onnx file that regnas exported; or a name of torchvision such as ``"resnet18"``, or of timm such as
            ``"timm/resnet18.a1_in1k"``.
        data: a folder of class folders, an npz of images and targets, a configuration, a preset or a run folder.
        out: an npz file to write the predictions to.
        split: the split of a configuration or a run.
        weights: the weights of a torchvision model; by default "DEFAULT".
        checkpoint: a file with your own weights of a torchvision or timm model, .safetensors or .pth. Images are read
            as for its published weights.
        batch_size: images per batch; by default as in a run, which gives the same predictions bit by bit.
        device: "auto", "cpu", "cuda" or "mps"; by default that of the configuration of ``data``.
        overwrite: replace ``out`` if it exists.

    Returns:
        The predictions with logits, ids and targets. Classes are numbered as in the data.

    Example:
        >>> small = regnas.predict("runs/digits:small", "photos", out="small.npz")  # doctest: +SKIP
        >>> small.accuracy  # doctest: +SKIP
        0.93
    """
    if out is not None:
        check_output(Path(out), ".npz", overwrite)
    if batch_size is not None and batch_size < 1:
        raise ConfigurationError(f"batch_size must be at least 1, got {batch_size}")
    classifier = load_classifier(str(model), weights, None if checkpoint is None else Path(checkpoint))
    stop_unwritten()
    samples = samples_of(str(data), split, classifier.reading)
    stop_unwritten()
    with _threads(samples.machine.threads):
        chosen = _device(device or samples.machine.device)
        predictions = predict_samples(classifier, samples, chosen, batch_size)
    if out is not None:
        predictions.save(Path(out))
    return predictions


@torch.no_grad()
def predict_samples(
    classifier: Classifier, samples: Samples, device: torch.device, batch_size: int | None = None
) -> Predictions:
    """Predict samples, with the classes numbered as in the data, so that predictions of two models are comparable.

    The default batches have the same size as in a run, so predictions of its samples are the same bit by bit.
    """
    outputs = outputs_by_class(
        classifier.name, classifier.classes, samples.source, samples.classes, by_number=classifier.by_number
    )
    size = batch_size or prediction_batch(classifier.reading.shape)
    batches = samples.batches(classifier.reading, size)
    network = classifier.network.to(device).to(memory_format=torch.channels_last)  # as in a run, bit by bit

    def answers() -> Iterator[Tensor]:
        for batch in track(batches, f"predict {classifier.name}", math.ceil(len(samples) / size)):
            yield network(prepare_batch(batch, classifier.preprocessing, device))[:, outputs]  # [M, outputs]
            stop_unwritten()

    try:
        logits = gather(answers(), len(samples))
    except torch.OutOfMemoryError:
        raise EnvironmentProblem(
            f"{device} is out of memory for batches of {size} images of {classifier.name}. Lower the batch size."
        ) from None
    return predictions_from(classifier.name, logits, samples.split, keep_logits=True)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Use the number of threads of the configuration, which decides the last bits, and restore the former number."""
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _device(wish: str) -> torch.device:
    if wish not in DEVICES:
        raise ConfigurationError(f'device must be one of {", ".join(DEVICES)}, got "{wish}"')
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not found.get(wish, True):
        raise EnvironmentProblem(f'torch must have the device "{wish}" and has not. Choose another device.')
    return choose_device(wish)
