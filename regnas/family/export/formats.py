"""The formats beside safetensors: writing a network as a file, and opening the file as a function of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from regnas.components.registry import Registry
from regnas.errors import EnvironmentProblem
from regnas.family.export.onnx_files import int8_bytes, onnx_bytes, onnx_network
from regnas.family.export.torch_export_files import torch_export_bytes, torch_export_network

SAFETENSORS = "safetensors"
ONNX_PACKAGES = ("onnx", "onnxruntime", "onnxscript")


@dataclass(frozen=True)
class Material:
    """The material that a file is made from; ``calibration`` returns preprocessed training images."""

    network: nn.Module  # in evaluation mode, on the CPU
    input_shape: tuple[int, int, int]
    metadata: Mapping[str, str]
    calibration: Callable[[], NDArray[np.float32]]

    @cached_property
    def onnx(self) -> bytes:
        return onnx_bytes(self.network, self.input_shape, self.metadata)


@dataclass(frozen=True)
class Format:
    """An export format: writing a network as a file, and opening the file as a network.

    suffix: the suffix of the file, without the first dot
    packages: the packages that must be installed
    content: returns the bytes of the file
    network: opens the file as a function from preprocessed images [N, *input_shape] to logits [N, classes]
    """

    suffix: str
    packages: tuple[str, ...]
    content: Callable[[Material], bytes]
    network: Callable[[Path], Callable[[Tensor], Tensor]]


def _onnx(material: Material) -> bytes:
    return material.onnx


def _int8(material: Material) -> bytes:
    return int8_bytes(material.onnx, material.calibration(), material.metadata)


def _torch_export(material: Material) -> bytes:
    return torch_export_bytes(material.network, material.input_shape, material.metadata)


def _check(part: object) -> None:
    if not isinstance(part, Format):
        raise ValueError(f"must be a regnas.family.export.Format, got {part!r}")


FORMATS: Registry[Format] = Registry(
    "export format",
    "regnas.formats",
    {
        "onnx": Format("onnx", ONNX_PACKAGES, _onnx, onnx_network),
        "onnx-int8": Format("int8.onnx", ONNX_PACKAGES, _int8, onnx_network),
        "torch-export": Format("pt2", (), _torch_export, torch_export_network),
    },
    _check,
)


def require_packages(formats: Sequence[str]) -> None:
    """Refuse formats whose packages are not installed, before anything is trained or searched for them."""
    needed = {package: name for name in reversed(formats) if name in FORMATS for package in FORMATS[name].packages}
    missing = [package for package in needed if not _installed(package)]
    if set(missing) & set(ONNX_PACKAGES):
        raise EnvironmentProblem(f"ONNX files need {', '.join(missing)}. Run: pip install 'regnas[onnx]'")
    if missing:
        raise EnvironmentProblem(f"{needed[missing[0]]} files need {', '.join(missing)}. Run: pip install {missing[0]}")


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # sys.modules has None in its place
        return False
