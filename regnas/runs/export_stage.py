"""The third stage of a run: write each member as files, with its predictions on the report split."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from regnas.errors import ArtifactError
from regnas.family.export import Origin, current_family, refresh, retire_family, write_family, write_member
from regnas.family.family import Family
from regnas.family.manifest import NOT_STATED
from regnas.family.polishing import Polished
from regnas.flips import Predictions
from regnas.runs.folder import RunFolder
from regnas.runs.job import Job, predict_report
from regnas.space import Architecture, format_macs

log = logging.getLogger("regnas")


@dataclass(frozen=True)
class Exported:
    """The family on disk; ``predictions`` by member, None if the files existed already and nothing was run."""

    family: Family
    predictions: Mapping[str, Predictions] | None = None

    def predictions_for(self, job: Job) -> Mapping[str, Predictions]:
        """Return the predictions of the members on the report split; predict now if the export did not."""
        if self.predictions is not None:
            return self.predictions
        return {name: predict_report(job, name, _place(job, network)) for name, network in self.family.items()}


def export_family(
    job: Job,
    network_of: Callable[[Architecture], nn.Module],
    members: Mapping[str, Architecture],
    polished: Polished | None = None,
) -> Exported:
    """Write each member and, last, the manifest; leave a complete export unchanged."""
    folder, license = job.folder.family, weights_license(job.folder)
    current = current_family(folder)
    trade = None if polished is None else polished.to_json()
    if (
        current
        and {member.name: member.architecture for member in current.members} == members
        and current.manifest.polish == trade
    ):
        return Exported(refresh(current, license))
    retire_family(folder)
    origin = Origin(
        supernet=job.config.table["supernet"],
        input_shape=job.splits.input_shape,
        classes=job.splits.classes,
        preprocessing=job.splits.preprocessing,
        data={"digest": job.splits.digest, "report": job.splits.report.digest},
        weights_license=license,
        polish=trade,
    )
    budgets = {**job.config.table["budgets"], **job.added}
    networks = {name: network_of(architecture) for name, architecture in members.items()}
    predictions = {name: predict_report(job, name, network) for name, network in networks.items()}
    written = []
    for name, architecture in members.items():
        cost = job.space.cost(architecture)
        written.append(
            write_member(folder, origin, networks[name], architecture, str(budgets[name]), cost, predictions[name])
        )
        log.info("export %s: %s MACs, Top-1 %.2f %%", name, format_macs(cost.macs), 100 * predictions[name].accuracy)

    def as_written(name: str, loaded: nn.Module) -> Predictions:
        """Return the known predictions after comparing the weights, which give the same predictions."""
        _check_same_weights(name, networks[name], loaded)
        return predictions[name]

    family = write_family(folder, origin, written, list(predictions.values()), as_written)
    return Exported(family, predictions)


def polishing_interrupted(folder: RunFolder, family: Family) -> bool:
    """Whether polishing was requested and the family is still the one from before it."""
    wanted = folder.facts.get("polish")
    return wanted is not None and (family.manifest.polish is None or folder.facts.get("polished", wanted) != wanted)


def weights_license(folder: RunFolder) -> str:
    """Return the license of the weights, as a run recorded it."""
    return str(folder.facts.get("weights_license", NOT_STATED))


def _place(job: Job, network: nn.Module) -> nn.Module:
    # The memory format of the evaluator: with another one, the last bits of the logits would differ from the export.
    return network.to(job.device).to(memory_format=torch.channels_last)


def _check_same_weights(name: str, network: nn.Module, loaded: nn.Module) -> None:
    expected, found = network.state_dict(), loaded.state_dict()
    if expected.keys() != found.keys() or not all(
        torch.equal(tensor.cpu(), found[key].cpu()) for key, tensor in expected.items()
    ):
        raise ArtifactError(f"{name} must be read back as it was written, got other weights. Check the disk.")
