"""Image files to pictures."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from regnas.errors import DataError

MODES = {1: "L", 3: "RGB"}  # by the number of channels


def read_picture(path: Path, mode: str) -> Image.Image:
    """Decode a file. A ``ValueError`` says what is wrong with it; a damaged file raises whatever PIL raises."""
    with Image.open(path) as image:
        return convert_picture(image, mode)


def convert_picture(image: Image.Image, mode: str) -> Image.Image:
    """Convert a picture to 8 bits per channel; refuse what PIL would clip, and what could exhaust the memory."""
    if image.mode.startswith(("I", "F")):  # PIL would clip them instead of scaling
        raise ValueError("its pixels must have 8 bits per channel; convert it")
    # PIL only warns of images that are made to exhaust the memory, unless they are twice as large
    if Image.MAX_IMAGE_PIXELS is not None and image.width * image.height > Image.MAX_IMAGE_PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels may be a decompression bomb; shrink it")
    return image.convert(mode)


def open_listed(folder: Path, name: str) -> Image.Image:
    """Decode a listed file in color, for people to look at."""
    path = folder / name
    try:
        if not path.is_file():  # opening a named pipe would wait forever
            raise ValueError("not a file")
        return read_picture(path, "RGB")
    except Exception as error:  # damaged files make decoders raise almost anything
        reason = str(error) or type(error).__name__
        raise DataError(f"an image in {folder} cannot be read, repair or remove it: {name}: {reason}") from None
