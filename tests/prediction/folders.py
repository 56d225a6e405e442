"""Class folders of plain pictures: the brightness of a picture is its class, so that answers can be worked out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

BRIGHTNESS = {"dark": 20, "gray": 128, "light": 240}


def write_picture(path: Path, brightness: int, size: tuple[int, int] = (12, 9)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size[1], size[0], 3), brightness, np.uint8)).save(path)


def write_folder(root: Path, classes: dict[str, int] = BRIGHTNESS, images: int = 3) -> Path:
    for name, brightness in classes.items():
        for index in range(images):
            write_picture(root / name / f"{index}.png", brightness + index)
    return root
