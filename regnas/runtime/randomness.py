"""Randomness that is keyed, not stateful.

Every draw comes from a generator seeded by what it is for: ``generator(seed, "train", "order", epoch)``. Nothing
depends on how many numbers were drawn before, so a run that is interrupted and resumed draws what an unbroken one
would have drawn.
"""

from __future__ import annotations

import hashlib
from random import Random

import numpy as np

Key = int | str


def key_to_int(*key: Key) -> int:
    """63 bits that depend on every part of the key."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(*key: Key) -> np.random.Generator:
    return np.random.default_rng(key_to_int(*key))


def chooser(*key: Key) -> Random:
    """For choices among Python objects."""
    return Random(key_to_int(*key))
