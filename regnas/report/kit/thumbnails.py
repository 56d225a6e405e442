"""Small pictures inside a page."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SMALLEST_SIDE = 64
LARGEST_SIDE = 160  # photographs are shrunk to this; otherwise two dozen of them would take megabytes
LOSSLESS_SIDE = 64  # up to this size, every pixel matters and a PNG is small
JPEG_QUALITY = 80


def picture_of(pixels: NDArray[np.uint8]) -> Image.Image:
    """Convert pixels [C, H, W] to a picture: three channels in color, otherwise the first channel in gray."""
    arranged: NDArray[Any] = pixels.transpose(1, 2, 0) if len(pixels) == 3 else pixels[0]  # [H, W, 3] or [H, W]
    return Image.fromarray(np.ascontiguousarray(arranged))


def thumbnail(picture: Image.Image) -> Image.Image:
    """Shrink a large picture, or enlarge a small one by a whole factor, so that every pixel stays a square."""
    if max(picture.size) > LARGEST_SIDE:
        return shrink(picture, LARGEST_SIDE)
    factor = max(1, math.ceil(SMALLEST_SIDE / min(picture.size)))
    return picture.resize((picture.width * factor, picture.height * factor), Image.Resampling.NEAREST)


def shrink(picture: Image.Image, longest: int) -> Image.Image:
    """Shrink a picture so that its longer side is at most ``longest``; smaller pictures stay unchanged."""
    if max(picture.size) <= longest:
        return picture
    width, height = (max(1, round(side * longest / max(picture.size))) for side in picture.size)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def png_uri(picture: Image.Image) -> str:
    """Return a picture as a data URI in PNG."""
    return _uri(picture, "png", optimize=True)


def small_uri(picture: Image.Image) -> str:
    """Return a short data URI, for pages with thousands of pictures: PNG for small pictures, JPEG for photographs."""
    if max(picture.size) <= LOSSLESS_SIDE:
        return png_uri(picture)
    return _uri(picture, "jpeg", quality=JPEG_QUALITY)


def _uri(picture: Image.Image, kind: str, **options: Any) -> str:
    sink = io.BytesIO()
    picture.save(sink, format=kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(sink.getvalue()).decode()}"
