"""Randomness that is keyed, not stateful.

Every draw comes from a generator that is seeded by its purpose: ``generator(seed, "train", "order", epoch)``. Nothing
depends on how many numbers were drawn before. A run that is interrupted and resumed therefore draws the same numbers
as a run without an interruption.
"""

from __future__ import annotations

import hashlib
from random import Random

import numpy as np

Key = int | str


def key_to_int(*key: Key) -> int:
    """Return an integer of 63 bits that depends on every part of the key."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(*key: Key) -> np.random.Generator:
    """Return a generator of arrays."""
    return np.random.default_rng(key_to_int(*key))


def chooser(*key: Key) -> Random:
    """Return a generator for choices among Python objects."""
    return Random(key_to_int(*key))
