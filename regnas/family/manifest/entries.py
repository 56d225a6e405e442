"""The entries of a manifest: members, files in other formats, model cards."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regnas.family.manifest.folders import plain_name
from regnas.family.manifest.tables import JsonTable
from regnas.space import Architecture

_OF_FAMILIES = ("architecture", "budget")
_OF_UPDATES = ("method", "seed")


@dataclass(frozen=True)
class Member:
    """One network; its weights are a safetensors file.

    A member of a family has an architecture and a budget. A model of an update has a method and a seed instead.
    """

    name: str
    architecture: Architecture | None
    budget: str  # as in the configuration
    macs: int
    parameters: int
    top1: float  # on the report split
    top1_interval: tuple[float, float]  # 95 %
    file: str
    sha256: str
    bytes: int
    method: str = ""  # the label of its row in the report
    seed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        content = asdict(self) | {"top1_interval": list(self.top1_interval)}
        if self.architecture is None:
            return {key: value for key, value in content.items() if key not in _OF_FAMILIES}
        content["architecture"] = self.architecture.to_json()
        return {key: value for key, value in content.items() if key not in _OF_UPDATES}

    @classmethod
    def from_json(cls, value: Any, path: Path, updated: bool) -> Member:
        """Read an entry; ``updated`` says whether it is a model of an update."""
        foreign = _OF_FAMILIES if updated else _OF_UPDATES
        keys = tuple(key for key in cls.__dataclass_fields__ if key not in foreign)
        table = JsonTable.of(value, path, "a member", keys)
        bounds = tuple(table.items("top1_interval"))
        if len(bounds) != 2 or not all(isinstance(bound, float) and 0 <= bound <= 1 for bound in bounds):
            raise table.refusal("top1_interval", "two rates")
        return cls(
            name=table.text("name"),
            architecture=None if updated else Architecture.from_json(table.value["architecture"]),
            budget="" if updated else table.text("budget"),
            macs=table.count("macs"),
            parameters=table.count("parameters"),
            top1=table.rate("top1"),
            top1_interval=(bounds[0], bounds[1]),
            file=plain_name(table.text("file"), path),
            sha256=table.text("sha256"),
            bytes=table.count("bytes"),
            method=table.text("method") if updated else "",
            seed=table.count("seed") if updated else None,
        )


@dataclass(frozen=True)
class Export:
    """A member as a file of some format, and the differences of its predictions from those of the member."""

    member: str
    format: str
    file: str
    sha256: str
    bytes: int
    source: str  # sha256 of the member's weights that it was made from
    top1: float
    member_top1: float  # of the member itself, measured beside the file
    nfr: float  # the member correct, the file wrong
    pfr: float
    disagreements: int  # images with different predictions, wrong ones included
    largest_logit_difference: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any, path: Path) -> Export:
        table = JsonTable.of(value, path, "an export", tuple(cls.__dataclass_fields__))
        return cls(
            member=table.text("member"),
            format=table.text("format"),
            file=plain_name(table.text("file"), path),
            sha256=table.text("sha256"),
            bytes=table.count("bytes"),
            source=table.text("source"),
            top1=table.rate("top1"),
            member_top1=table.rate("member_top1"),
            nfr=table.rate("nfr"),
            pfr=table.rate("pfr"),
            disagreements=table.count("disagreements"),
            largest_logit_difference=table.number("largest_logit_difference"),
        )


@dataclass(frozen=True)
class Card:
    """The model card of a member."""

    member: str
    file: str
    sha256: str
    bytes: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any, path: Path) -> Card:
        table = JsonTable.of(value, path, "a card", tuple(cls.__dataclass_fields__))
        file = plain_name(table.text("file"), path)
        return cls(table.text("member"), file, table.text("sha256"), table.count("bytes"))
