"""The share of clipped steps in the trainings of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from regnas.report.update.results import ClippedSteps, TrainingClipping
from regnas.training import Clipping
from regnas.updates.models.model import Model, Training, all_parts
from regnas.updates.models.store import ModelStore

# Above this share of the steps, clipping affects what a training minimizes.
MOST_CLIPPED = 0.03


@dataclass(frozen=True)
class ClippedTraining:
    """One training, and the first of the compared methods that needs it.

    ``clipping`` is None if an earlier version trained it.
    """

    method: str
    clipping: Clipping | None
    training: str = ""
    seed: int | None = None

    @property
    def name(self) -> str:
        seed = "" if self.seed is None else f"seed {self.seed}"
        return ", ".join(filter(None, (self.method, self.training, seed)))

    @property
    def result(self) -> TrainingClipping:
        """The counts for the results of an update."""
        counts = None if self.clipping is None else ClippedSteps(**self.clipping.to_json())
        return TrainingClipping(self.method, self.training, self.seed, counts)


def collect_clipping(store: ModelStore, plans: Mapping[str, Iterable[Model]]) -> list[ClippedTraining]:
    """Return every training of the plans once, under the first method that needs it."""
    seen: set[Model] = set()
    found = []
    for method, plan in plans.items():
        own = [model for model in all_parts(plan) if isinstance(model, Training) and model not in seen]
        seen.update(own)
        found += [ClippedTraining(method, store.clipping(model), store.name_of(model), store.seed) for model in own]
    return found


def describe_clipping(trainings: Sequence[ClippedTraining]) -> str:
    """Describe the largest share of clipped steps among the trainings, and how many trainings exceed the threshold."""
    known = [(training.clipping, training) for training in trainings if training.clipping is not None]
    unknown = len(trainings) - len(known)
    missing = f"; not recorded for {unknown} trainings" if unknown else ""
    if not known:
        return f"not recorded{missing}"
    clipping, worst = max(known, key=lambda pair: pair[0].share)
    above = sum(clipping.share > MOST_CLIPPED for clipping, _ in known)
    if not clipping.clipped:
        return f"none after warm-up in {len(known)} trainings{missing}"
    return (
        f"at most {100 * clipping.share:.1f} % of the steps after warm-up ({worst.name}); "
        f"{above} of {len(known)} trainings above {100 * MOST_CLIPPED:g} %{missing}"
    )
