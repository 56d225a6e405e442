"""Decode image files."""

from __future__ import annotations

import warnings
from pathlib import Path

from PIL import Image

from regnas.errors import DataError

MODES = {1: "L", 3: "RGB"}  # by the number of channels


def read_picture(path: Path, mode: str) -> Image.Image:
    """Decode a file; raise ``ValueError`` if it cannot be used, and any error of PIL if it is damaged."""
    with Image.open(path) as image:
        return convert_picture(image, mode)


def convert_picture(image: Image.Image, mode: str) -> Image.Image:
    """Convert a picture to 8 bits per channel; refuse pixels that PIL would clip, and sizes that exhaust the memory."""
    if image.mode.startswith(("I", "F")):  # PIL would clip them instead of scaling
        raise ValueError("its pixels must have 8 bits per channel; convert it")
    # PIL itself only warns at this size, and raises at twice the size.
    if Image.MAX_IMAGE_PIXELS is not None and image.width * image.height > Image.MAX_IMAGE_PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels may be a decompression bomb; shrink it")
    image.load()
    return image if image.mode == mode else image.convert(mode)  # PIL would copy a picture of the same mode


def open_listed(folder: Path, name: str) -> Image.Image:
    """Decode a listed file in color."""
    path = folder / name
    try:
        if not path.is_file():  # opening a named pipe would wait forever
            raise ValueError("not a file")
        return read_picture(path, "RGB")
    except Exception as error:  # damaged files make decoders raise almost anything
        reason = str(error) or type(error).__name__
        raise DataError(f"cannot read an image in {folder}: {name}: {reason}. Repair or remove it.") from None


def ignore_metadata_warnings() -> None:
    """Ignore Pillow's warnings about unusual metadata, which does not matter here.

    The filter stays, because threads that decode share the filters, and overlapping blocks would restore wrong ones.
    """
    warnings.filterwarnings("ignore", module=r"PIL\.")
