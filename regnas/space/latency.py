"""Latency as a cost: a table of milliseconds per part of a network, and rules that read it.

The latency of a network is modeled as the sum over its parts (the stem, every block, the head), as in the tables of
ProxylessNAS (Cai et al., ICLR 2019) and Once-for-All (Cai et al., ICLR 2020):

    latency(a) = scale * sum over the parts p of a of entries[p]

``scale`` is one number for the whole table. Some whole networks are timed as well, and ``scale`` is the median of their
times divided by their sums. Predictions are therefore milliseconds of whole networks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from regnas.errors import ArtifactError
from regnas.runtime.files import read_sealed_json, require_keys, write_sealed_json
from regnas.space.architecture import Architecture, Block
from regnas.space.budget import Cost
from regnas.space.graph import reachable
from regnas.space.space import Rules, SearchSpace, State

FORMAT = 1
_KEYS = ("format", "conditions", "additivity", "entries")
BUSY = 1.25  # a higher scale means that other work slowed the whole networks down
MEASURE_AGAIN = "Measure again with `regnas latency-table CONFIG`."


@dataclass(frozen=True)
class Conditions:
    """The networks that were timed, and the machine; milliseconds are those of one pass of ``batch_size`` images."""

    space: str
    input_shape: tuple[int, int, int]
    classes: int
    batch_size: int
    machine: Mapping[str, Any]  # device, threads, versions and the like

    def __str__(self) -> str:
        threads = self.machine.get("threads")
        return f"batch of {self.batch_size}, {self.machine.get('device')}, {threads} thread{'s' * (threads != 1)}"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Conditions:
        """Read a JSON object."""
        channels, height, width = value["input_shape"]
        shape = (int(channels), int(height), int(width))
        machine = dict(value["machine"])
        return cls(str(value["space"]), shape, int(value["classes"]), int(value["batch_size"]), machine)


@dataclass(frozen=True)
class Additivity:
    """How well sums of parts, multiplied by ``scale``, predict the times of ``networks`` whole networks."""

    networks: int
    scale: float
    median_error: float  # of |predicted / timed - 1|
    rank_correlation: float | None  # Spearman's; None if all networks have the same cost

    def __str__(self) -> str:
        order = "" if self.rank_correlation is None else f", rank correlation {self.rank_correlation:.3f}"
        busy = " (the machine was busy: measure again when it is idle)" if self.scale > BUSY else ""
        return (
            f"sums of parts, multiplied by {self.scale:.3f}, against {self.networks} whole networks: "
            f"median error {100 * self.median_error:.1f} %{order}{busy}"
        )


@dataclass(frozen=True)
class LatencyTable:
    """Milliseconds by part, under the keys of ``part_keys``, before scaling."""

    conditions: Conditions
    entries: Mapping[str, float]
    additivity: Additivity

    def to_json(self) -> dict[str, Any]:
        """Return the table as a JSON object."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, value: Any, source: Path) -> LatencyTable:
        """Read and check a JSON object; ``source`` is for error messages."""
        if not isinstance(value, dict):
            raise ArtifactError(f"{source} must be a latency table, got no JSON object")
        require_keys(value, _KEYS, source)
        if value["format"] != FORMAT:
            raise ArtifactError(f"{source} must have format {FORMAT}, got {value['format']}. {MEASURE_AGAIN}")
        try:
            conditions = Conditions.from_json(value["conditions"])
            additivity = Additivity(**value["additivity"])
            entries = {str(key): float(latency) for key, latency in value["entries"].items()}
            problem = next((key for key, latency in entries.items() if not 0 <= latency < math.inf), None)
            scaled = 0 < additivity.scale < math.inf
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{source} must be a latency table, got other content ({error!r}). {MEASURE_AGAIN}"
            ) from None
        if problem is not None:
            raise ArtifactError(
                f"{source}: the latency of the part {problem} must be finite and 0 or above, got {entries[problem]} "
                f"ms. {MEASURE_AGAIN}"
            )
        if not scaled:
            raise ArtifactError(f"{source}: the scale must be positive, got {additivity.scale}. {MEASURE_AGAIN}")
        return cls(conditions, entries, additivity)

    @classmethod
    def load(cls, path: Path) -> LatencyTable:
        """Read a file that ``save`` wrote."""
        return cls.from_json(read_sealed_json(path), path)

    def save(self, path: Path) -> None:
        """Write the table with a digest of its content."""
        write_sealed_json(path, self.to_json())

    def require(self, space: SearchSpace, input_shape: tuple[int, int, int], classes: int, source: Path) -> None:
        """Refuse a table that was measured for another space, input shape or number of classes."""
        measured = self.conditions
        for what, recorded, wanted in (
            ("the space {}", measured.space, space.name),
            ("images of {}", measured.input_shape, input_shape),
            ("{} classes", measured.classes, classes),
        ):
            if recorded != wanted:
                raise ArtifactError(f"{source} was measured for {what.format(recorded)}, not {wanted}. {MEASURE_AGAIN}")


@dataclass(frozen=True, eq=False)
class TimedRules:
    """Rules whose costs include the latency of the table."""

    rules: Rules
    table: LatencyTable
    _known: dict[Hashable, Any] = field(default_factory=dict, repr=False)  # a search repeats the same steps often

    def start(self, resolution: int | None) -> tuple[State, Cost]:
        """Return the state before the first block and the cost of the stem."""
        state, cost = self.rules.start(resolution)
        return state, self._time(_start_key(resolution, cost), cost)

    def step(self, state: State, stage: int, position: int, block: Block) -> tuple[State, Cost] | None:
        """Return the state after the block and its cost, or None if it is not allowed here."""
        place = (state, stage, position, block)
        if place not in self._known:
            after = self.rules.step(*place)
            self._known[place] = after and (after[0], self._time(_block_key(*place, after[1]), after[1]))
        found: tuple[State, Cost] | None = self._known[place]
        return found

    def finish(self, state: State) -> Cost:
        """Return the cost of the head."""
        cost = self.rules.finish(state)
        return self._time(_finish_key(state, cost), cost)

    def _time(self, key: str, cost: Cost) -> Cost:
        latency = self.table.entries.get(key)
        if latency is None:
            raise ArtifactError(
                f"the latency table of {self.table.conditions.space} lacks the part {key}: it was measured for another "
                f"configuration of the supernet. {MEASURE_AGAIN}"
            )
        return cost._replace(latency=self.table.additivity.scale * latency)


def with_latencies(space: SearchSpace, table: LatencyTable) -> SearchSpace:
    """Return the space with costs that include the latency of the table."""
    return replace(space, rules=TimedRules(space.rules, table))


def part_keys(space: SearchSpace, architecture: Architecture) -> list[str]:
    """Return the keys of the parts of a network, in the order of the forward pass.

    A key is the ``repr`` of the facts about a part: its genes, the state before it, its multiply-adds and parameters.
    The costs are included because two configurations of a supernet may have the same states but different tensors (a
    stem with a larger stride leaves smaller images). The ``repr`` of a state must be the same in every process, as it
    is for numbers, texts and tuples of them.
    """
    state, cost = space.rules.start(architecture.resolution)
    keys = [_start_key(architecture.resolution, cost)]
    for stage, position, block in architecture.blocks():
        after = space.rules.step(state, stage, position, block)
        if after is None:
            raise ArtifactError(f"block {position + 1} of stage {stage + 1} ({block}) is not allowed there")
        keys.append(_block_key(state, stage, position, block, after[1]))
        state = after[0]
    return [*keys, _finish_key(state, space.rules.finish(state))]


def latency_range(space: SearchSpace) -> tuple[float, float]:
    """Return the milliseconds of the fastest and of the slowest architecture of a timed space."""
    rest: dict[int, tuple[float, float]] = {}  # by the index of a node, from there on
    starts = [space.rules.start(resolution) for resolution in space.resolutions]
    places = reachable(space, [state for state, _ in starts])
    for place in reversed(places):
        ways = [] if place.finish is None else [(place.finish.latency, place.finish.latency)]
        for edge in place.edges:
            if edge.after.index in rest:
                low, high = rest[edge.after.index]
                ways.append((edge.cost.latency + low, edge.cost.latency + high))
        if ways:
            rest[place.index] = min(low for low, _ in ways), max(high for _, high in ways)
    roots = dict(zip(dict.fromkeys(state for state, _ in starts), places, strict=False))
    whole = [(stem.latency, *rest[roots[state].index]) for state, stem in starts if roots[state].index in rest]
    return min(stem + low for stem, low, _ in whole), max(stem + high for stem, _, high in whole)


def _start_key(resolution: int | None, cost: Cost) -> str:
    return repr(("start", resolution, cost.macs, cost.parameters))


def _block_key(state: State, stage: int, position: int, block: Block, cost: Cost) -> str:
    return repr(("block", stage, position, block.genes, state, cost.macs, cost.parameters))


def _finish_key(state: State, cost: Cost) -> str:
    return repr(("finish", state, cost.macs, cost.parameters))
