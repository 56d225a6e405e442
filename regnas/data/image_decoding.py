"""Image files to pixels. PIL releases the interpreter lock while it decodes and resizes, so threads work."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regnas.data.image_transforms import Center, Transform, transformed
from regnas.pictures.decoding import MODES, read_picture
from regnas.pictures.files import ImageFiles
from regnas.runtime.environment import NEVER_DATA, environment_cause, environment_problem


@dataclass(frozen=True)
class Decoder:
    """Decodes the image files below ``folder``, in ``workers`` threads of the caller; 0 is one per core."""

    folder: Path
    size: int
    channels: int
    transform: Transform | Center
    workers: int

    @property
    def shape(self) -> torch.Size:
        """The shape of an image, [C, H, W]."""
        return torch.Size((self.channels, self.size, self.size))

    def fill(self, files: ImageFiles, index: int, pixels: NDArray[np.uint8]) -> str | None:
        """Fill ``pixels`` [C, H, W], or return the name with the reason why the file cannot be read.

        Raises:
            EnvironmentProblem: the machine failed, which says nothing about the file.
        """
        name = files.name(index)
        try:
            status = (self.folder / name).stat()
            if not stat.S_ISREG(status.st_mode):  # opening a named pipe would wait forever
                return f"{name}: not a file"
            if (status.st_size, status.st_mtime_ns) != (files.sizes[index], files.times[index]):
                return f"{name}: changed since the images were listed"
            picture = read_picture(self.folder / name, MODES[self.channels])
            square = transformed(picture, self.transform, self.size)
        except MemoryError:
            raise
        except Exception as error:  # damaged files make decoders raise almost anything
            if (cause := environment_cause(error)) is not None and cause.errno in NEVER_DATA:
                raise environment_problem(OSError(cause.errno, cause.strerror, str(self.folder / name))) from error
            return f"{name}: {str(error) or type(error).__name__}"
        decoded = np.asarray(square)  # [H, W] or [H, W, C]
        pixels[:] = decoded if self.channels == 1 else decoded.transpose(2, 0, 1)
        return None
