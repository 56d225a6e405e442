"""Choose the keys of methods that are set to "auto" on the search split, from a logarithmic grid.

The choice follows the rule of one standard error (Breiman et al., 1984): of all values that are as accurate as no
treatment, within one standard error of the difference, the one with the fewest flips. A choice at an end of the grid
extends the grid, so that the result does not depend on where the grid ends. The report split is not used.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regnas.flips import Predictions, mean_nfr_values, one_standard_error_choice
from regnas.report.tuning import Choice, Tried
from regnas.updates.methods import Method
from regnas.updates.methods.tunable import Grid, grids_of

log = logging.getLogger("regnas")

BySeed = Sequence[Sequence[Predictions]]  # for each seed the models of a plan on the search split, oldest first
Result = TypeVar("Result")
Search = Generator[Sequence[Method], Sequence[BySeed], Result]  # yields methods to measure, and gets their predictions


@dataclass(frozen=True)
class Tuner:
    """Measures methods and chooses their keys.

    ``predict`` trains missing models and predicts the search split, for many methods at once.
    """

    predict: Callable[[Sequence[Method]], list[BySeed]]
    untreated: Callable[[Method], BySeed]  # the counterpart of a method
    training_macs: Callable[[Sequence[Method]], int]  # of all that these methods train

    def tune(self, methods: Mapping[str, tuple[Method, Sequence[str]]]) -> dict[str, tuple[Method, list[Choice]]]:
        """Return the methods by label with their keys chosen; the next values of all methods are trained together."""
        searches = {label: self._search(label, method, keys) for label, (method, keys) in methods.items()}
        found: dict[str, tuple[Method, list[Choice]]] = {}
        wanted = {label: next(search) for label, search in searches.items()}
        while wanted:
            measured = iter(self.predict([variant for variants in wanted.values() for variant in variants]))
            answered = {label: [next(measured) for _ in variants] for label, variants in wanted.items()}
            wanted = {}
            for label, predicted in answered.items():
                try:
                    wanted[label] = searches[label].send(predicted)
                except StopIteration as end:
                    found[label] = end.value
        return found

    def _search(self, label: str, method: Method, keys: Sequence[str]) -> Search[tuple[Method, list[Choice]]]:
        """Choose one key after the other, with the later ones at their defaults."""
        choices = []
        for key in keys:
            choice = yield from self._choose(label, method, key, grids_of(method)[key])
            log.info("tuned: %s", choice)
            choices.append(choice)
            method = _with_value(method, key, choice.value)
        return method, choices

    def _choose(self, label: str, method: Method, key: str, grid: Grid) -> Search[Choice]:
        without = self.untreated(method)
        untreated_errors = errors_of(without)
        groups = without[0][0].groups
        known: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        wanted: list[float] = list(grid.first)
        while True:
            measured = yield [_with_value(method, key, value) for value in wanted]
            known |= {value: (errors_of(each), flips_of(each)) for value, each in zip(wanted, measured, strict=True)}
            values = sorted(known)
            errors, flips = zip(*(known[value] for value in values), strict=True)
            index = one_standard_error_choice(errors, flips, untreated_errors, groups)
            beyond = self._beyond(method, key, grid, values, index)
            if beyond is None:
                break
            wanted = [beyond]
        chosen = int(np.argmin([each.mean() for each in errors])) if index is None else index
        rates = zip(values, errors, flips, strict=True)
        return Choice(
            label,
            key,
            values[chosen],
            tuple(Tried(value, float(error.mean()), float(flip.mean())) for value, error, flip in rates),
            eligible=index is not None,
            at_edge=chosen in (0, len(values) - 1),
            training_macs=self.training_macs([_with_value(method, key, value) for value in values]),
        )

    def _beyond(self, method: Method, key: str, grid: Grid, values: Sequence[float], index: int | None) -> float | None:
        """Return the next value beyond the end at which the choice lies; None if it lies inside or the ladder ends."""
        if index is not None and 0 < index < len(values) - 1:
            return None
        # Without an eligible value, try less treatment.
        value = grid.above(values[-1]) if index == len(values) - 1 else grid.below(values[0])
        return value if value is not None and _is_possible(method, key, value) else None


def resolve(
    methods: Mapping[str, Method],
    auto: Mapping[str, Sequence[str]],
    chosen: Mapping[str, Mapping[str, float]],
    tuner: Tuner,
    again: bool,
) -> tuple[dict[str, Method], list[Choice]]:
    """Return the methods with a number in the place of every "auto"; with ``again``, ignore ``chosen``."""
    resolved, choices, open_keys = dict(methods), {}, {}
    for label, keys in auto.items():
        given = {} if again else {key: value for key, value in chosen.get(label, {}).items() if key in keys}
        for key, value in given.items():
            resolved[label] = _with_value(resolved[label], key, value)
        choices[label] = [Choice(label, key, value) for key, value in given.items()]
        missing = [key for key in keys if key not in given]
        if missing:
            open_keys[label] = resolved[label], missing
    for label, (method, found) in tuner.tune(open_keys).items():
        resolved[label] = method
        choices[label] += found
    return resolved, [choice for label in auto for choice in choices[label]]


def errors_of(by_seed: BySeed) -> NDArray[np.float64]:
    """Return, for each sample, the share of models over all seeds that get it wrong: [N]."""
    errors = np.stack([~predictions.correct for models in by_seed for predictions in models])  # [S * M, N]
    shares: NDArray[np.float64] = errors.mean(axis=0)
    return shares


def flips_of(by_seed: BySeed) -> NDArray[np.float64]:
    """Return, for each sample, the share of pairs over all seeds in which it is a negative flip: [N]."""
    if len(by_seed[0]) < 2:  # a single network has nothing to flip against
        return np.zeros(len(by_seed[0][0]))
    shares: NDArray[np.float64] = np.mean([mean_nfr_values(models) for models in by_seed], axis=0)  # [S, N] -> [N]
    return shares


def _with_value(method: Method, key: str, value: float) -> Method:
    changed: Method = dataclasses.replace(method, **{key: value})  # type: ignore[type-var]
    return changed


def _is_possible(method: Method, key: str, value: float) -> bool:
    try:
        _with_value(method, key, value)
    except ValueError:
        return False
    return True
