"""Answers worked out by hand: of a model whose logits are the brightness of a picture."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import models

from regnas.data import Preprocessing
from regnas.errors import ArtifactError, DataError, Interrupted
from regnas.prediction.data import Reading, samples_of
from regnas.prediction.models import Classifier, load_classifier
from regnas.prediction.predicting import predict_samples
from regnas.runtime import signals
from tests.data.photographs import photograph
from tests.prediction.folders import write_folder
from tests.prediction.onnx_models import Mean

CPU = torch.device("cpu")


def of_folder(path, classifier):
    return samples_of(str(path), "report", classifier.reading)


def test_outputs_become_the_classes_of_the_data_by_name(brightness_onnx, tmp_path):
    classifier = load_classifier(str(brightness_onnx))  # its outputs: light, gray, dark
    predictions = predict_samples(classifier, of_folder(write_folder(tmp_path / "photos", images=1), classifier), CPU)
    assert predictions.ids.tolist() == ["dark/0.png", "gray/0.png", "light/0.png"]
    means = [(value / 255 - 0.5) / 0.25 for value in (20, 128, 240)]
    expected = [[-mean, 0.1, mean] for mean in means]  # dark, gray, light
    np.testing.assert_allclose(predictions.logits, expected, atol=1e-5)
    assert predictions.predicted.tolist() == predictions.targets.tolist() == [0, 1, 2]
    assert predictions.model == "brightness"


@pytest.mark.parametrize("size", [1, 2, 100])
def test_batches_change_nothing_but_their_size(brightness_onnx, tmp_path, size, monkeypatch):
    classifier = load_classifier(str(brightness_onnx))
    seen = []
    forward = type(classifier.network).forward
    monkeypatch.setattr(
        type(classifier.network), "forward", lambda self, images: seen.append(len(images)) or forward(self, images)
    )
    samples = of_folder(write_folder(tmp_path / "photos"), classifier)
    predictions = predict_samples(classifier, samples, CPU, size)
    assert max(seen) == min(size, 9) and sum(seen) == 9
    np.testing.assert_allclose(predictions.logits, predict_samples(classifier, samples, CPU).logits, atol=1e-6)


def test_classes_that_differ_are_refused_before_any_image_is_run(brightness_onnx, tmp_path):
    classifier = load_classifier(str(brightness_onnx))
    folder = write_folder(tmp_path / "photos", {"dark": 20, "<img src=x onerror=alert(1)>": 128, "light": 240})
    (folder / "light" / "0.png").write_bytes(b"not looked at")
    with pytest.raises(DataError, match=r'only in .*photos \("<img src=x onerror=alert\(1\)>"\), 1 of 3 only in bri'):
        predict_samples(classifier, of_folder(folder, classifier), CPU)


def number_classes(outputs: int) -> Classifier:
    """A published network in small: its classes are "category 0", ... and their order is well known."""
    network = Mean([float(number) for number in range(outputs)], [0.0] * outputs).eval()
    names = tuple(f"category {number}" for number in range(outputs))
    reading = Reading((3, 8, 8), "fit")
    return Classifier("net", network, names, reading, Preprocessing((0.5,) * 3, (0.25,) * 3), by_number=True)


def test_some_of_the_published_classes_are_numbered_as_the_data_number_them(tmp_path):
    folder = write_folder(tmp_path / "photos", {"category 3": 240, "category 1": 240})
    classifier = number_classes(4)
    predictions = predict_samples(classifier, of_folder(folder, classifier), CPU)
    mean = (240 / 255 - 0.5) / 0.25
    np.testing.assert_allclose(predictions.logits[0], [mean, 3 * mean, 0, 2 * mean], atol=1e-5)
    assert set(predictions.predicted.tolist()) == {1}  # category 3, the second class of the data


def test_a_published_network_answers_as_torchvision_says_it_should(checkpoints, tmp_path):
    """Against torchvision's own weights, transforms and network; goldfish is its class 1, tench its class 0."""
    torch.manual_seed(0)
    torch.save(models.squeezenet1_1().state_dict(), checkpoints / "squeezenet1_1-b8a52dc0.pth")
    files = [tmp_path / "fish" / name / "0.png" for name in ("goldfish", "tench")]
    for seed, file in enumerate(files):
        photograph(file, seed)
    classifier = load_classifier("squeezenet1_1")
    predictions = predict_samples(classifier, of_folder(tmp_path / "fish", classifier), CPU)
    reference = models.squeezenet1_1(weights="DEFAULT").eval()
    transforms = models.SqueezeNet1_1_Weights.DEFAULT.transforms()
    with torch.no_grad():
        expected = torch.cat([reference(transforms(Image.open(file).convert("RGB"))[None]) for file in files]).numpy()
    np.testing.assert_allclose(predictions.logits[:, :2], expected[:, [1, 0]], atol=1e-4)
    np.testing.assert_allclose(predictions.logits[:, 2:], expected[:, 2:], atol=1e-4)
    assert predictions.targets.tolist() == [0, 1]


def test_logits_that_are_not_finite_are_refused(tmp_path):
    classifier = number_classes(2)
    with torch.no_grad():
        classifier.network.linear.bias.fill_(float("nan"))
    folder = write_folder(tmp_path / "photos", {"category 0": 1, "category 1": 2})
    with pytest.raises(ArtifactError, match="6 samples have logits that are not finite"):
        predict_samples(classifier, of_folder(folder, classifier), CPU)


def test_a_signal_stops_it_between_two_batches(tmp_path, monkeypatch):
    classifier = number_classes(3)
    samples = of_folder(write_folder(tmp_path / "photos", {f"category {n}": 9 for n in range(3)}), classifier)
    monkeypatch.setattr(signals, "_received", [2])
    with pytest.raises(Interrupted, match="interrupted by SIGINT; nothing was written"):
        predict_samples(classifier, samples, CPU, 1)
