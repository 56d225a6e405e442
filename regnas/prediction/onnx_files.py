"""ONNX files as regnas exports them: the network, and beside it in the metadata what its inputs and outputs mean.

Metadata: ``regnas.model`` (name), ``regnas.preprocessing``, ``regnas.classes`` and ``regnas.input_shape`` (JSON).
The network takes ``images`` [batch, C, H, W], already preprocessed, and gives ``logits`` [batch, classes].
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regnas.data import Preprocessing
from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.family.manifest.metadata import CLASSES, INPUT_SHAPE, MODEL, NEEDED, PREPROCESSING
from regnas.supernet import InputShape

SIZE_LIMIT = 2 * 2**30  # what a file of protocol buffers can hold at most
SILENT = 4  # onnxruntime would write to standard error on its own


@dataclass(frozen=True, eq=False)
class ExportedNetwork:
    model: str
    network: nn.Module
    classes: tuple[str, ...]
    input_shape: InputShape
    preprocessing: Preprocessing


class OnnxNetwork(nn.Module):
    """A session of onnxruntime in the place of a network; it runs on the CPU wherever the images are."""

    def __init__(self, session: Any) -> None:
        super().__init__()
        self.session = session

    def forward(self, images: Tensor) -> Tensor:
        (logits,) = self.session.run(["logits"], {"images": np.ascontiguousarray(images.cpu().numpy())})
        return torch.from_numpy(logits)


def read_onnx(path: Path) -> ExportedNetwork:
    session, metadata = _open(path)
    missing = [key for key in NEEDED if key not in metadata]
    if missing:
        raise ArtifactError(
            f"{path} lacks {', '.join(missing)} in its metadata, which say what its inputs and outputs mean: give a "
            "file that regnas exported"
        )
    classes, shape = _json(path, metadata, CLASSES), _json(path, metadata, INPUT_SHAPE)
    if not (isinstance(classes, list) and all(isinstance(name, str) for name in classes)):
        raise ArtifactError(f"{path}: {CLASSES} in its metadata is not a list of names")
    if not classes or len(set(classes)) < len(classes):
        raise ArtifactError(f"{path}: {CLASSES} in its metadata is empty or has a name twice")
    if not (isinstance(shape, list) and len(shape) == 3 and all(type(side) is int and side > 0 for side in shape)):
        raise ArtifactError(f"{path}: {INPUT_SHAPE} in its metadata is {str(shape)[:80]}, not [C, H, W]")
    preprocessing = _preprocessing(path, _json(path, metadata, PREPROCESSING), shape[0])
    _check_signature(path, session, shape, len(classes))
    channels, height, width = shape
    return ExportedNetwork(
        metadata[MODEL], OnnxNetwork(session), tuple(classes), (channels, height, width), preprocessing
    )


def _open(path: Path) -> tuple[Any, Mapping[str, str]]:
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise EnvironmentProblem(f"{path} needs {error.name}: pip install 'regnas[onnx]'") from None
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
        if not elsewhere:
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # parsing a damaged file raises almost anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ArtifactError(f"{path} is damaged or not an ONNX file: {reason}") from None
    if elsewhere:
        raise ArtifactError(f"{path} keeps weights in other files, first {elsewhere[0]}: export it as one file")
    return session, {entry.key: entry.value for entry in model.metadata_props}


def _kept_elsewhere(message: Any) -> Iterator[str]:
    """Names of all tensors, wherever in the model, whose values are in other files.

    Those would be files of the author's choosing, anywhere on this machine.
    """
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
        return json.loads(metadata[key])
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{path}: {key} in its metadata is not JSON ({error})") from None


def _preprocessing(path: Path, value: Any, channels: int) -> Preprocessing:
    try:
        preprocessing = Preprocessing.from_json(value)
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None
    if len(preprocessing.mean) != channels:
        raise ArtifactError(
            f"{path}: its preprocessing is for {len(preprocessing.mean)} channels, its input has {channels}"
        )
    return preprocessing


def _check_signature(path: Path, session: Any, shape: list[int], classes: int) -> None:
    """What goes in and comes out is what the metadata say, with any number of images at once."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    found = [(entry.name, entry.type) for entry in (*inputs, *outputs)]
    if found != [("images", "tensor(float)"), ("logits", "tensor(float)")]:
        described = ", ".join(f"{name} {kind}" for name, kind in found)
        raise ArtifactError(f"{path} has {described}; it has to take images and give logits, as float32")
    batch, *sides = inputs[0].shape
    if isinstance(batch, int) or sides != shape:
        raise ArtifactError(f"{path} takes images {inputs[0].shape}, its metadata say [batch, {str(shape)[1:]}")
    if outputs[0].shape[1:] != [classes]:
        raise ArtifactError(f"{path} gives logits {outputs[0].shape}, its metadata name {classes} classes")
