"""Match the outputs of a model with the classes of the data."""

from __future__ import annotations

from collections.abc import Sequence

from regnas.errors import DataError


def outputs_by_class(
    model: str, known: Sequence[str], source: str, wanted: Sequence[str], *, by_number: bool
) -> list[int]:
    """Return the model's output for every class of the data, by name; the remaining outputs follow in order.

    Model and data must have the same names, in any order. With ``by_number``, for models whose classes have a well
    known order, the data may also have only some of the classes, or the same number of classes in that order under
    other names (folders named by WordNet ids); names 0, 1, 2, ... are taken as numbers.
    """
    place = {name: index for index, name in enumerate(known)}
    if by_number and len(wanted) == len(known) and {str(number) for number in range(len(known))} == set(wanted):
        return [int(name) for name in wanted]  # folders come in the order of text: 0, 1, 10, 100, ...
    if set(wanted) == place.keys() or (by_number and place.keys() >= set(wanted)):
        chosen = [place[name] for name in wanted]
        return chosen + sorted(set(range(len(known))) - set(chosen))
    if by_number and len(wanted) == len(known):
        elsewhere = [name for index, name in enumerate(wanted) if place.get(name, index) != index]
        if not elsewhere:
            return list(range(len(known)))
        raise DataError(
            f"the classes of {source} must have the names or the order of those of {model}, got {len(elsewhere):,} at "
            f"another number ({_examples(elsewhere)})"
        )
    raise DataError(
        f"{source} and {model} must have the same classes, got {_only(wanted, known, source)}, "
        f"{_only(known, wanted, model)}"
    )


def _only(names: Sequence[str], others: Sequence[str], owner: str) -> str:
    """Describe names that others lack, such as ``3 of 10 only in photos ("cat", "dog", "elk")``."""
    missing = [name for name in names if name not in set(others)]
    such_as = f" ({_examples(missing)})" if missing else ""
    return f"{len(missing):,} of {len(names):,} only in {owner}{such_as}"


def _examples(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names[:3])
