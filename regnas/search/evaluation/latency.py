"""Measure the latencies of the parts of a space's networks on this machine.

A few networks that together have every part are run part by part as in deployment: in evaluation mode, with batch norms
folded into the convolutions, and one part after the other, because this determines the state of the caches. Equal parts
(the same modules on inputs of the same shape) are timed once. Some whole networks are timed as well, to check the sums
of parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regnas.errors import ArtifactError, ConfigurationError
from regnas.networks import fold_batch_norms
from regnas.runtime.files import digest_of, read_sealed_json, write_sealed_json
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import chooser
from regnas.runtime.signals import asked_to_stop, stop_if_asked
from regnas.space import (
    Additivity,
    Architecture,
    Conditions,
    EvenSampler,
    LatencyTable,
    SearchSpace,
    covering,
    part_keys,
)
from regnas.supernet import SupernetPlugin

Measure = Callable[[Sequence[nn.Module], Tensor], list[float]]
"""Milliseconds of every module when they run on a batch one after the other."""

ROUNDS = 8
CHECKED_NETWORKS = 12
FEWEST_PASSES = 3
SECONDS_A_VISIT = 0.05
SECONDS_BETWEEN_SAVES = 10.0
PLAIN = (bool, int, float, str, tuple)


@torch.inference_mode()
def measure_in_turn(modules: Sequence[nn.Module], images: Tensor) -> list[float]:
    """Return the shortest time of each module in some passes, without the shortest twentieth of many passes.

    Other work on the machine and cold caches only add to a time, so the shortest times are the most accurate. But clock
    corrections sometimes shorten a measurement, which would then be the shortest of a thousand.
    """
    synchronize = {"cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize}.get(images.device.type, lambda: None)
    clock = _clock(images.device)
    taken: list[list[float]] = [[] for _ in modules]
    begun = time.perf_counter()
    while len(taken[0]) < FEWEST_PASSES or time.perf_counter() - begun < SECONDS_A_VISIT:
        x = images
        synchronize()
        for module, times in zip(modules, taken, strict=True):
            before = clock()
            x = module(x)
            synchronize()
            times.append(1000 * (clock() - before))
    return [sorted(times)[len(times) // 20] for times in taken]


def _clock(device: torch.device) -> Callable[[], float]:
    """Return a clock: the time of this thread if it does all the work, else wall time.

    On a busy machine, a network that runs longer than a time slice is always interrupted, but its parts are not. By
    wall time, sums of parts would be too small.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    exact = time.get_clock_info("thread_time").resolution <= 1e-6
    return time.thread_time if alone and exact else time.perf_counter


class Run(NamedTuple):
    """A network to be timed, part by part or as a whole."""

    architecture: Architecture
    whole: bool


@dataclass
class Bench:
    """Builds networks and times them; ``times`` has the time of every distinct module in each round so far."""

    plugin: SupernetPlugin
    conditions: Conditions
    device: torch.device
    measure: Measure
    times: dict[str, list[float]]
    _digests: dict[Run, list[str]] = field(default_factory=dict)

    def time(self, run: Run, number: int) -> None:
        """Time a network, unless round ``number`` already has all of its modules."""
        modules = None
        if run not in self._digests:
            modules = self._modules(run)
            self._digests[run] = _fingerprints(modules, self._images)
        digests = self._digests[run]
        if all(len(self.times.get(digest, ())) > number for digest in digests):
            return
        folded = [fold_batch_norms(module) for module in modules or self._modules(run)]
        for digest, taken in zip(digests, self.measure(folded, self._images), strict=True):
            times = self.times.setdefault(digest, [])
            if len(times) <= number:
                times.append(taken)
            times[-1] = min(times[-1], taken)

    def milliseconds(self, run: Run) -> list[float]:
        """Return the shortest time of each module of a network over all rounds."""
        return [min(self.times[digest]) for digest in self._digests[run]]

    @cached_property
    def _images(self) -> Tensor:
        shape = (self.conditions.batch_size, *self.conditions.input_shape)
        images = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        return images.to(self.device, memory_format=torch.channels_last)

    def _modules(self, run: Run) -> list[nn.Module]:
        network = self.plugin.network(run.architecture, self.conditions.input_shape, self.conditions.classes)
        network = network.to(self.device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
        if run.whole:
            return [network]
        blocks = sum(run.architecture.depths)
        parts = [part.eval() for part in network.parts()] if hasattr(network, "parts") else []
        if len(parts) != blocks + 2:
            raise ConfigurationError(
                f'the supernet "{self.conditions.space}" cannot be timed: parts() of a network of {blocks} blocks must '
                f"return {blocks + 2} modules, got {len(parts)}"
            )
        return parts


def measure_latencies(
    plugin: SupernetPlugin,
    space: SearchSpace,
    conditions: Conditions,
    device: torch.device,
    path: Path,
    measure: Measure = measure_in_turn,
) -> LatencyTable:
    """Time every part of the space, and some whole networks, and write the table.

    There are several rounds, each in another order, so that a slow moment of the machine does not affect all rounds of
    an entry. Finished times are kept beside the table until it is complete, and a second call continues from them.
    """
    networks, checked = covering(space), _over_the_range(space)
    runs = [Run(network, False) for network in networks] + [Run(network, True) for network in checked]
    partial = path.with_name(f"{path.name}.partial")
    bench = Bench(plugin, conditions, device, measure, _kept_times(partial, conditions))
    saved = time.monotonic()
    with Bar("time the parts", ROUNDS * len(runs)) as bar:
        for number in range(ROUNDS):
            for run in chooser("latency", number).sample(runs, len(runs)):
                bench.time(run, number)
                if asked_to_stop() or time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                    write_sealed_json(partial, {"conditions": asdict(conditions), "times": bench.times})
                    saved = time.monotonic()
                stop_if_asked()
                bar.advance()
    entries: dict[str, float] = {}
    for network in networks:
        entries |= zip(part_keys(space, network), bench.milliseconds(Run(network, False)), strict=True)
    foretold = [sum(entries[key] for key in part_keys(space, network)) for network in checked]
    timed = [sum(bench.milliseconds(Run(network, True))) for network in checked]
    table = LatencyTable(conditions, entries, additivity(foretold, timed))
    table.save(path)
    partial.unlink(missing_ok=True)
    return table


def find_table(path: Path, space: SearchSpace, conditions: Conditions, overwrite: bool) -> LatencyTable | None:
    """Return the existing table, or None if it must be measured; refuse other files and other configurations."""
    if path.is_dir():
        raise ConfigurationError(f"the latency table must be a file, got the folder {path}. Choose another `out`.")
    if not path.exists():
        return None
    table = LatencyTable.load(path)  # also if it is to be replaced: other files must not be overwritten
    if overwrite:
        return None
    covered = all(key in table.entries for network in covering(space) for key in part_keys(space, network))
    if table.conditions != conditions or not covered:
        raise ConfigurationError(
            f"{path} has the latencies of another configuration or machine ({table.conditions.space}, "
            f"{table.conditions}). Choose another `out`, or measure again with `overwrite=True`."
        )
    return table


def additivity(foretold: Sequence[float], timed: Sequence[float]) -> Additivity:
    """Compare sums of parts with the times of whole networks, both in milliseconds."""
    from scipy.stats import spearmanr  # here because every worker process would take half a second to import it

    scale = median(whole / parts for whole, parts in zip(timed, foretold, strict=True))
    error = median(abs(scale * parts / whole - 1) for whole, parts in zip(timed, foretold, strict=True))
    varied = len(set(foretold)) > 1 and len(set(timed)) > 1
    correlation = float(spearmanr(foretold, timed).statistic) if varied else None
    return Additivity(len(timed), scale, error, correlation)


def _over_the_range(space: SearchSpace) -> list[Architecture]:
    """Return the smallest network, the largest, and random ones between them."""
    sampler = EvenSampler(space)
    drawn = [sampler.sample(chooser("latency", "check", index)) for index in range(2 * CHECKED_NETWORKS)]
    return list(dict.fromkeys([space.smallest, space.largest, *drawn]))[:CHECKED_NETWORKS]


@torch.inference_mode()
def _fingerprints(modules: Sequence[nn.Module], images: Tensor) -> list[str]:
    """Return a digest per module of everything that its time can depend on: its contents and the shape of its input.

    The ``repr`` of a module does not show attributes that its forward pass may use, so plain ones are included.
    """
    digests = []
    x = images
    for module in modules:
        made_of = [
            (
                name,
                type(part).__qualname__,
                part.extra_repr(),
                [tuple(tensor.shape) for tensor in part.parameters(recurse=False)],
                sorted((key, repr(value)) for key, value in vars(part).items() if isinstance(value, PLAIN)),
            )
            for name, part in module.named_modules()
        ]
        digests.append(digest_of([list(x.shape), made_of])[:16])
        x = module(x)
    return digests


def _kept_times(partial: Path, conditions: Conditions) -> dict[str, list[float]]:
    """Return the times of an interrupted call under the same conditions."""
    if not partial.exists():
        return {}
    try:
        kept = read_sealed_json(partial)
        if Conditions.from_json(kept["conditions"]) != conditions:
            return {}
        return {str(digest): [float(taken) for taken in times] for digest, times in kept["times"].items()}
    except ArtifactError as error:
        raise ArtifactError(f"{error}. Delete it.") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(
            f"{partial} must be a partial latency table, got other content ({error!r}). Delete it."
        ) from None
