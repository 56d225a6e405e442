"""Bring the predictions of several models into one order of samples, and find their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regnas.errors import ArtifactError
from regnas.flips.ordering import same_ids
from regnas.flips.predictions import Predictions, examples


def align(predictions: Sequence[Predictions]) -> tuple[Predictions, ...]:
    """Return the predictions, each reordered to the sample order of the first one.

    Refuse models with different samples or targets: they are not comparable.
    """
    if not predictions:
        raise ArtifactError("predictions must be those of at least one model, got none")
    first = predictions[0]
    return (first, *(_like(first, other) for other in predictions[1:]))


def _like(first: Predictions, other: Predictions) -> Predictions:
    if first.ids.dtype.kind != other.ids.dtype.kind:
        raise ArtifactError(
            f'"{first.model}" and "{other.model}" name their samples differently: {_kind_of_ids(first)} and '
            f"{_kind_of_ids(other)}. Predict both on the same split."
        )
    if first.ids is not other.ids and not np.array_equal(first.ids, other.ids):
        other = _reorder(first, other)
    if first.targets is other.targets:
        return other
    differing = first.ids[first.targets != other.targets]
    if len(differing):
        raise ArtifactError(
            f'"{first.model}" and "{other.model}" have different targets on {len(differing):,} of {len(first):,} '
            f"samples, such as {examples(differing)}. Predict both on the same split."
        )
    return other


def _reorder(first: Predictions, other: Predictions) -> Predictions:
    position = _positions(first, other)
    if position is None:
        only_first, only_other = np.setdiff1d(first.ids, other.ids), np.setdiff1d(other.ids, first.ids)
        raise ArtifactError(
            f'"{first.model}" and "{other.model}" were not evaluated on the same samples: '
            f"{_only(first, only_first)}, {_only(other, only_other)}. Predict both on the same split."
        )
    return other.reorder(first, position)


def _positions(first: Predictions, other: Predictions) -> NDArray[np.int64] | None:
    """Return for the n-th sample of ``first`` its position in ``other``: [N]; None if the samples differ."""
    if len(first) != len(other):
        return None
    position = _match(first.id_order, other.id_order)
    if same_ids(first.ids, other.ids, position):
        return position
    position = _match(np.argsort(first.ids), np.argsort(other.ids))  # two ids may share a fingerprint
    return position if same_ids(first.ids, other.ids, position) else None


def _match(order_of_first: NDArray[np.int64], order_of_other: NDArray[np.int64]) -> NDArray[np.int64]:
    position = np.empty_like(order_of_other)
    position[order_of_first] = order_of_other
    return position


def _only(predictions: Predictions, ids: NDArray[Any]) -> str:
    such_as = f" ({examples(ids)})" if len(ids) else ""
    return f'{len(ids):,} ids only in "{predictions.model}"{such_as}'


def _kind_of_ids(predictions: Predictions) -> str:
    kind = "text" if predictions.ids.dtype.kind == "U" else "integers"
    return f"by {kind} ({examples(predictions.ids)})"


def shared_groups(aligned: Sequence[Predictions]) -> NDArray[np.int64] | None:
    """Return the clusters of the aligned models, which must agree; models without clusters follow the others."""
    known = [each for each in aligned if each.groups is not None]
    for each in known[1:]:
        if not _same_clusters(known[0].groups, each.groups):
            raise ArtifactError(
                f'"{known[0].model}" and "{each.model}" group the same samples into different clusters. '
                "Predict both on the same split."
            )
    return known[0].groups if known else None


def _same_clusters(groups: NDArray[np.int64] | None, others: NDArray[np.int64] | None) -> bool:
    """Whether the same samples are together; the numbers of the clusters may differ."""
    if groups is None or others is None or np.array_equal(groups, others):
        return True
    return np.array_equal(_first_members(groups), _first_members(others))


def _first_members(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of the first sample of the cluster of each sample: [N]."""
    _, first, cluster_of = np.unique(groups, return_index=True, return_inverse=True)
    position: NDArray[np.int64] = first[cluster_of]
    return position


def count_clusters(groups: NDArray[np.int64] | None, samples: int) -> int:
    """Return the number of clusters; without groups, each sample is its own cluster."""
    return samples if groups is None else len(np.unique(groups))
