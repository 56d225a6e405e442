"""Made-up results of updates: by hand for the tests, or many methods at random, as a real run would have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

import numpy as np

from regnas.report.update.curves import SweepResult, SweptValue
from regnas.report.update.measures import Difference, ErrorRate, MeanNfr, Measure
from regnas.report.update.methods import MethodResult, PairResult
from regnas.report.update.results import NoiseFloor, UpdateResult


def measure(*values: float) -> Measure:
    return Measure(fmean(values), stdev(values) if len(values) > 1 else None, values)


def difference(mean: float, half: float = 0.002) -> Difference:
    return Difference(mean, (mean - half, mean + half))


def method(
    name: str,
    errors: Sequence[Sequence[float]],
    flips: Sequence[Sequence[float]],
    nfr_difference: Difference | None = None,
    error_rate_difference: Difference | None = None,
    models: Sequence[str] = ("old", "new"),
    **changes: Any,
) -> MethodResult:
    """``errors`` by model and ``flips`` by pair (references first), each one value per seed."""
    made = MethodResult(
        name=name,
        label=name,
        title="No treatment" if name == "none" else name,
        description=f"What {name} does.",
        counterpart="none",
        error_rates=tuple(ErrorRate.of(model, measure(*each)) for model, each in zip(models, errors, strict=True)),
        pairs=tuple(
            PairResult(
                reference=reference,
                new=new,
                nfr=measure(*values),
                nfr_interval=(0.0, 0.1),
                relative_nfr=measure(*(10 * value for value in values)),
                pfr=measure(*(value + 0.01 for value in values)),
                nfr_difference=nfr_difference,
                nfr_difference_to_none=nfr_difference,
                by_seed=(),
            )
            for (reference, new), values in zip(combinations(models, 2), flips, strict=True)
        ),
        mean_nfr=MeanNfr.of(measure(*map(fmean, zip(*flips, strict=True))), (0.0, 0.1)),
        mean_nfr_difference=nfr_difference,
        mean_nfr_difference_to_none=nfr_difference,
        error_rate_difference=error_rate_difference,
        error_rate_difference_to_none=error_rate_difference,
        parameters=12345,
        training_cost=1.0,
        on_front=False,
    )
    return replace(made, **changes)


def with_pairs(made: MethodResult, *changes: dict[str, Any]) -> MethodResult:
    """Change the pairs of a method, each in its own way."""
    pairs = zip(made.pairs, changes, strict=True)
    return replace(made, pairs=tuple(replace(pair, **change) for pair, change in pairs))


def none(**changes: Any) -> MethodResult:
    return method("none", [(0.20, 0.22), (0.10, 0.12)], [(0.040, 0.044)], **changes)


def sweep(chosen: float | None = 0.5, values: Sequence[float] = (0.0, 0.5, 1.0), **changes: Any) -> SweepResult:
    points = tuple(
        SweptValue(
            value=value,
            error_rate=measure(0.10 + 0.04 * value**2, 0.12 + 0.04 * value**2),
            nfr=measure(0.040 - 0.04 * value, 0.044 - 0.04 * value),
            relative_nfr=measure(0.40 - 0.4 * value, 0.44 - 0.4 * value),
            error_rate_difference=difference(0.04 * value**2),
            search_error_rate=0.1234 + 0.04 * value**2,
            search_nfr=0.0456 - 0.04 * value,
        )
        for value in values
    )
    return replace(SweepResult("bcwi", "BCWI", "alpha", points, chosen), **changes)


def noise_floor(seeds: int = 2, **changes: Any) -> NoiseFloor:
    made = NoiseFloor("new", measure(*(0.0300, 0.0310)[:seeds]), measure(*(0.10, 0.12)[:seeds]))
    return replace(made, **changes)


def update(*methods: MethodResult, **changes: Any) -> UpdateResult:
    """Two models; the number of seeds is that of the first method."""
    seeds = len(methods[0].pairs[0].nfr.values)
    made: dict[str, Any] = {
        "title": "update_test",
        "scenario": "same architecture, more samples (50 % -> 100 %)",
        "models": ("old", "new"),
        "seeds": tuple(range(seeds)),
        "samples": 4768,
        "clusters": 596,
        "interval_level": 0.95,
        "noise_floor": noise_floor(seeds),
        "methods": methods,
        "sweeps": (),
        "facts": {"Data": "digits"},
        "tuning": (),
        "diagnostics": None,
        "by_epoch": (),
        "clipping": (),
    }
    return UpdateResult(**made | changes)


def realistic(count: int = 22, models: Sequence[str] = ("old", "new"), seeds: int = 2) -> UpdateResult:
    """Methods crowded around no treatment, some far better in flips, as measured updates are."""
    generator = np.random.default_rng(7)
    pairs = list(combinations(models, 2))
    methods = []
    for index in range(count):
        strength = 0.0 if index == 0 else generator.uniform(0, 1) ** 1.5
        errors = [
            0.16 * 0.8**place + (0.004 * strength - 0.002) * (place > 0) + generator.normal(0, 0.002, seeds)
            for place in range(len(models))
        ]
        flips = [0.045 * (1 - 0.6 * strength) + generator.normal(0, 0.002, seeds) for _ in pairs]
        gap = -0.045 * 0.6 * strength
        title = "No treatment" if index == 0 else f"{NAMES[index % len(NAMES)]}"
        methods.append(
            method(
                "none" if index == 0 else f"method_{index}",
                [values.tolist() for values in errors],
                [values.tolist() for values in flips],
                None if index == 0 else difference(gap, 0.004),
                None if index == 0 else difference(0.004 * strength, 0.003),
                models,
                title=title,
                description=f"{title}: trained with a term that ties the logits of the new model to those of the old.",
                training_cost=1.0 + 0.3 * (index % 8),
                parameters=77_850 * (4 if title.startswith("Ensemble") else 1),
            )
        )
    noise = [measure(*(0.031 + generator.normal(0, 0.001, seeds)).tolist()) for _ in range(2)]
    return update(
        *with_front(methods),
        title="update_digits",
        models=tuple(models),
        noise_floor=NoiseFloor(models[-1], *noise),
        sweeps=(sweep(0.4, [round(0.1 * step, 1) for step in range(11)]),),
        facts={"Data": "digits with corruptions, 4,768 samples of 596 originals", "Training": "60 epochs, SGD"},
    )


def with_front(methods: Sequence[MethodResult]) -> list[MethodResult]:
    """By definition: a method is on the front if no other method is better in both."""
    places = [(each.error_rate.mean, fmean(pair.nfr.mean for pair in each.pairs)) for each in methods]
    return [
        replace(made, on_front=not any(e <= error and f <= flips and (e, f) != (error, flips) for e, f in places))
        for made, (error, flips) in zip(methods, places, strict=True)
    ]


NAMES = (
    "No treatment",
    "Knowledge distillation",
    "Focal distillation (FD-KL)",
    "Focal distillation (FD-LM)",
    "Logit difference inhibition",
    "ELODI (m = 2)",
    "ELODI (m = 4)",
    "Backward-compatible weight interpolation",
    "SoupBCWI",
    "Warm start from the old model",
    "Elastic weight consolidation",
    "Prior L2",
    "Mixout",
    "Ensemble of 4",
    "Ensemble distillation",
    "Gated fusion",
    "Same seed and order",
    "Label smoothing",
    "Mixup",
    "Sample reweighting",
    "Contrastive embedding alignment",
    "Batch-norm tuning",
)
