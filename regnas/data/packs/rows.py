"""What a pack keeps of an image, as bytes: nothing, its pixels, or its pixels as a JPEG."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regnas.data.image_decoding import Decoder
from regnas.pictures.files import ImageFiles

Kind = Literal["checked", "pixels", "jpeg"]

# A fifth of the bytes of the pixels of a noisy photograph. Without subsampled colors, a second loss adds little to the
# loss of the file.
JPEG_OPTIONS = {"quality": 95, "subsampling": 0}


def make_row(kind: Kind, decoder: Decoder, files: ImageFiles, index: int) -> tuple[bytes, str | None]:
    """Decode a file; return its row, and the name with the reason if the file cannot be read."""
    pixels = np.empty(decoder.shape, dtype=np.uint8)
    problem = decoder.fill(files, index, pixels)
    if problem is not None or kind == "checked":
        return b"", problem
    return pixels.tobytes() if kind == "pixels" else _to_jpeg(pixels), None


def read_row(kind: Kind, row: bytes | bytearray, pixels: NDArray[np.uint8]) -> None:
    """Fill ``pixels`` [C, H, W] from a row."""
    if kind == "pixels":
        pixels[:] = np.frombuffer(row, dtype=np.uint8).reshape(pixels.shape)
        return
    with Image.open(io.BytesIO(row), formats=["JPEG"]) as picture:
        decoded = np.asarray(picture)  # [H, W] or [H, W, C]
    pixels[:] = decoded if decoded.ndim == 2 else decoded.transpose(2, 0, 1)


def _to_jpeg(pixels: NDArray[np.uint8]) -> bytes:
    picture = Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    written = io.BytesIO()
    picture.save(written, "JPEG", **JPEG_OPTIONS)
    return written.getvalue()
