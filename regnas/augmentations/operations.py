"""The operations of TrivialAugment and RandAugment, each one kernel of torchvision with a magnitude."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torchvision.transforms.v2 import functional

WHITE = 255
BITS = 8  # of a channel


@dataclass(frozen=True)
class Operation:
    """An operation; ``signed`` magnitudes are negated for half of the images."""

    apply: Callable[[Tensor, float], Tensor]
    signed: bool = False


@dataclass(frozen=True)
class Ranges:
    """The largest magnitudes; those of a translation in pixels."""

    shear: float
    across: float
    down: float
    rotation: float
    change: float  # of brightness, color, contrast and sharpness, around a factor of 1
    fewest_bits: int  # of posterize

    def magnitude(self, name: str, share: float) -> float:
        """Return the magnitude of an operation at a share from 0 to 1 of its range."""
        if name == "posterize":
            return float(round(BITS - share * (BITS - self.fewest_bits)))
        if name == "solarize":
            return 1 - share
        return share * self._largest.get(name, 0.0)

    @property
    def _largest(self) -> dict[str, float]:
        geometric = {"shear_x": self.shear, "shear_y": self.shear, "rotate": self.rotation}
        moved = {"translate_x": self.across, "translate_y": self.down}
        return geometric | moved | dict.fromkeys(("brightness", "color", "contrast", "sharpness"), self.change)


def _shear(image: Tensor, across: float, down: float) -> Tensor:
    angles = [math.degrees(math.atan(across)), math.degrees(math.atan(down))]
    sheared: Tensor = functional.affine(image, angle=0.0, translate=[0, 0], scale=1.0, shear=angles, center=[0, 0])
    return sheared


def _translate(image: Tensor, across: float, down: float) -> Tensor:
    moved: Tensor = functional.affine(image, angle=0.0, translate=[int(across), int(down)], scale=1.0, shear=[0.0, 0.0])
    return moved


# In the order of the papers. The name of each operation, its kernel, and whether it has a sign.
OPERATIONS: dict[str, Operation] = {
    "identity": Operation(lambda image, magnitude: image),
    "shear_x": Operation(lambda image, magnitude: _shear(image, magnitude, 0.0), signed=True),
    "shear_y": Operation(lambda image, magnitude: _shear(image, 0.0, magnitude), signed=True),
    "translate_x": Operation(lambda image, magnitude: _translate(image, magnitude, 0.0), signed=True),
    "translate_y": Operation(lambda image, magnitude: _translate(image, 0.0, magnitude), signed=True),
    "rotate": Operation(functional.rotate, signed=True),
    "brightness": Operation(lambda image, magnitude: functional.adjust_brightness(image, 1 + magnitude), signed=True),
    "color": Operation(lambda image, magnitude: functional.adjust_saturation(image, 1 + magnitude), signed=True),
    "contrast": Operation(lambda image, magnitude: functional.adjust_contrast(image, 1 + magnitude), signed=True),
    "sharpness": Operation(lambda image, magnitude: functional.adjust_sharpness(image, 1 + magnitude), signed=True),
    "posterize": Operation(lambda image, magnitude: functional.posterize(image, int(magnitude))),
    "solarize": Operation(lambda image, magnitude: functional.solarize(image, WHITE * magnitude)),
    "auto_contrast": Operation(lambda image, magnitude: functional.autocontrast(image)),
    "equalize": Operation(lambda image, magnitude: functional.equalize(image)),
}
NAMES = tuple(OPERATIONS)


def operate(image: Tensor, choice: float, share: float, sign: float, ranges: Ranges) -> Tensor:
    """Apply a random operation to an image [C, H, W].

    Args:
        image: uint8.
        choice: a number in [0, 1) that chooses the operation.
        share: the share of its range.
        sign: a number in [0, 1); below 0.5, a magnitude with a sign is negative.
        ranges: the largest magnitudes.
    """
    name = NAMES[int(choice * len(NAMES))]
    operation, magnitude = OPERATIONS[name], ranges.magnitude(name, share)
    return operation.apply(image, -magnitude if operation.signed and sign < 0.5 else magnitude)
