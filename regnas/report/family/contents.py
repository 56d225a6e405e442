"""The contents of a family's report. Everything that it shows is computed from these values alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regnas.data import Split
from regnas.family.decision import Decision
from regnas.flips import Predictions
from regnas.report.tuning import Choice
from regnas.search import Trial
from regnas.space import Architecture


@dataclass(frozen=True)
class ReportedMethod:
    """A method with one network for each member: the searched family, or a baseline.

    The tuples go from the smallest to the largest network, parallel to ``ReportContents.members``.
    """

    name: str
    title: str
    description: str
    predictions: tuple[Predictions, ...]  # on the report split
    architectures: tuple[Architecture, ...]
    macs: tuple[int, ...]
    parameters: tuple[int, ...]
    training_macs: int  # multiply-adds of all its training, forward and backward; 0 for imported weights


@dataclass(frozen=True)
class SearchHistory:
    """The candidates of one search in the order of their evaluation, and the id of the architecture it chose."""

    name: str
    trials: tuple[Trial, ...]
    chosen: str


@dataclass(frozen=True)
class ReportContents:
    """The results of one run; the first method is the family that the others are compared with."""

    title: str
    members: tuple[str, ...]
    budgets: tuple[str, ...]
    methods: tuple[ReportedMethod, ...]
    searches: tuple[SearchHistory, ...]
    report_split: Split
    classes: tuple[str, ...]
    facts: Mapping[str, str]
    tuning: tuple[Choice, ...] = ()  # keys of baselines that are "auto"
    polishing: Decision | None = None

    def __post_init__(self) -> None:
        if not self.methods or not self.members:
            raise ValueError("a report must have a family with at least one member, got none")
        if len(set(self.members)) < len(self.members):
            raise ValueError(f"names of members must differ, got {', '.join(self.members)}")
        if len(self.budgets) != len(self.members):
            raise ValueError(f"budgets must be one per member, {len(self.members)}, got {len(self.budgets)}")
        for method in self.methods:
            for what in ("predictions", "architectures", "macs", "parameters"):
                count = len(getattr(method, what))
                if count != len(self.members):
                    raise ValueError(
                        f'{what} of method "{method.name}" must be one per member, {len(self.members)}, got {count}'
                    )

    @property
    def family(self) -> ReportedMethod:
        return self.methods[0]

    def class_name(self, index: int) -> str:
        """Return the name of a class; a model may have more outputs than the data set has names."""
        return self.classes[index] if index < len(self.classes) else f"class {index}"
