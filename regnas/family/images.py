"""Convert images of any kind to the tensors that a network reads; refuse images that do not fit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from regnas.data.image_transforms import Transform, transformed
from regnas.data.preprocessing import IMAGENET, Preprocessing
from regnas.errors import DataError
from regnas.pictures.decoding import MODES, convert_picture, ignore_metadata_warnings, read_picture

KINDS = "an array, a tensor, a PIL image, a path, or a list of one of these"


def transform_of(preprocessing: Preprocessing) -> Transform:
    """Return how image files become squares; if it is not stated, infer it from the statistics."""
    return preprocessing.transform or ("imagenet" if preprocessing == IMAGENET else "fit")


def read_images(images: Any, shape: tuple[int, int, int], transform: Transform) -> Tensor:
    """Return images as a tensor [N, C, H, W], uint8 or float32.

    Args:
        images: arrays or tensors [N, C, H, W], [N, H, W, C] or, for one channel, [N, H, W]; PIL images; paths; or a
            list of them. Arrays must have the size of the network. Pictures and files are resized to it.
        shape: [C, H, W] of the network. If a shape fits both layouts, the channels come first.
        transform: how pictures and files become squares.
    """
    if isinstance(images, Image.Image | str | os.PathLike):
        images = [images]
    if isinstance(images, Sequence) and not isinstance(images, bytes):
        return _from_sequence(images, shape, transform)
    if isinstance(images, Tensor) or hasattr(images, "__array__"):
        return _from_array(images, shape)
    raise DataError(f"images must be {KINDS}, got {type(images).__name__}")


def _from_sequence(images: Sequence[Any], shape: tuple[int, int, int], transform: Transform) -> Tensor:
    if not images:
        raise DataError("images must hold at least one image, got an empty list")
    if all(isinstance(each, Image.Image | str | os.PathLike) for each in images):
        ignore_metadata_warnings()
        return torch.cat([_from_picture(each, shape, transform) for each in images])
    if all(isinstance(each, Tensor) or hasattr(each, "__array__") for each in images):
        tensors = [_tensor(each) for each in images]
        if len({(tensor.shape, tensor.dtype) for tensor in tensors}) > 1:
            raise DataError("images of a list must have one shape and one dtype. Convert them, or give one array.")
        return _from_array(torch.stack(tensors), shape)
    kinds = ", ".join(sorted({type(each).__name__ for each in images}))
    raise DataError(f"images must be {KINDS}, got a list of {kinds}")


def _from_array(images: Any, shape: tuple[int, int, int]) -> Tensor:
    """Arrange images: [N, H, W], [N, H, W, C] or [N, C, H, W] -> [N, C, H, W]."""
    tensor, (channels, height, width) = _tensor(images), shape
    found = tuple(tensor.shape)
    if len(found) == 3 and channels == 1:
        tensor = tensor[:, None]
    elif len(found) == 4 and found[1:] != shape and found[3] == channels:
        tensor = tensor.permute(0, 3, 1, 2)
    if tensor.ndim != 4 or tuple(tensor.shape[1:]) != shape:
        gray = f", [N, {height}, {width}]" if channels == 1 else ""
        batch = " Add a batch dimension with images[None]." if found in (shape, (height, width, channels)) else ""
        raise DataError(
            f"images must have the shape [N, {channels}, {height}, {width}], [N, {height}, {width}, {channels}]{gray}, "
            f"got {list(found)}.{batch or ' Resize them, or give PIL images or paths.'}"
        )
    if len(tensor) == 0:
        raise DataError("images must hold at least one image, got none")
    return tensor.contiguous()


def _tensor(images: Any) -> Tensor:
    """Convert to a tensor on the CPU, uint8 or float32; refuse other types, whose range of values is unknown."""
    if isinstance(images, Tensor):
        if images.layout != torch.strided:
            raise DataError(f"images must be dense tensors, got {images.layout}. Convert them with to_dense().")
        tensor = images.detach().cpu()
        if tensor.dtype == torch.uint8 or tensor.is_floating_point():
            return tensor if tensor.dtype == torch.uint8 else tensor.float()
        raise _wrong_type(str(tensor.dtype).removeprefix("torch."))
    if np.ma.is_masked(images):
        raise DataError("images must have no masked pixels, got a masked array. Fill it with filled(0).")
    array: NDArray[Any] = np.ascontiguousarray(images)  # torch takes no negative strides, such as of images[::-1]
    if array.dtype != np.uint8 and array.dtype.kind != "f":
        raise _wrong_type(str(array.dtype))
    return torch.tensor(array.astype(np.uint8 if array.dtype == np.uint8 else np.float32, copy=False))


def _wrong_type(found: str) -> DataError:
    return DataError(
        f"images must be uint8, or floats from 0 to 1, got {found}. Convert integers from 0 to 255 to uint8."
    )


def _from_picture(source: Any, shape: tuple[int, int, int], transform: Transform) -> Tensor:
    """Read or convert a picture in the same way as the image folders of a data set: [1, C, H, W]."""
    channels, height, width = shape
    if height != width or channels not in MODES:
        raise DataError(
            f"pictures and files become squares of 1 or 3 channels, and the network takes {channels} channels of "
            f"{height} x {width} pixels. Give the images as an array."
        )
    name = f"the {source.width} x {source.height} picture" if isinstance(source, Image.Image) else str(source)
    try:
        if isinstance(source, Image.Image):
            picture = convert_picture(source, MODES[channels])
        elif Path(source).expanduser().is_dir():
            raise ValueError("it is a folder; give the files in it")
        elif not Path(source).expanduser().is_file():  # opening a named pipe would wait forever
            raise ValueError("there is no such file")
        else:
            picture = read_picture(Path(source).expanduser(), MODES[channels])
        pixels = np.array(transformed(picture, transform, height))  # [H, W] or [H, W, C]
    except Exception as error:  # damaged files make decoders raise almost anything
        raise DataError(f"{name} cannot be read: {str(error) or type(error).__name__}") from None
    return torch.from_numpy(pixels).reshape(1, height, width, channels).permute(0, 3, 1, 2)
