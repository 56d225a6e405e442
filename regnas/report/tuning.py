"""The choices for keys that are "auto", made on the search split, and the rows of their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regnas.report.kit.formatting import percent
from regnas.report.kit.json_values import Text

TITLE = "Chosen on the search split"
EXPLANATION = (
    'Keys that are "auto" in the configuration. Among the values that are as accurate as no treatment, within one '
    "standard error, the one with the fewest flips is chosen. The grid is extended while the choice lies at one of its "
    "ends. The report split is not used. Cost: the training of the whole grid, as a multiple of training without "
    "treatment."
)
HEADER = ("Key", "Chosen", "Tried: error rate / NFR on the search split (%)", "Cost")


@dataclass(frozen=True)
class Tried:
    """One value on the search split: the mean error rate of the models and the mean NFR over their pairs."""

    value: float
    error_rate: float
    nfr: float


@dataclass(frozen=True)
class Choice:
    """A key of a method and the value that was chosen for it.

    Attributes:
        label: The label of the method.
        key: The key.
        value: The chosen value.
        tried: The grid, on the search split; empty if the value comes with the configuration (``[chosen]``).
        eligible: Whether some value was as accurate as no treatment; if none was, the most accurate one is chosen.
        at_edge: Whether the choice is an end of the grid, which could not be extended further.
        training_macs: Multiply-adds of all trainings of the grid, for one seed, without those of no treatment.
        cost: The training of the grid on all tuning seeds, as a multiple of training the new models untreated.
    """

    label: Text
    key: Text
    value: float
    tried: tuple[Tried, ...] = ()
    eligible: bool = True
    at_edge: bool = False
    training_macs: int = 0
    cost: float = 0.0

    def __str__(self) -> str:
        if not self.tried:
            return f"{self.label}.{self.key} = {self.value:g}, chosen before"
        grid = ", ".join(f"{each.value:g}" for each in self.tried)
        notes = "" if self.eligible else "; none was as accurate as no treatment"
        notes += "; the grid could not be extended further" if self.at_edge else ""
        return f"{self.label}.{self.key} = {self.value:g}, chosen on the search split from {grid}{notes}"


def tuning_rows(choices: Sequence[Choice]) -> list[list[str]]:
    """Return one row of ``HEADER`` per choice."""
    return [
        [f"{choice.label}.{choice.key}", f"{choice.value:g}{_note(choice)}", _tried(choice), _cost(choice)]
        for choice in choices
    ]


def chosen_toml(choices: Sequence[Choice]) -> str:
    """Return the choices as the ``[chosen]`` tables of a configuration."""
    by_label: dict[str, list[str]] = {}
    for choice in choices:
        by_label.setdefault(choice.label, []).append(f"{choice.key} = {float(choice.value)}")
    return "\n".join("\n".join([f"[chosen.{label}]", *lines, ""]) for label, lines in by_label.items())


def _tried(choice: Choice) -> str:
    if not choice.tried:
        return "chosen by an earlier run, from the configuration"
    return ", ".join(f"{each.value:g}: {percent(each.error_rate)} / {percent(each.nfr)}" for each in choice.tried)


def _note(choice: Choice) -> str:
    if not choice.eligible:
        return " (none was as accurate as no treatment)"
    return " (at the end of the grid)" if choice.at_edge and choice.tried else ""


def _cost(choice: Choice) -> str:
    return f"{choice.cost:.1f}x" if choice.tried else "–"
