"""Processes that reach each other through cables that can be pulled: network namespaces behind one bridge.

``python -m benchmarks.reliability.namespaces PROCESS MODULE ...`` runs a module in the network of a process. A network
lasts as long as the processes in it, the first of which ends with the campaign.
"""

from __future__ import annotations

import ctypes
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNET = 0x40000000
PREFIX = "10.77.0"


@dataclass(frozen=True)
class Network:
    """Parties with an address each; the cable of a party is its link ``to-PARTY`` in the network of the bridge."""

    hub: int
    holders: dict[str, int]  # a process in the network of each party

    def address(self, party: str) -> str:
        return f"{PREFIX}.{list(self.holders).index(party) + 1}"

    def inside(self, party: str) -> tuple[str, ...]:
        """Return what comes before the module and the arguments of a process that runs there."""
        return ("-m", __spec__.name, str(self.holders[party]))

    def cut(self, party: str) -> None:
        _ip(self.hub, "link", "set", f"to-{party}", "down")

    def mend(self, party: str) -> None:
        _ip(self.hub, "link", "set", f"to-{party}", "up")


@contextmanager
def network(*parties: str) -> Iterator[Network]:
    """Connect the parties; needs root and iproute2."""
    holders = [_hold() for _ in (*parties, "hub")]
    try:
        made = Network(holders[-1].pid, {party: holder.pid for party, holder in zip(parties, holders, strict=False)})
        _ip(made.hub, "link", "add", "bridge", "type", "bridge")
        _ip(made.hub, "link", "set", "bridge", "up")
        for party, holder in made.holders.items():
            cable = f"to-{party}"
            _ip(made.hub, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(holder))
            _ip(made.hub, "link", "set", cable, "master", "bridge", "up")
            _ip(holder, "addr", "add", f"{made.address(party)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip(holder, "link", "set", device, "up")
        yield made
    finally:
        for holder in holders:
            holder.communicate()  # closes its input, at which it ends


def missing() -> str:
    """Say why this machine cannot make networks; empty if it can."""
    try:
        with network("alone"):
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"this machine cannot make network namespaces ({error})"


def enter(holder: int) -> None:
    """Move this process, which has one thread, into the network of another."""
    with Path(f"/proc/{holder}/ns/net").open() as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "cannot enter the network")


def _hold() -> subprocess.Popen[bytes]:
    holder = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()  # in its network from here on
    return holder


def _ip(holder: int, *arguments: str) -> None:
    command = ["nsenter", "-t", str(holder), "-n", "ip", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    _, holder, module, *_ = sys.argv
    enter(int(holder))
    sys.argv = sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
