"""Plan an update: the models that each method needs, and the changes along the chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regnas.components.registry import summary_of
from regnas.errors import ConfigurationError
from regnas.report.update.methods import FINE_TUNING, Counterpart
from regnas.runs.config import LoadedConfig
from regnas.updates.config import UpdateConfig
from regnas.updates.methods import METHODS, Chain
from regnas.updates.methods.chain import bare
from regnas.updates.methods.fine_tuning import FineTuning
from regnas.updates.methods.none import NoTreatment
from regnas.updates.models import Model


@dataclass(frozen=True)
class Variant:
    """A method with one kind of references."""

    name: str  # of the method
    label: str  # of its row
    title: str
    description: str
    plan: tuple[Model, ...]  # one model for every release
    counterpart: Counterpart = "none"


def plan_all(config: LoadedConfig[UpdateConfig], chain: Chain) -> list[Variant]:
    """Plan every method; in a chain of three or more, every targeted method with each kind of references.

    Methods that start from the old weights are compared with plain fine-tuning, which is added if it is not configured.
    Against a model trained from scratch, they would be credited with the effect of fine-tuning alone. If the releases
    are fine-tuned anyway, no treatment is plain fine-tuning, and nothing is added.
    """
    values = config.values
    variants, problems = [], []
    for label, method in values.methods.items():
        kinds = values.references if method.targeted and len(chain.stages) > 2 else ("chain",)
        for kind in kinds:
            suffix = f" ({kind})" if len(chain.stages) > 2 and method.targeted else ""
            try:
                plan = method.plan(replace(chain, references=kind))
            except ConfigurationError as error:
                problems.append(f"{config.name}: {error}")
                break
            row = f"{label}-{kind}" if suffix else label
            name = METHODS.name_of(method) or type(method).__name__
            counterpart: Counterpart = "fine_tuning" if method.fine_tunes and name != FINE_TUNING else "none"
            variants.append(Variant(name, row, f"{method.title}{suffix}", summary_of(method), plan, counterpart))
    if not problems:
        variants = _with_counterparts(variants, chain)
    labels = [variant.label for variant in variants]
    problems += [
        f'{config.name}: labels of methods must differ in the report, got "{label}" twice. Rename one of them.'
        for label in dict.fromkeys(labels)
        if labels.count(label) > 1
    ]
    if problems:
        raise ConfigurationError(*problems)
    return variants


def _with_counterparts(variants: Sequence[Variant], chain: Chain) -> list[Variant]:
    """Add plain fine-tuning before the first method that is compared with it."""
    compared = [variant.counterpart == "fine_tuning" for variant in variants]
    if not any(compared):
        return list(variants)
    method = FineTuning()
    plan = method.plan(chain)
    if plan == NoTreatment().plan(chain):
        return [replace(variant, counterpart="none") for variant in variants]
    if any(variant.name == FINE_TUNING for variant in variants):
        return list(variants)
    place = compared.index(True)
    added = Variant(FINE_TUNING, FINE_TUNING, method.title, summary_of(method), plan)
    return [*variants[:place], added, *variants[place:]]


def plan_noise_floor(chain: Chain, plain: tuple[Model, ...]) -> tuple[Model, ...]:
    """Return two trainings of the newest release that differ only in their random draws."""
    stage = chain.stages[-1]
    return stage.repeats(plain[-2], 2)


def describe_scenario(chain: Chain) -> str:
    """Describe the changes along the chain in words."""
    releases = [stage.release for stage in chain.stages]
    networks = {bare(release.network) for release in releases}
    changes = ["same architecture" if len(networks) == 1 else "other architecture"]
    for key, what in (("samples", "more samples"), ("classes", "more classes")):
        shares = [getattr(release, key) for release in releases]
        if len(set(shares)) > 1:
            changes.append(f"{what} ({' → '.join(f'{share:.0%}' for share in shares)})")
    if any(release.start == "previous" for release in releases):
        changes.append("fine-tuned from the old weights")
    if len(releases) > 2:
        changes.append(f"a chain of {len(releases)}")
    return ", ".join(changes)
