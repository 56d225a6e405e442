"""Put sample ids into one order quickly, because sorting texts takes longer than the rest of a comparison.

The order is by a 64-bit fingerprint of each id. Texts of a million samples share a fingerprint about once in 30 million
comparisons. Users of the order therefore compare the ids themselves, and sort them if two texts share a fingerprint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.runtime.randomness import generator


def fingerprints(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the fingerprints [N] of ids: integers unchanged, for texts a sum over their characters.

    The fingerprint of a text with the characters c_k is the sum of c_k * m_k modulo 2^64, with odd multipliers m_k.

    The padding of a text to the width of its array is 0 and adds nothing: "ab" is the same in every array.
    """
    if ids.dtype.kind != "U":
        return ids.astype(np.int64, copy=False).view(np.uint64)
    characters = _characters(ids)  # [N, width]
    halves = generator("flips", "fingerprints").integers(0, 2**63, (characters.shape[1],), dtype=np.uint64)
    multipliers = np.uint64(2) * halves + np.uint64(1)
    return np.asarray(np.einsum("nk,k->n", characters, multipliers), dtype=np.uint64)


def quick_order(ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the positions [N] that sort the ids by their fingerprints, and the ids that occur more than once.

    The order is the same in every file of these ids, unless two different ids share a fingerprint. Check that the
    ordered ids are the same.
    """
    prints = fingerprints(ids)
    order = np.argsort(prints)
    prints = prints[order]
    suspects = np.flatnonzero(prints[1:] == prints[:-1])
    # Few, except in damaged or malicious files: sort exactly those that share a fingerprint.
    shared = np.unique(np.concatenate([order[suspects], order[suspects + 1]]))
    values, counts = np.unique(ids[shared], return_counts=True)
    return order, values[counts > 1]


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the different values [V], sorted, and the place of each of ``values`` [N] among them: [N]."""
    prints = fingerprints(values)
    known = np.unique(prints)
    codes = np.searchsorted(known, prints)
    places = np.empty(len(known), dtype=np.int64)
    places[codes] = np.arange(len(values))
    found = values[places]
    if not same_ids(values, found, codes):  # two different texts share a fingerprint
        found, codes = np.unique(values, return_inverse=True)
        return found, codes
    order = np.argsort(found)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return found[order], rank[codes]


def same_ids(first: NDArray[Any], other: NDArray[Any], position: NDArray[np.int64]) -> bool:
    """Return whether the n-th id of ``first`` is the one at position[n] of ``other``, for every n."""
    if first.dtype.kind != "U":
        return np.array_equal(first, other[position])
    kind = np.promote_types(first.dtype, other.dtype)
    # As rows of characters: numpy gathers texts one by one, five times slower.
    rows = _characters(other.astype(kind, copy=False)).take(position, axis=0)
    return np.array_equal(_characters(first.astype(kind, copy=False)), rows)


def _characters(texts: NDArray[Any]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), texts.dtype.itemsize // 4)
