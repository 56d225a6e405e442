"""Open ONNX files that regnas exported, with strict checks, to measure exports and to predict.

Metadata: ``regnas.model`` (name), ``regnas.preprocessing``, ``regnas.classes`` and ``regnas.input_shape`` (JSON).
The network takes preprocessed ``images`` [batch, C, H, W] and returns ``logits`` [batch, classes].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regnas.data import Preprocessing
from regnas.errors import ArtifactError, EnvironmentProblem, first_line
from regnas.family.manifest.metadata import CLASSES, INPUT_SHAPE, MODEL, NEEDED, PREPROCESSING
from regnas.runtime.files import parse_json
from regnas.supernet import InputShape

INPUT = "images"
OUTPUT = "logits"
SIZE_LIMIT = 2 * 2**30  # the limit of protocol buffers
SILENT = 4  # the log level at which onnxruntime does not write to standard error


@dataclass(frozen=True, eq=False)
class ExportedNetwork:
    """A network from an ONNX file, with the meaning of its inputs and outputs."""

    model: str
    network: nn.Module
    classes: tuple[str, ...]
    input_shape: InputShape
    preprocessing: Preprocessing


class OnnxNetwork(nn.Module):
    """A session of onnxruntime as a module, which runs on the CPU."""

    def __init__(self, session: Any, path: Path) -> None:
        super().__init__()
        self.session = session
        self.path = path

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits [N, classes] of preprocessed images."""
        inputs = {INPUT: np.ascontiguousarray(images.cpu().numpy())}
        try:
            (logits,) = self.session.run([OUTPUT], inputs)
        except Exception as error:  # running a damaged network raises almost anything
            raise ArtifactError(f"{self.path} is damaged: it cannot be run: {first_line(error)}") from error
        return torch.from_numpy(logits)


def read_onnx(path: Path) -> ExportedNetwork:
    """Open a file; refuse weights in other files, missing metadata, and inputs or outputs that contradict them."""
    session, metadata = _open(path)
    missing = [key for key in NEEDED if key not in metadata]
    if missing:
        raise ArtifactError(
            f"{path} lacks {', '.join(missing)} in its metadata, which describe its inputs and outputs. Give a file "
            "that regnas exported."
        )
    classes, shape = _json(path, metadata, CLASSES), _json(path, metadata, INPUT_SHAPE)
    if not (isinstance(classes, list) and all(isinstance(name, str) for name in classes)):
        raise ArtifactError(f"{path}: {CLASSES} in its metadata must be a list of names")
    if not classes or len(set(classes)) < len(classes):
        raise ArtifactError(f"{path}: {CLASSES} in its metadata is empty or has a name twice")
    if not (isinstance(shape, list) and len(shape) == 3 and all(type(side) is int and side > 0 for side in shape)):
        raise ArtifactError(f"{path}: {INPUT_SHAPE} in its metadata must be [C, H, W], got {str(shape)[:80]}")
    preprocessing = _preprocessing(path, _json(path, metadata, PREPROCESSING), shape[0])
    _check_signature(path, session, shape, len(classes))
    channels, height, width = shape
    return ExportedNetwork(
        metadata[MODEL], OnnxNetwork(session, path), tuple(classes), (channels, height, width), preprocessing
    )


def _open(path: Path) -> tuple[Any, Mapping[str, str]]:
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise EnvironmentProblem(f"{path} needs {error.name}. Run: pip install 'regnas[onnx]'") from None
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= SIZE_LIMIT else b""
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None
    if size > SIZE_LIMIT:
        raise ArtifactError(f"{path} has {size:,} bytes, over the limit of {SIZE_LIMIT:,} for an ONNX file")
    try:
        model = onnx.load_model_from_string(content)
        elsewhere = list(_kept_elsewhere(model))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = SILENT
        options.intra_op_num_threads = torch.get_num_threads()
        if not elsewhere:
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # parsing a damaged file raises almost anything
        raise ArtifactError(f"{path} is damaged or not an ONNX file: {first_line(error)}") from None
    if elsewhere:
        raise ArtifactError(
            f"{path} must hold all of its weights, got some in other files, first {elsewhere[0]}. Export it as one "
            "file."
        )
    return session, {entry.key: entry.value for entry in model.metadata_props}


def _kept_elsewhere(message: Any) -> Iterator[str]:
    """Find the tensors of the model whose values are in other files, which could be any files of this machine."""
    if message.DESCRIPTOR.name == "TensorProto":
        if message.external_data:
            yield message.name or "a constant"
        return
    for entry, value in message.ListFields():
        if entry.message_type is not None:
            for inner in value if hasattr(value, "__len__") else (value,):
                yield from _kept_elsewhere(inner)


def _json(path: Path, metadata: Mapping[str, str], key: str) -> Any:
    try:
        return parse_json(metadata[key])
    except ValueError as error:
        raise ArtifactError(f"{path}: {key} in its metadata is not JSON ({error})") from None


def _preprocessing(path: Path, value: Any, channels: int) -> Preprocessing:
    try:
        preprocessing = Preprocessing.from_json(value)
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None
    if len(preprocessing.mean) != channels:
        raise ArtifactError(f"{path}: its preprocessing must be for {channels} channels, got {len(preprocessing.mean)}")
    return preprocessing


def _check_signature(path: Path, session: Any, shape: list[int], classes: int) -> None:
    """Refuse inputs and outputs that contradict the metadata, or that have a fixed number of images."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    found = [(entry.name, entry.type) for entry in (*inputs, *outputs)]
    if found != [(INPUT, "tensor(float)"), (OUTPUT, "tensor(float)")]:
        described = ", ".join(f"{name} {kind}" for name, kind in found)
        raise ArtifactError(f"{path} must take {INPUT} and give {OUTPUT}, both float32, got {described}")
    batch, *sides = inputs[0].shape
    if isinstance(batch, int) or sides != shape:
        raise ArtifactError(
            f"{path} must take images [batch, {str(shape)[1:]}, as its metadata say, got {inputs[0].shape}"
        )
    if outputs[0].shape[1:] != [classes]:
        raise ArtifactError(
            f"{path} must give logits of {classes} classes, as its metadata say, got {outputs[0].shape}"
        )
