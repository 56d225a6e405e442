"""Timing the parts of a space's networks on this machine.

Few networks that together have every part are run part by part, as they are deployed: in evaluation mode, with batch
norm folded into the convolutions, one part after the other so that each finds the caches as it would in earnest. Parts
that are alike (the same modules on inputs of the same shape) are timed once. Beside them some whole networks are timed,
which shows how far sums of parts can be trusted.
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
from regnas.runtime.files import digest_of, read_json, write_json
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
"""Milliseconds of every module when they are run on a batch one after the other."""

ROUNDS = 8
CHECKED_NETWORKS = 12
FEWEST_PASSES = 3
SECONDS_A_VISIT = 0.05
SECONDS_BETWEEN_SAVES = 10.0
PLAIN = (bool, int, float, str, tuple)


@torch.inference_mode()
def measure_in_turn(modules: Sequence[nn.Module], images: Tensor) -> list[float]:
    """The shortest that each took in some passes, or nearly: of many passes the shortest twentieth is left out.

    Whatever else the machine does only adds to a time, and so do the first passes with their cold caches: the shortest
    are nearest to what a module itself takes. But a clock is set right now and then, and takes some off the very
    shortest of a thousand short times.
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
    """Seconds of this thread, where it does all the work, and of the wall otherwise.

    A network that runs longer than the system lets a thread run in one go would never be seen undisturbed by the wall
    on a busy machine, while its parts would: the sums would fall short by whatever share the others took.
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
    """Builds networks and times them; ``times`` holds what every distinct module took in each round so far."""

    plugin: SupernetPlugin
    conditions: Conditions
    device: torch.device
    measure: Measure
    times: dict[str, list[float]]
    _looks: dict[Run, list[str]] = field(default_factory=dict)

    def time(self, run: Run, number: int) -> None:
        """Time a network, unless round ``number`` has all of its modules already."""
        modules = None
        if run not in self._looks:
            modules = self._modules(run)
            self._looks[run] = _looks(modules, self._images)
        looks = self._looks[run]
        if all(len(self.times.get(look, ())) > number for look in looks):
            return
        folded = [fold_batch_norms(module) for module in modules or self._modules(run)]
        for look, taken in zip(looks, self.measure(folded, self._images), strict=True):
            times = self.times.setdefault(look, [])
            if len(times) <= number:
                times.append(taken)
            times[-1] = min(times[-1], taken)

    def milliseconds(self, run: Run) -> list[float]:
        """Of a network's modules, each the shortest of all rounds."""
        return [min(self.times[look]) for look in self._looks[run]]

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
                f'the supernet "{self.conditions.space}" cannot be timed: its network of {blocks} blocks should come '
                f"in {blocks + 2} parts(), not {len(parts)}"
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

    Each is timed in several rounds, in another order every time, so that a slow moment of the machine does not hit an
    entry in all of them. What was timed is kept beside the table until that is whole, and a second call goes on there.
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
                    write_json(partial, {"conditions": asdict(conditions), "times": bench.times})
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


def finished_table(path: Path, space: SearchSpace, conditions: Conditions, overwrite: bool) -> LatencyTable | None:
    """The table that is there already, or None where it is to be measured; a file for something else is refused."""
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder: name the file of the table with --out")
    if not path.exists():
        return None
    table = LatencyTable.load(path)  # also where it is replaced: a file that is no table is left alone
    if overwrite:
        return None
    covered = all(key in table.entries for network in covering(space) for key in part_keys(space, network))
    if table.conditions != conditions or not covered:
        raise ConfigurationError(
            f"{path} has the latencies of another configuration or machine ({table.conditions.space}, "
            f"{table.conditions}): choose another --out, or measure anew with --overwrite"
        )
    return table


def additivity(foretold: Sequence[float], timed: Sequence[float]) -> Additivity:
    """Sums of parts against the times of whole networks, both in milliseconds."""
    from scipy.stats import spearmanr  # here because every worker process would take half a second to import it

    scale = median(whole / parts for whole, parts in zip(timed, foretold, strict=True))
    error = median(abs(scale * parts / whole - 1) for whole, parts in zip(timed, foretold, strict=True))
    varied = len(set(foretold)) > 1 and len(set(timed)) > 1
    correlation = float(spearmanr(foretold, timed).statistic) if varied else None
    return Additivity(len(timed), scale, error, correlation)


def _over_the_range(space: SearchSpace) -> list[Architecture]:
    """The smallest network, the largest, and random ones between them."""
    sampler = EvenSampler(space)
    drawn = [sampler.sample(chooser("latency", "check", index)) for index in range(2 * CHECKED_NETWORKS)]
    return list(dict.fromkeys([space.smallest, space.largest, *drawn]))[:CHECKED_NETWORKS]


@torch.inference_mode()
def _looks(modules: Sequence[nn.Module], images: Tensor) -> list[str]:
    """For each of the modules a digest of all that its time can depend on: what it is made of, and its input's shape.

    A module's ``repr`` does not show the attributes that its forward pass may look at, so plain ones are taken too.
    """
    looks = []
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
        looks.append(digest_of([list(x.shape), made_of])[:16])
        x = module(x)
    return looks


def _kept_times(partial: Path, conditions: Conditions) -> dict[str, list[float]]:
    """What a call that was interrupted had timed, under the same conditions."""
    if not partial.exists():
        return {}
    kept = read_json(partial)
    try:
        if Conditions.from_json(kept["conditions"]) != conditions:
            return {}
        return {str(look): [float(taken) for taken in times] for look, times in kept["times"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{partial} is no half-measured latency table ({error!r}): delete it") from None
