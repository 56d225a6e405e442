"""Record members that are added after the others were polished, found among sub-networks of the polished weights.

The other members keep their weights bit by bit, because nothing is trained. The found architectures are facts of the
run, because the weights that an added member was searched with may change later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from regnas.errors import ConfigurationError
from regnas.runs.folder import RunFolder
from regnas.space import Architecture

POLISHED_MEMBERS = "polished_members"  # a fact: the members whose weights were polished
LATER_MEMBERS = "later_members"  # a fact: the architectures of members that were added afterwards


def polished_members(folder: RunFolder, budgets: Iterable[str]) -> tuple[str, ...] | None:
    """Return the members whose weights were polished, or are being polished; None if polishing has not begun."""
    if POLISHED_MEMBERS in folder.facts:
        return tuple(folder.facts[POLISHED_MEMBERS])
    # An earlier version polished all members together.
    return (*budgets, *folder.facts.get("added_budgets", {})) if "polished" in folder.facts else None


def check_all_found(folder: RunFolder, polished: Iterable[str] | None) -> None:
    """Refuse to polish in another way while a member is still searched with the present weights."""
    known = {*(polished or folder.facts.get("added_budgets", {})), *folder.facts.get(LATER_MEMBERS, {})}
    missing = [name for name in folder.facts.get("added_budgets", {}) if name not in known]
    if missing:
        raise ConfigurationError(
            f"the member {missing[0]} must be found before the members are polished in another way, got an unfinished "
            f"search. Finish it with `regnas export {folder.path}`."
        )


def found_later(folder: RunFolder) -> dict[str, Architecture]:
    """Return the recorded architectures of members that were added later."""
    facts: Mapping[str, Any] = folder.facts.get(LATER_MEMBERS, {})
    return {name: Architecture.from_json(found) for name, found in facts.items()}


def keep_found(folder: RunFolder, name: str, architecture: Architecture) -> None:
    """Record the architecture of a member that was added later."""
    folder.add(LATER_MEMBERS, {name: architecture.to_json()})


def in_order(budgets: Iterable[str], members: Mapping[str, Architecture]) -> dict[str, Architecture]:
    """Return the members in the order of the budgets."""
    return {name: members[name] for name in budgets if name in members}
