from __future__ import annotations

from pathlib import Path
from urllib.error import URLError

import pytest

from tests.prediction.onnx_models import metadata, write_onnx


@pytest.fixture(scope="session")
def brightness_onnx(tmp_path_factory) -> Path:
    """Light, gray, dark: the mean m of the preprocessed pixels, (x / 255 - 0.5) / 0.25, gives the logits m, 0.1, -m."""
    path = tmp_path_factory.mktemp("onnx") / "brightness.onnx"
    return write_onnx(path, metadata(["light", "gray", "dark"], [3, 8, 8], "brightness"), shape=(3, 8, 8))


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the weights that torchvision downloads, with a network that always fails."""

    def unreachable(*_: object) -> None:
        raise URLError("no route to host")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr("torch.hub.urlopen", unreachable)
    folder = tmp_path / "torch" / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder
