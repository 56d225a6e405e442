"""The devices of torch and the precisions that work on them, tried with a small training step."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from regnas.errors import first_line
from regnas.health.findings import Finding
from regnas.health.machine import gibibytes

if TYPE_CHECKING:
    import torch

SECTION = "devices"
# The largest error of a gradient, as a share of its norm: several times the rounding of the type.
TOLERANCES = {"bfloat16": 0.1, "float16": 0.02}
SIDES = {"cpu": 384, "mps": 1024, "cuda": 4096}  # of the matrices whose product is timed
REPEATS = 3


def examine_devices() -> Iterator[Finding]:
    """Describe every device, and try each precision on it."""
    import torch

    threads = torch.get_num_threads()
    yield Finding(SECTION, "torch", f"{torch.__version__}, {threads} threads")
    yield Finding(SECTION, "cpu", f"{torch.backends.cpu.get_cpu_capability()}")
    yield from _precisions(torch.device("cpu"))
    yield from _cuda()
    if torch.backends.mps.is_available():
        yield Finding(SECTION, "mps", "available")
        yield from _precisions(torch.device("mps"))
    yield _compiler()


def _cuda() -> Iterator[Finding]:
    import torch

    if not torch.cuda.is_available():
        yield _missing_cuda()
        return
    for index in range(torch.cuda.device_count()):
        found = torch.cuda.get_device_properties(index)
        shown = f"{found.name}, {gibibytes(found.total_memory)}, capability {found.major}.{found.minor}"
        yield Finding(SECTION, f"cuda:{index}", f"{shown}, CUDA {torch.version.cuda}")
        yield from _precisions(torch.device("cuda", index))
        yield _tf32(torch.device("cuda", index))


def _missing_cuda() -> Finding:
    import torch

    if not (shutil.which("nvidia-smi") or Path("/dev/nvidia0").exists()):
        return Finding(SECTION, "cuda", "none")
    built = f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
    return Finding(
        SECTION,
        "cuda",
        f"there is an NVIDIA device that torch, which is built {built}, does not find",
        "note",
        "Install the torch that fits your driver: https://pytorch.org/get-started/locally",
    )


def _precisions(device: torch.device) -> Iterator[Finding]:
    import torch

    for name, tolerance in TOLERANCES.items():
        kind: torch.dtype = getattr(torch, name)
        try:
            error = _gradient_error(device, kind)
            if not error <= tolerance:
                yield Finding(SECTION, f"{device} {name}", f"wrong: an error of {100 * error:.2g} %", "note")
                continue
            speed = _seconds(device, torch.float32) / _seconds(device, kind)
        except (RuntimeError, TypeError, NotImplementedError) as problem:
            yield Finding(SECTION, f"{device} {name}", f"does not work: {first_line(problem)}", "note")
            continue
        yield Finding(SECTION, f"{device} {name}", f"works, {speed:.2g} x the speed of float32 products")


def _gradient_error(device: torch.device, kind: torch.dtype) -> float:
    """Return the error of the gradient of a step in mixed precision, as a share of its norm in float32."""
    import torch

    def gradient(mixed: bool) -> torch.Tensor:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = torch.nn.Sequential(
                torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Flatten()
            )
            head, images = torch.nn.Linear(16 * 64, 10), torch.randn(16, 3, 8, 8)
        network.append(head).to(device)
        with torch.autocast(device.type, kind, enabled=mixed):
            logits = network(images.to(device))
        torch.nn.functional.cross_entropy(logits.float(), torch.arange(16, device=device) % 10).backward()  # type: ignore[no-untyped-call]
        return torch.cat([each.grad.flatten() for each in network.parameters() if each.grad is not None]).float()

    exact = gradient(mixed=False)
    return float((gradient(mixed=True) - exact).norm() / exact.norm())


def _seconds(device: torch.device, kind: torch.dtype) -> float:
    """Return the shortest time of a matrix product."""
    import torch

    side = SIDES[device.type]
    matrix = torch.ones(side, side, device=device, dtype=kind)
    return min(_timed(lambda: matrix @ matrix, device) for _ in range(REPEATS))


def _timed(call: Callable[[], torch.Tensor], device: torch.device) -> float:
    started = time.perf_counter()
    call()[0, 0].item()  # waits for the device
    return time.perf_counter() - started


def _tf32(device: torch.device) -> Finding:
    """Compare products of float32 with and without TF32."""
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    times = {}
    try:
        for allowed in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            times[allowed] = _seconds(device, torch.float32)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    return Finding(SECTION, f"{device} TF32", f"{times[False] / times[True]:.2g} x the speed of float32 products")


def _compiler() -> Finding:
    found = next((name for name in ("g++", "clang++", "c++") if shutil.which(name)), None)
    if found:
        return Finding(SECTION, "C++ compiler", found)
    return Finding(SECTION, "C++ compiler", "none", "note", "training.compile needs one on the CPU.")
