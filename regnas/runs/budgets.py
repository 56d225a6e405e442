"""Add budgets to a family after its search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from regnas.errors import ConfigurationError
from regnas.space import Budget

_NAMED = re.compile(r"(?:(?P<name>[\w-]+)\s*=)?\s*(?P<budget>.*)")
_OPENING = re.compile(r"[\d.]+\s*[kmg]?", re.IGNORECASE)


def insert_added(budgets: Mapping[str, Budget], added: Mapping[str, str]) -> dict[str, Budget]:
    """Return all budgets from the smallest to the largest, with the added ones in their place."""
    ordered = dict(budgets)
    for name, text in added.items():
        ordered = _insert(ordered, name, _parse(text))
    return ordered


def parse_added(texts: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """Read ``["450M", "tablet=500M +- 1 %"]`` by name; a budget without a name is named by its size."""
    added = dict(known)
    for text in texts:
        match = _NAMED.fullmatch(text.strip())
        budget = match["budget"] if match else ""
        opening = _OPENING.search(budget)
        name = (match and match["name"]) or (opening[0].replace(" ", "").replace(".", "_") if opening else "")
        _parse(budget)
        if added.get(name, budget) != budget:
            raise ConfigurationError(
                f'`add_budgets` {text}: the name must be new, got "{name}", which is {added[name]}. Choose another one.'
            )
        added[name] = budget
    return added


def _insert(budgets: Mapping[str, Budget], name: str, budget: Budget) -> dict[str, Budget]:
    if name in budgets:
        raise ConfigurationError(
            f'`add_budgets`: the name must be new, got "{name}", which is {budgets[name]}. Choose another one.'
        )
    smaller = {other: own for other, own in budgets.items() if budget.exceeds(own)}
    larger = {other: own for other, own in budgets.items() if own.exceeds(budget)}
    unordered = [other for other in budgets if other not in smaller and other not in larger]
    if unordered:
        raise ConfigurationError(
            f"`add_budgets` {name}: the budget must be larger or smaller than budgets.{unordered[0]} "
            f"({budgets[unordered[0]]}) in all limits, got {budget}"
        )
    return smaller | {name: budget} | larger


def _parse(text: str) -> Budget:
    try:
        return Budget.parse(text)
    except ValueError as error:
        raise ConfigurationError(f"`add_budgets`: {error}") from None
