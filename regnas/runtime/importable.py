"""Check that another process can import what it is sent."""

from __future__ import annotations

import io
import sys
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import torch

from regnas.errors import ConfigurationError


def check_importable(value: Any) -> None:
    """Refuse a value whose class a spawned process cannot import, because an interactive session defines it.

    Without this check the worker fails to unpickle the value, and the pool breaks without a usable message.
    """
    _Checker(io.BytesIO()).dump(value)


class _Checker(ForkingPickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor | np.ndarray):
            return int, ()  # not copied: an array defines no class
        if isinstance(value, type) and _is_interactive(value):
            raise ConfigurationError(
                f"the number of workers must be 1, got more: worker processes cannot import {value.__name__}, which "
                "an interactive session defines. Move it into a file, or set machine.workers to 1."
            )
        return NotImplemented


def _is_interactive(kind: type) -> bool:
    """Whether a spawned process cannot import the class.

    The process imports the file of the main program. A notebook, a console and ``python -c`` have no such file.
    """
    main = sys.modules["__main__"]
    return kind.__module__ == "__main__" and not hasattr(main, "__file__") and main.__spec__ is None
