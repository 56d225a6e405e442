"""What regnas promises, tried on tiny data: correct flips, the same bits again and after an interruption, an export."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regnas.errors import RegnasError, first_line
from regnas.health.findings import Finding
from regnas.health.packages import is_installed

if TYPE_CHECKING:
    import torch
    from torch import nn

SECTION = "self-test"
SECONDS = 45.0  # no test starts later
EPOCHS, BATCH, SAMPLES, CLASSES, SIDE = 3, 16, 64, 4, 8
LARGEST_DIFFERENCE = 1e-4  # between the logits of a network and its export
REPORT = "Report this with the whole output."


def run_self_test() -> Iterator[Finding]:
    """Run the tests whose packages are installed, as long as there is time."""
    deadline = time.monotonic() + SECONDS
    for name, (packages, run) in TESTS.items():
        missing = [package for package in packages if not is_installed(package)]
        if missing:
            yield Finding(SECTION, name, f"left out, because {missing[0]} is not installed", "note")
        elif time.monotonic() > deadline:
            yield Finding(SECTION, name, f"left out after {SECONDS:.0f} s: this machine is slow or busy", "note")
        else:
            yield _tried(name, run)


def _tried(name: str, run: Callable[[Path], str]) -> Finding:
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix=".regnas-doctor-", dir=Path.cwd()) as folder:
            found = run(Path(folder))
    except RegnasError as error:
        return Finding(SECTION, name, first_line(error), "failed")
    except Exception as error:
        return Finding(SECTION, name, f"{type(error).__name__}: {first_line(error)}", "failed", REPORT)
    return Finding(SECTION, name, f"{found}, {time.monotonic() - started:.1f} s")


def _compare(_: Path) -> str:
    import regnas

    comparison = regnas.compare({"old": [0, 1, 1, 0], "new": [0, 1, 0, 1]}, target=[0, 1, 1, 1])
    nfr = comparison["old", "new"].nfr
    if nfr != 0.25:
        raise ValueError(f"the NFR must be 0.25, got {nfr}")
    return "the flips are correct"


def _train_twice(folder: Path) -> str:
    _require_same(_trained(folder / "first"), _trained(folder / "second"))
    return "the same bits"


def _resume(folder: Path) -> str:
    _trained(folder / "broken", until=EPOCHS * SAMPLES // BATCH // 2)
    _require_same(_trained(folder / "broken"), _trained(folder / "whole"))
    return "the same bits as without an interruption"


def _train_on_device(folder: Path) -> str:
    import torch

    from regnas.runtime.machine import choose_device

    device = choose_device("auto")
    network = _trained(folder, device=device)
    if not all(bool(torch.isfinite(tensor).all()) for tensor in network.state_dict().values()):
        raise ValueError(f"weights that were trained on {device} must be finite")
    return f"works on {device}"


def _export(folder: Path) -> str:
    import torch

    from regnas.family.export.onnx_files import onnx_bytes, onnx_network
    from regnas.family.manifest.metadata import CLASSES as CLASS_NAMES
    from regnas.family.manifest.metadata import INPUT_SHAPE, MODEL, PREPROCESSING

    network, shape = _trained(folder / "trained").eval(), (1, SIDE, SIDE)
    values: dict[str, Any] = {
        PREPROCESSING: _material()[1].to_json(),
        CLASS_NAMES: [str(label) for label in range(CLASSES)],
        INPUT_SHAPE: shape,
    }
    metadata = {MODEL: "doctor"} | {key: json.dumps(value) for key, value in values.items()}
    path = folder / "network.onnx"
    path.write_bytes(onnx_bytes(network, shape, metadata))
    images = torch.randn(5, *shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        difference = float((onnx_network(path)(images) - network(images)).abs().max())
    if not difference <= LARGEST_DIFFERENCE:
        raise ValueError(f"the logits of the ONNX file differ by {difference:g}")
    return "the same logits"


TESTS: dict[str, tuple[tuple[str, ...], Callable[[Path], str]]] = {
    "compare": ((), _compare),
    "train twice": (("torch", "torchvision", "safetensors"), _train_twice),
    "resume": (("torch", "torchvision", "safetensors"), _resume),
    "train on the device": (("torch", "torchvision", "safetensors"), _train_on_device),
    "export to ONNX": (("torch", "torchvision", "safetensors", "onnx", "onnxruntime", "onnxscript"), _export),
}


def _trained(folder: Path, until: int | None = None, device: torch.device | None = None) -> nn.Module:
    """Return a network on the CPU after the training of the test, of which the folder may have a part."""
    import torch

    from regnas.augmentations.horizontal_flip import HorizontalFlip
    from regnas.augmentations.shift import Shift
    from regnas.networks import SmallResNet
    from regnas.training import Recipe, SingleNetwork, Trainer

    split, preprocessing = _material()
    recipe = Recipe(epochs=EPOCHS, batch_size=BATCH, augmentations=(HorizontalFlip(), Shift(1)), ema_decay=0.9)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = SmallResNet(widths=(8, 16)).build((1, SIDE, SIDE), CLASSES)
    trainer = Trainer(recipe, split, preprocessing, device or torch.device("cpu"))
    trainer.train(network, SingleNetwork(), ("doctor",), folder, "", until=until)
    return network.cpu()


def _material() -> tuple[Any, Any]:
    """Return images whose brightness tells their class, and their preprocessing."""
    import numpy as np
    import torch

    from regnas.data import Preprocessing, Split

    targets = torch.arange(SAMPLES) % CLASSES
    noise = torch.randint(0, 60, (SAMPLES, 1, SIDE, SIDE), generator=torch.Generator().manual_seed(0))
    images = (noise + 60 * targets[:, None, None, None]).to(torch.uint8)
    ids = np.array([str(index) for index in range(SAMPLES)])
    return Split("train", images, targets, ids, np.arange(SAMPLES)), Preprocessing.fitted_to(images)


def _require_same(one: nn.Module, other: nn.Module) -> None:
    import torch

    known = other.state_dict()
    differing = [name for name, tensor in one.state_dict().items() if not torch.equal(tensor, known[name])]
    if differing:
        raise ValueError(
            f"the weights must be the same, got {len(differing)} different tensors, such as {differing[0]}"
        )
