from __future__ import annotations

from tests.predicting.fixtures import brightness_onnx, checkpoints

__all__ = ["brightness_onnx", "checkpoints"]
