"""The members of ensembles along a chain: their networks, and the predecessor that each starts from."""

from __future__ import annotations

from collections.abc import Callable

from regnas.networks import Network
from regnas.updates.methods.chain import Chain, ChainStage
from regnas.updates.models import Model, network_of


def members_of(
    chain: Chain, networks: Callable[[ChainStage], tuple[Network, ...]], first: Model | None = None
) -> tuple[tuple[Model, ...], ...]:
    """Return the untreated members of each release, one per network; repeated networks differ in their random draws.

    In a release that is fine-tuned, member r starts from member r of the release before. It starts fresh if that one
    has another architecture, unless it has the release's own architecture, which must not change. An existing model
    stands for all members of its release, and ``first`` for those of the first release.
    """
    found: list[tuple[Model, ...]] = []
    for stage in chain.stages:
        wanted = networks(stage)
        only = stage.given or (None if found else first)
        if only is not None:
            found.append((only,) * len(wanted))
            continue
        before = found[-1] if found else (None,) * len(wanted)
        found.append(
            tuple(
                _member(stage, older, network, repeat=wanted[:place].count(network))
                for place, (older, network) in enumerate(zip(before, wanted, strict=True))
            )
        )
    return tuple(found)


def own_networks(count: int) -> Callable[[ChainStage], tuple[Network, ...]]:
    """Return a function that gives ``count`` networks of a release's own architecture."""
    return lambda stage: (stage.release.network,) * count


def _member(stage: ChainStage, older: Model | None, network: Network, repeat: int) -> Model:
    goes_on = network in (stage.release.network, network_of(older))
    return stage.train(older if goes_on else None, repeat, network=network)
