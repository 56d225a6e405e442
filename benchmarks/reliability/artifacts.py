"""One of every kind of file that regnas writes or reads, small: what damage is tried on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.processes import regnas
from benchmarks.tiny import CONFIG, UPDATE, write_arrays

SAMPLES = 150
CLASSES = 3
REDUCED = (
    ("widths = [[4, 6, 8], [8, 12, 16]]", "widths = [[4, 8], [8, 16]]"),
    ('medium = "120k +- 5 %"\n', ""),
    ('small = "80k +- 5 %"', 'small = "<= 110k"'),
    ('large = "200k +- 5 %"', 'large = "<= 220k"'),
    ("epochs = 3", "epochs = 2"),
    ("candidates = 8", "candidates = 4"),
    ("population = 3", "population = 2"),
    ("[baselines.focal_distillation_lm]\n[baselines.elodi]\nmembers = 2\n[baselines.accuracy_only]\n", ""),
)
POLISH = "\n[polish]\nepochs = 1\nalphas = [0.5]\n"


@dataclass(frozen=True)
class Artifacts:
    """Where the files are: a run with ONNX files, an update, their configurations, and data."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "tiny.toml"

    @property
    def update_config(self) -> Path:
        return self.folder / "tiny_update.toml"

    @property
    def data(self) -> Path:
        return self.folder / "data.npz"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def update(self) -> Path:
        return self.folder / "update"

    @property
    def latency(self) -> Path:
        return self.folder / "latency.json"

    @property
    def photos(self) -> Path:
        return self.folder / "photos"

    @property
    def key(self) -> Path:
        return self.folder / "key"


def make_artifacts(folder: Path, formats: tuple[str, ...] = ("onnx",)) -> Artifacts:
    """Run everything once; takes half a minute."""
    made = Artifacts(folder)
    write_inputs(made)
    for arguments in (
        ("run", made.config, "--out", made.run),
        ("update", made.update_config, "--out", made.update),
        ("latency-table", made.config, "--out", made.latency),
        *(("export", made.run, *(f"--format={each}" for each in formats), "--sign", made.key) for _ in [0] if formats),
    ):
        outcome = regnas(*arguments)
        assert outcome.code == 0, outcome.stderr
    return made


def write_inputs(made: Artifacts) -> None:
    """Write what needs no training: data, configurations, photos and keys."""
    write_arrays(made.data, samples=SAMPLES)
    text = CONFIG.format(data=made.data, workers=1) + POLISH
    for old, new in REDUCED:
        assert old in text
        text = text.replace(old, new)
    made.config.write_text(text)
    text = UPDATE.format(data=made.data, cache=made.folder / "cache", workers=1)
    made.update_config.write_text(text.replace("seeds = [0, 1]", "seeds = [0]"))
    _write_photos(made.photos)
    _write_keys(made.key)


def predictions(seed: int, samples: int = 12) -> Mapping[str, list[object]]:
    """Return columns of predictions of a few samples."""
    random = np.random.default_rng(seed)
    targets = np.arange(samples) % CLASSES
    flipped = random.random(samples) < 0.4
    return {
        "id": [f"sample {number}" for number in range(samples)],
        "target": [("cat", "dog", "owl")[each] for each in targets],
        "predicted": [("cat", "dog", "owl")[each] for each in (targets + flipped) % CLASSES],
        "country": [("fr", "de")[number % 2] for number in range(samples)],
        "weight": (random.random(samples) * 8).round(3).tolist(),
    }


def json_lines(columns: Mapping[str, list[object]]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def arrays(seed: int, samples: int = 12) -> dict[str, np.ndarray]:
    """Return the arrays of an npz of predictions."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(samples, CLASSES)).astype(np.float32)
    return {
        "id": np.array([f"sample {number}" for number in range(samples)]),
        "target": np.arange(samples) % CLASSES,
        "predicted": logits.argmax(axis=1),
        "logits": logits,
    }


def _write_photos(folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (12, 12, 3)).astype(np.uint8)
    folder.mkdir()
    for suffix in ("png", "jpg", "bmp", "gif", "webp", "tiff", "ppm"):
        Image.fromarray(pixels).save(folder / f"image.{suffix}")


def _write_keys(path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" me@example.com\n")


def json_of(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    make_artifacts(Path(sys.argv[1]))
