"""Measure the speed of a search relative to the `ofa` package, by ratios of times measured in turns in one process.

    python benchmarks/search_speed.py sampling macs evaluation sharing memory
    python benchmarks/search_speed.py forward_share --run runs/digits --run runs/cifar10

Every finished part is kept in benchmarks/search_speed.json. `forward_share` takes run folders with trained supernets
(`regnas train digits`, `regnas train cifar10`), and `memory` is measured in a separate process.

Candidates for `evaluation` and `sharing` are those of the second generation of an evolution, which descend from the
best of the first (by a random reward, because no time depends on it).
"""

from __future__ import annotations

import argparse
import json
import random as ofa_random  # ofa draws from the global generator
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from ofa.imagenet_classification.elastic_nn.networks import OFAMobileNetV3 as PeerNetwork
from ofa.imagenet_classification.elastic_nn.utils import set_running_statistics
from ofa.utils.pytorch_utils import count_net_flops

from regnas.data import Preprocessing
from regnas.runs.config import parse_config
from regnas.runs.folder import RunFolder
from regnas.runs.job import prepare
from regnas.runs.search_stage import open_evaluator, search_family
from regnas.runs.supernet_stage import train_supernet
from regnas.runtime.machine import describe_machine
from regnas.search import Evolution, Measures, Trial
from regnas.search.evaluation import LARGEST_GROUP, CandidateRunner, ExecutorChoice, in_prefix_order
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace, contains
from regnas.supernet import SUPERNETS

IMAGENET = ((3, 224, 224), 1000)
COUNT, REPEATS = 100, 5
CPU = torch.device("cpu")
RESULTS = Path(__file__).with_suffix(".json")
IDENTITY = Preprocessing((0.0,) * 3, (1 / 255,) * 3)


def space_of(name: str, size: int = 224) -> SearchSpace:
    return SUPERNETS[name]().space((3, size, size), 1000)


def around(millions: float) -> Budget:
    return Budget.parse(f"{millions}M +- 2 %")


def seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def sampling() -> dict[str, Any]:
    """Time drawing a hundred architectures inside two percent of a budget, including the counting."""
    mobile, resnet = space_of("ofa_mobilenet_v3"), space_of("ofa_resnet50")
    small = BudgetSampler(mobile, around(150)).sample(Random(0))
    thin = BudgetSampler(resnet, around(2000)).sample(Random(0))
    cases: dict[str, tuple[SearchSpace, Budget, Architecture | None]] = {
        "MobileNetV3, 300 M": (mobile, around(300), None),
        "MobileNetV3, 150 M": (mobile, around(150), None),
        "MobileNetV3, 300 M above a given 150 M": (mobile, around(300), small),
        "ResNet50, 2000 M": (resnet, around(2000), None),
        "ResNet50, 3000 M": (resnet, around(3000), None),
        "ResNet50, 3000 M above a given 2000 M": (resnet, around(3000), thin),
    }
    results: dict[str, Any] = {}
    for name, (space, budget, floor) in cases.items():
        drawn: list[Architecture] = []

        def draw(
            space: SearchSpace = space,
            budget: Budget = budget,
            floor: Architecture | None = floor,
            drawn: list[Architecture] = drawn,
        ) -> None:
            random = Random(1)
            sampler = BudgetSampler(space.above(floor) if floor else space, budget)
            drawn += [sampler.sample(random) for _ in range(COUNT)]

        results[name] = {"seconds": statistics.median(seconds(draw) for _ in range(REPEATS))}
        assert all(space.cost(each) in budget and (not floor or contains(each, floor)) for each in drawn)
    peer = PeerNetwork(ks_list=[3, 5, 7], expand_ratio_list=[3, 4, 6], depth_list=[2, 3, 4])
    for millions in (300, 150):
        inside, spent = rejection(peer, mobile, around(millions), most_seconds=20)
        entry = results[f"MobileNetV3, {millions} M"]
        # Where the time was up before a hundred were found: by the share that was inside, or at most one of all draws.
        entry["ofa_seconds"] = spent if inside >= COUNT else spent * COUNT / max(inside, 1)
        entry["ofa_extrapolated"] = inside < COUNT
        entry["ratio"] = entry["ofa_seconds"] / entry["seconds"]
    return results


def rejection(peer: Any, space: SearchSpace, budget: Budget, most_seconds: float) -> tuple[int, float]:
    """Draw as ofa does, anywhere until it fits, with costs from our table, which is faster than any that ofa has."""
    ofa_random.seed(0)
    inside = 0
    begun = time.perf_counter()
    while inside < COUNT and time.perf_counter() - begun < most_seconds:
        inside += space.cost(from_ofa(space, peer.sample_active_subnet())) in budget
    return inside, time.perf_counter() - begun


def from_ofa(space: SearchSpace, settings: dict[str, list[int]]) -> Architecture:
    """Convert the lists of ofa, whose entries beyond the depth have no meaning, to an architecture."""
    stages = []
    for index, stage in enumerate(space.stages):
        blocks = []
        for position in range(settings["d"][index]):
            place = 4 * index + position
            options = stage.options[position]
            middles = sorted({block["middle"] for block in options})
            middle = middles[[3, 4, 6].index(settings["e"][place])]
            blocks.append(next(b for b in options if b["kernel"] == settings["ks"][place] and b["middle"] == middle))
        stages.append(tuple(blocks))
    return Architecture(space.name, tuple(stages))


def macs() -> dict[str, Any]:
    """Time counting multiply-adds: from the table, and by building and tracing the network as ofa does."""
    space = space_of("ofa_mobilenet_v3")
    ofa_random.seed(1)
    peer = PeerNetwork(ks_list=[3, 5, 7], expand_ratio_list=[3, 4, 6], depth_list=[2, 3, 4])
    by_tracing, by_table, differences = [], [], []
    space.cost(space.largest)
    for _ in range(10):
        architecture = from_ofa(space, peer.sample_active_subnet())
        counted = []

        def trace(counted: list[float] = counted) -> None:
            counted.append(count_net_flops(peer.get_active_subnet(preserve_weight=False), (1, 3, 224, 224)))

        by_tracing.append(seconds(trace))
        by_table.append(seconds(lambda architecture=architecture: [space.cost(architecture) for _ in range(100)]) / 100)
        differences.append(abs(space.cost(architecture).macs - counted[0]) / counted[0])
    return {
        "table_seconds": statistics.median(by_table),
        "ofa_seconds": statistics.median(by_tracing),
        "ratio": statistics.median(by_tracing) / statistics.median(by_table),
        # ofa leaves the squeeze-and-excitation's average out of its count, torch's counter and ours agree exactly
        "largest_relative_difference": max(differences),
    }


def breed(space: SearchSpace, budget: Budget, count: int, seed: int = 0) -> list[Architecture]:
    """Return the candidates of the second generation of an evolution."""
    evolution, random = Evolution(population=count), Random(seed)
    first = evolution.ask(space, budget, [], random)
    told = [Trial(each, space.cost(each).macs, Measures(0, {}), random.random()) for each in first]
    return in_prefix_order(evolution.ask(space, budget, told, random))


def evaluation() -> dict[str, Any]:
    """Time a candidate with its calibration: MobileNetV3 at 64 pixels, 256 + 256 images."""
    torch.manual_seed(0)
    plugin = SUPERNETS["ofa_mobilenet_v3"]()
    supernet = plugin.supernet((3, 64, 64), 1000).eval()
    space = plugin.space((3, 64, 64), 1000)
    candidates = breed(space, Budget.parse("24M +- 2 %"), 3 * LARGEST_GROUP)
    calibration, images = (torch.randint(0, 256, (256, 3, 64, 64), dtype=torch.uint8) for _ in range(2))
    runner = CandidateRunner(supernet, calibration, images, IDENTITY, CPU)
    prepared = [IDENTITY(each) for each in (calibration, images)]
    runner.run(candidates[:1])
    ours, theirs, alone, agreeing = [], [], [], []
    for start in range(0, len(candidates), LARGEST_GROUP):
        group = candidates[start : start + LARGEST_GROUP]
        predicted: list[Any] = []
        ours.append(seconds(lambda group=group, predicted=predicted: predicted.extend(runner.run(group)[0])))
        alone.append(sum(seconds(lambda one=one: runner.run([one])) for one in group))
        spent = 0.0
        for architecture, answers in zip(group, predicted, strict=True):
            found: list[torch.Tensor] = []
            supernet(images[:2].float(), architecture)  # makes it ofa's active sub-network
            spent += seconds(lambda found=found: found.append(as_ofa_does(supernet.network, prepared)))
            agreeing.append(float(np.mean(found[0].numpy() == answers)))
        theirs.append(spent)
    return {
        "candidates": len(candidates),
        "seconds_a_candidate": sum(ours) / len(candidates),
        "ofa_seconds_a_candidate": sum(theirs) / len(candidates),
        "ratio": sum(theirs) / sum(ours),
        "ratio_without_sharing": sum(theirs) / sum(alone),
        "same_predictions": statistics.mean(agreeing),
    }


@torch.no_grad()
def as_ofa_does(peer: Any, prepared: list[torch.Tensor]) -> torch.Tensor:
    network = peer.get_active_subnet(preserve_weight=True)
    set_running_statistics(network, [(prepared[0], None)])
    return network.eval()(prepared[1]).argmax(1)


def sharing() -> dict[str, Any]:
    """Measure the share of the work of a generation that candidates share through common first blocks."""
    results = {}
    for name, size, millions in (("ofa_mobilenet_v3", 224, 300), ("ofa_resnet50", 224, 3000)):
        space = space_of(name, size)
        candidates = breed(space, around(millions), 100)
        whole = sum(space.cost(each).macs for each in candidates)
        results[f"{name}, {millions} M"] = {
            f"groups of {group}": 1 - shared_macs(space, candidates, group) / whole for group in (1, LARGEST_GROUP, 100)
        }
    return results


def shared_macs(space: SearchSpace, candidates: list[Architecture], group: int) -> int:
    """Return the multiply-adds if every different beginning within a group is run once."""
    total = 0
    for start in range(0, len(candidates), group):
        seen: set[Any] = set()
        for architecture in candidates[start : start + group]:
            state, cost = space.rules.start(architecture.resolution)
            path: tuple[Any, ...] = (architecture.resolution,)
            total += 0 if path in seen else cost.macs
            seen.add(path)
            for stage, position, block in architecture.blocks():
                step = space.rules.step(state, stage, position, block)
                assert step is not None
                state, cost = step
                path = (*path, (stage, position, block))
                total += 0 if path in seen else cost.macs
                seen.add(path)
            total += space.rules.finish(state).macs
    return total


def forward_share(runs: list[Path]) -> dict[str, Any]:
    """Measure the share of a search's wall time in forward passes, for the searches of whole runs, in one process."""
    results = {}
    for path in runs:
        facts = RunFolder.open(path).facts
        config = parse_config(facts["name"], facts["configuration"])
        if config.values.machine.threads:
            torch.set_num_threads(config.values.machine.threads)
        with tempfile.TemporaryDirectory() as place:
            folder = RunFolder.create(Path(place), config.name, config.table, describe_machine(CPU), "overwrite")
            folder.supernet = path / "supernet"
            job = prepare(config, folder, ExecutorChoice(), ())
            evaluator = open_evaluator(job, train_supernet(job))
            spent = seconds(lambda job=job, evaluator=evaluator: search_family(job, evaluator))
            evaluator.close()
        results[config.name] = {
            "candidates": config.values.search.candidates * len(config.values.budgets),
            "seconds": spent,
            "share": evaluator.forward_seconds / spent,
        }
    return results


def memory() -> dict[str, Any]:
    """Measure the memory that a search adds to an interpreter, for a small search split and that of the preset.

    Each measurement has its own process, and all imports count as the interpreter's.
    """
    results = {}
    for images in (2000, 10_000):
        command = [sys.executable, __file__, "_memory", "--images", str(images)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results[f"{images} images"] = json.loads(done.stdout)
    return results


def _memory(count: int) -> dict[str, Any]:
    torch.manual_seed(0)
    plugin = SUPERNETS["ofa_mobilenet_v3"]()
    space = plugin.space(*IMAGENET)
    plugin.supernet((3, 32, 32), 10)  # imports
    before = resident()
    supernet = plugin.supernet(*IMAGENET).eval()
    images = torch.randint(0, 256, (count, 3, 224, 224), dtype=torch.uint8)
    calibration = images[:128].clone()
    # All images are held, and some are run: one batch takes what the next one takes.
    runner = CandidateRunner(supernet, calibration, images[:200], IDENTITY, CPU)
    runner.run(breed(space, around(150), LARGEST_GROUP))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    network = sum(tensor.nbytes for tensor in supernet.state_dict().values())
    return {
        "supernet_bytes": network,
        "search_split_bytes": images.nbytes,
        "peak_bytes_beyond_the_interpreter": peak,
        # Beside the split a search holds the activations of a batch and a group of candidates, whatever its size.
        "beside_network_and_split_bytes": peak - network - images.nbytes,
        "in_search_splits_beyond_the_network": (peak - network) / images.nbytes,
    }


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--run", type=Path, action="append", default=[], help="for forward_share")
    parser.add_argument("--images", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.parts == ["_memory"]:
        print(json.dumps(_memory(arguments.images)))
        return
    parts: dict[str, Callable[[], Any]] = {
        "sampling": sampling,
        "macs": macs,
        "evaluation": evaluation,
        "sharing": sharing,
        "forward_share": lambda: forward_share(arguments.run),
        "memory": memory,
    }
    for part in arguments.parts:
        begun = time.perf_counter()
        measured = parts[part]()
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[part] = {
            "command": f"python benchmarks/search_speed.py {part}",
            "machine": describe_machine(CPU),
            "seconds": round(time.perf_counter() - begun, 1),
            "results": measured,
        }
        RESULTS.write_text(json.dumps(kept, indent=2) + "\n")
        print(part, json.dumps(measured, indent=2), flush=True)


if __name__ == "__main__":
    main()
