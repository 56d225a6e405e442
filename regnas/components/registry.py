"""Tables of the components that a configuration can name; packages and scripts can add their own.

A package adds a part by an entry point in the group of the table:

    [project.entry-points."regnas.losses"]
    mine = "my_package.losses:Mine"

A script adds a part by one line, the decorator ``register`` of the table:

    @LOSSES.register("mine")
    @dataclass(frozen=True)
    class Mine: ...

Worker processes find entry points again. They get the parts of a script by importing it, so the script starts its work
under ``if __name__ == "__main__":``. Parts of an interactive session cannot be imported there
(``runtime/importable.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from regnas.errors import (
    ConfigurationError,
    EnvironmentProblem,
    MissingPackage,
    UnknownName,
    explain_missing_packages,
    first_line,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Part = TypeVar("Part")
Added = TypeVar("Added")


def summary_of(part: Any) -> str:
    """Return the first line of the docstring of a part, or "" if it has none."""
    return (part.__doc__ or "").partition("\n")[0]


def nearest(name: str, known: list[str]) -> str:
    """Return ``; did you mean "x"?`` if one of the known names is similar, else ""."""
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


def check_component(part: Any) -> None:
    """Raise ``ValueError`` for a part that a configuration cannot build: a component is a frozen dataclass."""
    if not (isinstance(part, type) and is_dataclass(part) and part.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise ValueError(f"must be a frozen dataclass, got {part!r}")


@dataclass(frozen=True)
class _Offer:
    """A part under a name, and its owner."""

    source: str  # "module:attribute"; two offers of one source are the same
    owner: str  # for errors
    load: Callable[[], Any]
    trusted: bool = False  # a part of regnas itself


class Registry(Mapping[str, Part]):
    """A table from names to parts: those of regnas, of installed packages and of the running script.

    Entry points are looked up on first use and imported one by one, so a package that cannot be imported fails only if
    one of its parts is used.

    Args:
        kind: the word for a part in messages, such as "loss".
        group: the entry point group of packages that add parts; "" for none.
        parts: the parts of regnas; a text "module:attribute" is imported on first use.
        check: raises ``ValueError`` for a part from outside that cannot be used.
        base: another table, whose parts also belong to this one, except those named in ``without``.

    Example:
        >>> numbers = Registry("number", "", {"fraction": "fractions:Fraction"})
        >>> "fraction" in numbers, numbers.get("complex")
        (True, None)
    """

    def __init__(
        self,
        kind: str,
        group: str,
        parts: Mapping[str, Part | str],
        check: Callable[[Any], None] = check_component,
        base: Registry[Any] | None = None,
        without: Collection[str] = (),
    ) -> None:
        self.kind = kind
        self.group = group
        self._own = {name: _own_offer(part) for name, part in parts.items()}
        self._registered: dict[str, _Offer] = {}
        self._loaded: dict[str, Any] = {name: part for name, part in parts.items() if not isinstance(part, str)}
        self._check = check
        self._base = base
        self._without = frozenset(without)

    def __getitem__(self, name: str) -> Part:
        offers = self._offers(name)
        if not offers:
            known = sorted(self)
            raise UnknownName(f'unknown {self.kind} "{name}"{nearest(name, known)} (known: {", ".join(known)})')
        if len(offers) > 1:
            raise ConfigurationError(_taken_twice(self.kind, name, [offer.owner for offer in offers]))
        if name not in self._loaded:
            self._loaded[name] = self._load(name, offers[0])
        part: Part = self._loaded[name]
        return part

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._offers(name))

    def __iter__(self) -> Iterator[str]:
        inherited = [name for name in self._base or () if name not in self._without]
        return iter(dict.fromkeys([*self._own, *inherited, *self._packaged, *self._registered]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def register(self, name: str) -> Callable[[Added], Added]:
        """Return a decorator that adds a part under a name.

        A class that is defined again, as in a notebook cell that runs twice, replaces the former one.

        Args:
            name: the name of the part in configurations.

        Example:
            >>> from dataclasses import dataclass
            >>> from regnas.search import REWARDS
            >>> @REWARDS.register("squared_flips")
            ... @dataclass(frozen=True)
            ... class SquaredFlips:
            ...     def __call__(self, measures):
            ...         return measures.top1 - measures.mean_nfr**2
        """

        def add(part: Added) -> Added:
            try:
                self._check(part)
            except ValueError as error:
                raise ConfigurationError(f'the {self.kind} "{name}" {error}') from None
            source = source_of(part)
            taken = [offer.owner for offer in self._offers(name) if offer.source != source]
            if taken:
                raise ConfigurationError(_taken_twice(self.kind, name, [*taken, source]))
            self._registered[name] = _Offer(source, source, lambda: part)
            self._loaded[name] = part
            return part

        return add

    def name_of(self, component: object) -> str | None:
        """Return the name of a component's class in this table; None if the table does not have it."""
        found = (name for name, part in self._loaded.items() if part is type(component))
        return next(found, None) or (self._base.name_of(component) if self._base else None)

    def summaries(self) -> dict[str, str]:
        """Return the summary of every name."""
        return {name: self.summary(name) for name in self}

    def usable(self) -> dict[str, Part]:
        """Return all parts except those that cannot be imported or have two owners."""
        found = {}
        for name in self:
            with suppress(ConfigurationError, EnvironmentProblem):
                found[name] = self[name]
        return found

    def summary(self, name: str) -> str:
        """Return the first line of the docstring of a part; for a part that cannot be used, the reason."""
        try:
            return summary_of(self[name])
        except (ConfigurationError, EnvironmentProblem) as error:
            return str(error)

    @cached_property
    def _packaged(self) -> dict[str, list[_Offer]]:
        if not self.group:
            return {}
        from importlib.metadata import entry_points

        found: dict[str, dict[str, _Offer]] = {}
        for point in entry_points(group=self.group):
            found.setdefault(point.name, {}).setdefault(point.value, _packaged_offer(point))
        return {name: list(offers.values()) for name, offers in found.items()}

    def _offers(self, name: str) -> list[_Offer]:
        """Return one offer per source: a package may also register a part that is its entry point."""
        offers = [self._own[name]] if name in self._own else []
        offers += self._packaged.get(name, [])
        offers += [self._registered[name]] if name in self._registered else []
        if self._base is not None and name not in self._without:
            offers += self._base._offers(name)
        return list({offer.source: offer for offer in offers}.values())

    def _load(self, name: str, offer: _Offer) -> Any:
        try:
            with explain_missing_packages(f'the {self.kind} "{name}"') if offer.trusted else nullcontext():
                part = offer.load()
        except MissingPackage:
            raise
        except Exception as error:
            raise EnvironmentProblem(
                f'the {self.kind} "{name}" of {offer.owner} must be importable, got {type(error).__name__}: '
                f"{first_line(error)}. "
                "Repair or uninstall the package."
            ) from error
        if not offer.trusted:
            try:
                self._check(part)
            except ValueError as error:
                raise ConfigurationError(f'the {self.kind} "{name}" of {offer.owner} {error}') from None
        return part


def source_of(part: Any) -> str:
    """Return the place of a definition, as "module:name"; for a value, the place of its class."""
    kind = part if hasattr(part, "__qualname__") else type(part)
    return f"{kind.__module__}:{kind.__qualname__}"


def _own_offer(part: Any) -> _Offer:
    source = part if isinstance(part, str) else source_of(part)
    return _Offer(source, f"regnas ({source})", lambda: _import(source), trusted=True)


def _packaged_offer(point: EntryPoint) -> _Offer:
    package = point.dist.name if point.dist else "an unknown package"
    return _Offer(point.value, f"{package} ({point.value})", point.load)


def _import(source: str) -> Any:
    module, _, attribute = source.partition(":")
    return getattr(import_module(module), attribute)


def _taken_twice(kind: str, name: str, owners: list[str]) -> str:
    found = " and ".join(sorted(owners))  # packages come in no order
    return f'the {kind} "{name}" must have one owner, got {found}. Rename one, or uninstall its package.'
