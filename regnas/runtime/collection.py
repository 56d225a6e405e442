"""Python's garbage collector, kept away from objects that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def settled() -> Iterator[None]:
    """Keep the collector away from all objects that exist when the block begins.

    With torch imported there are a million of them, and nearly all of them stay. A search of small networks would spend
    a tenth of its time looking through them again and again.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
