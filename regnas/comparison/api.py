"""The public functions ``regnas.compare`` and ``regnas.gate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regnas.comparison.comparison import Comparison, compare_joined
from regnas.comparison.gating import Limits, Verdict, judge
from regnas.comparison.inputs import is_path, join_models, name_models
from regnas.flips import Predictions


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    target: Any = None,
    *,
    groups: Any = None,
    slices: Any = None,
    ids: Any = None,
    classes: Sequence[Any] | None = None,
) -> Comparison:
    """Count the flips between models from their predictions.

    The predictions of a model are one of:

    - an array or a list of N classes, by number or by name, as ``predict`` of scikit-learn returns them;
    - an array [N, C] of logits or probabilities, of which the highest is the predicted class;
    - a data frame of any library with the columns ``predicted`` (or ``logits``, or ``probabilities``), ``target`` and,
      optionally, ``id`` and ``group``; every other column of text or integers is a slice;
    - a mapping with the same columns;
    - ``regnas.flips.Predictions``;
    - the path of an npz, CSV, Parquet or JSON lines file with these columns; ``id`` is required.

    Models with ids are joined by id. Models without ids must have their samples in the same order.

    Args:
        models: predictions by the name of the model, from old to new; or a list of them.
        target: the true class of each sample. Required unless every model has a column ``target``.
        groups: the cluster of each sample, such as the patient or the video. Intervals allow for clusters.
        slices: values per sample by the name of the slice, or a data frame; flips are counted for each value.
        ids: the id of each sample, for models without ids. ``target``, ``groups`` and ``slices`` are in the order of
            ``ids``; without ``ids``, in the order of the first model.
        classes: the class of each column of 2-D predictions, as ``classes_`` of scikit-learn. By default, numbers
            from 0.

    Returns:
        The comparison of every two models.

    Raises:
        RegnasError: the predictions cannot be compared; the message says why, in one line.

    Example:
        >>> import regnas
        >>> comparison = regnas.compare({"old": [0, 1, 1, 0], "new": [0, 1, 0, 1]}, target=[0, 1, 1, 1])
        >>> pair = comparison["old", "new"]
        >>> pair.nfr, pair.pfr, pair.accuracy_difference
        (0.25, 0.25, 0.0)
        >>> pair.negative_flip_ids.tolist()
        [2]
    """
    return compare_joined(join_models(models, target, groups=groups, slices=slices, ids=ids, classes=classes))


def gate(
    old: Any,
    new: Any,
    target: Any = None,
    *,
    max_nfr: float | None = None,
    max_class_nfr: float | None = None,
    min_accuracy_gain: float | None = None,
    groups: Any = None,
    ids: Any = None,
    classes: Sequence[Any] | None = None,
) -> Verdict:
    """Decide by intervals whether a new model may replace an old one.

    A limit passes if the whole 95 % interval meets it, and fails if the whole interval breaks it. Otherwise the status
    is "unresolved": there are too few samples to decide.

    Args:
        old: the predictions of the model in use, in any form that ``compare`` accepts.
        new: the predictions of the model that is to replace it.
        target: the true class of each sample. Required unless both models have a column ``target``.
        max_nfr: the highest negative flip rate, as a fraction: 0.02 for 2 %.
        max_class_nfr: the highest negative flip rate of any class.
        min_accuracy_gain: the minimum accuracy gain; negative values allow a loss.
        groups: the cluster of each sample; see ``compare``.
        ids: the id of each sample; see ``compare``.
        classes: the class of each column of 2-D predictions; see ``compare``.

    Returns:
        The verdict. Its ``status`` is "pass", "fail" or "unresolved".

    Raises:
        RegnasError: there is no limit, a limit is not a fraction, or the predictions cannot be compared.

    Example:
        >>> import regnas
        >>> target = [0, 1] * 500
        >>> new = [1, 0, 1, 0] + target[4:]
        >>> regnas.gate(target, new, target, max_nfr=0.02).status
        'pass'
        >>> verdict = regnas.gate(target, new, target, max_nfr=0.005)
        >>> verdict.status, verdict.checks[0].further_samples
        ('unresolved', 18140)
    """
    limits = Limits(max_nfr, max_class_nfr, min_accuracy_gain)
    models = _name_pair(old, new)
    return judge(join_models(models, target, groups=groups, ids=ids, classes=classes), limits)


def _name_pair(old: Any, new: Any) -> dict[str, Any]:
    if is_path(old) and is_path(new):
        return name_models([old, new])
    if isinstance(old, Predictions) and isinstance(new, Predictions) and old.model != new.model:
        return {old.model: old, new.model: new}
    return {"old": old, "new": new}
