"""Python's garbage collector and what it need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def settled() -> Iterator[None]:
    """Inside, the collector leaves alone all objects that are there at the beginning.

    They are a million with torch and its friends imported, nearly all of them for good, and a search of small networks
    would spend a tenth of its time on looking through them again and again.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
