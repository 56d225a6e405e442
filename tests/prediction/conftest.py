from __future__ import annotations

from tests.prediction.fixtures import brightness_onnx, checkpoints

__all__ = ["brightness_onnx", "checkpoints"]
