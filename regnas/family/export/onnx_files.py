"""Write networks as ONNX files with torch's exporter, and quantize them with onnxruntime.

In evaluation mode batch norms are folded into the convolutions before them, as quantization requires.
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regnas.family.onnx_models import INPUT, OUTPUT, read_onnx

CALIBRATION_BATCH = 32


def onnx_bytes(network: nn.Module, input_shape: tuple[int, int, int], metadata: Mapping[str, str]) -> bytes:
    """Export a network for any number of images [batch, C, H, W], float32 and preprocessed."""
    with _quiet():
        program = torch.onnx.export(
            network,
            (torch.zeros(2, *input_shape),),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            input_names=[INPUT],
            output_names=[OUTPUT],
            verbose=False,
        )
    assert program is not None
    return _finished(program.model_proto, metadata)


def int8_bytes(content: bytes, images: NDArray[np.float32], metadata: Mapping[str, str]) -> bytes:
    """Quantize weights and activations of an ONNX network to eight bits (QDQ), the weights with one scale per channel.

    The ranges of the activations are the smallest and largest values for the images (MinMax).
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType
    from onnxruntime.quantization import quantize_static as quantize
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.batches = iter(np.array_split(images, range(CALIBRATION_BATCH, len(images), CALIBRATION_BATCH)))

        def get_next(self) -> dict[str, NDArray[np.float32]] | None:
            batch = next(self.batches, None)
            return None if batch is None else {INPUT: batch}

    with tempfile.TemporaryDirectory(prefix="regnas-") as folder, _quiet():
        prepared, quantized = Path(folder) / "prepared.onnx", Path(folder) / "quantized.onnx"
        quant_pre_process(onnx.load_from_string(content), str(prepared))
        quantize(
            str(prepared),
            str(quantized),
            Reader(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
        )
        return _finished(onnx.load(str(quantized)), metadata)


def onnx_network(path: Path) -> Callable[[Tensor], Tensor]:
    """Open a file as a function of images, with the checks that every ONNX file gets."""
    return read_onnx(path).network


def _finished(model: Any, metadata: Mapping[str, str]) -> bytes:
    """Replace the metadata of the exporter, which has stack traces with local paths, and check the model."""
    import onnx

    parts = [model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output]
    for part in [*parts, *model.graph.value_info, *model.graph.initializer]:
        del part.metadata_props[:]
        part.doc_string = ""
    onnx.helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString()
    return content


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter and the quantizer, which print and log; the result is measured later."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)
