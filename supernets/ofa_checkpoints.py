"""Read checkpoints of the supernets of ofa, including the layouts of its earlier versions.

Earlier names have ``mobile_inverted_conv`` in place of ``conv``, and static layers have one level less than elastic
ones (``bn.weight`` and ``bn.bn.weight``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import torch
from torch import Tensor, nn

COUNTER = "num_batches_tracked"

# Ways to read an earlier name, tried in turn until the network has the resulting name.
_REWORDINGS: tuple[tuple[str, str], ...] = (
    (".bn.bn.", ".bn."),
    (".conv.conv.weight", ".conv.weight"),
    (".linear.linear.", ".linear."),
    (".linear.", ".linear.linear."),
    (".bn.", ".bn.bn."),
    (".conv.weight", ".conv.conv.weight"),
)


def renamed_for(build: Callable[[], nn.Module], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors under the names of the supernet that ``build`` makes; keep unknown names.

    The counters of batch norms are not weights. Early files lack them; missing counters start at zero.
    """
    with torch.device("meta"):
        known = build().state_dict()
    found = {_own_name(name, known): tensor for name, tensor in tensors.items()}
    counters = {name: torch.zeros((), dtype=torch.long) for name in known if name.endswith(COUNTER)}
    return counters | found


def _own_name(foreign: str, known: Collection[str]) -> str:
    name = "network." + foreign.removeprefix("module.").replace(".mobile_inverted_conv.", ".conv.")
    if name in known:
        return name
    readings = (name.replace(old, new) for old, new in _REWORDINGS if old in name)
    return next((reading for reading in readings if reading in known), name)
