"""The facts about a machine that a run records, because they change the bits of its result."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # reading a run folder must not wait for torch
    import torch

PACKAGES = ("regnas", "torch", "torchvision", "numpy", "scipy", "optuna", "safetensors", "scikit-learn")


def describe_machine(device: torch.device) -> dict[str, Any]:
    """Return the facts that change the bits of a result: threads, CPU capability, device and versions."""
    import torch

    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "versions": {package: version(package) for package in PACKAGES},
    }


def differences(recorded: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """List the changes since the machine was recorded: ``["threads: 2 -> 4"]``."""
    flat_recorded = {**recorded, **recorded.get("versions", {})}
    flat_found = {**found, **found["versions"]}
    return [
        f"{key}: {flat_recorded.get(key)} -> {value}"
        for key, value in flat_found.items()
        if key != "versions" and flat_recorded.get(key) != value
    ]


def choose_device(wish: str) -> torch.device:
    """Choose the device; ``auto`` is the first available one of cuda, mps and cpu."""
    import torch

    if wish != "auto":
        return torch.device(wish)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
