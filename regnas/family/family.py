"""Networks on disk: the members of a family, or the models of an update, with the manifest that describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regnas.components.registry import nearest
from regnas.data import Preprocessing
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.images import read_images, transform_of
from regnas.family.manifest import Manifest, Member, family_folder, file_in, read_manifest
from regnas.family.networks import build_member
from regnas.family.predicted import PredictedClasses
from regnas.flips import softmax
from regnas.networks.cost import evaluating
from regnas.runtime.files import check_sha256
from regnas.runtime.tensors import load_into, load_tensors


class UnknownMember(ConfigurationError, KeyError):
    """The family has no member of this name."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotes


class Family(Mapping[str, nn.Module]):
    """The networks of a family from small to large, or those of an update by method and seed.

    ``family["small"]`` is a plain network in evaluation mode, which reads preprocessed tensors. It is built on first
    use. ``family.predict(images)`` takes images of any kind.

    Attributes:
        members: name, file, MACs, parameters and Top-1 of each network.
        classes: the names of the classes, by number.
        flip_table: the negative flip rate of every pair of members on the report split.
        preprocessing: mean and standard deviation per channel.
        manifest, folder: the description on disk, and where it is.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.members = manifest.members
        self.classes = manifest.classes
        self.flip_table = manifest.flip_table
        self.preprocessing = Preprocessing.from_json(manifest.preprocessing)
        self._networks: dict[str, nn.Module] = {}

    def __getitem__(self, name: str) -> nn.Module:
        if name not in self._networks:
            known = {member.name: member for member in self.members}
            if name not in known:
                raise self._unknown(name)
            self._networks[name] = self._load(known[name])
        return self._networks[name]

    def __contains__(self, name: object) -> bool:
        return any(member.name == name for member in self.members)  # without building the network

    def __iter__(self) -> Iterator[str]:
        return iter(member.name for member in self.members)

    def __len__(self) -> int:
        return len(self.members)

    def member(self, name: str | None = None) -> Member:
        """Return the entry of a member.

        Args:
            name: the name; of an update also the label of a method, which is its model of the first seed. By default
                the largest member of a family, or the only model of an update.
        """
        if name is None:
            if self.manifest.is_update and len(self.members) > 1:
                raise ConfigurationError(f"a model must be named, one of {', '.join(self)}")
            return self.members[-1]
        found = [each for each in self.members if each.name == name]
        found += [each for each in self.members if each.method and each.method == name]
        if not found:
            raise self._unknown(name)
        return found[0]

    def preprocess(self, images: Any) -> Tensor:
        """Turn images of any kind that ``predict`` takes into the float32 tensor [N, C, H, W] that networks read."""
        shape = self.manifest.input_shape
        return self.preprocessing(read_images(images, shape, transform_of(self.preprocessing)))

    def predict(self, images: Any, member: str | None = None, *, batch_size: int | None = None) -> PredictedClasses:
        """Predict the classes of images.

        Args:
            images: uint8 or float arrays or tensors of shape [N, C, H, W], [N, H, W, C] or, for networks of one
                channel, [N, H, W]; a PIL image, a path, or a list of them. Float images must be between 0 and 1 and
                are multiplied by 255. Arrays must have the size of the network; pictures and files are resized to it.
                Anything else is refused with a ``DataError``.
            member: see ``member``; by default the largest.
            batch_size: images per batch.

        Returns:
            class names, class numbers [N] and probabilities [N, C].

        Example:
            >>> family = regnas.load_family("runs/digits")  # doctest: +SKIP
            >>> family.predict(["photo.png"], "small").names  # doctest: +SKIP
            ('seven',)
        """
        from regnas.training.prediction import prediction_batch  # here: loading a family needs no training code

        if batch_size is not None and batch_size < 1:
            raise ConfigurationError(f"batch_size must be at least 1, got {batch_size}")
        name = self.member(member).name
        shape = self.manifest.input_shape
        pixels = read_images(images, shape, transform_of(self.preprocessing))
        network = self[name]
        device = next((each.device for each in network.parameters()), torch.device("cpu"))
        with evaluating(network):
            logits = torch.cat(
                [
                    network(self.preprocessing(batch.to(device))).float().cpu()
                    for batch in torch.split(pixels, batch_size or prediction_batch(shape))
                ]
            ).numpy()  # [N, C]
        return PredictedClasses(name, self.classes, logits.argmax(axis=1).astype(np.int64), softmax(logits))

    def _unknown(self, name: str) -> UnknownMember:
        known = list(self)
        methods = {member.method for member in self.members if member.method}
        hint = nearest(name, [*known, *methods])
        return UnknownMember(f'{self.folder} has no member "{name}"{hint} (members: {", ".join(known)})')

    def _load(self, member: Member) -> nn.Module:
        path = file_in(self.folder, member.file)
        network = build_member(self.manifest, member, path)
        load_into(network, load_tensors(path, member.sha256), path)
        return network.eval()


def load_family(path: str | Path) -> Family:
    """Load the networks of a family, or of an update, and check every file against the manifest.

    Args:
        path: the folder of the manifest, or the run folder.

    Returns:
        the networks by name; each one is built on first use.

    Example:
        >>> family = regnas.load_family("runs/digits")  # doctest: +SKIP
        >>> list(family)  # doctest: +SKIP
        ['small', 'medium', 'large']
    """
    folder = _folder_of(Path(path).expanduser())
    family = Family(folder, read_manifest(folder))
    for member in family.members:
        check_sha256(file_in(folder, member.file), member.sha256)
    return family


def _folder_of(path: Path) -> Path:
    """Find the folder of the manifest; if only the run ``runs/<name>`` exists, name it."""
    try:
        return family_folder(path)
    except ArtifactError as error:
        run = Path("runs") / path
        if path.exists() or path.is_absolute() or not (run / "run.json").is_file():
            raise
        raise ArtifactError(f"{error}. Did you mean {run}?") from None
