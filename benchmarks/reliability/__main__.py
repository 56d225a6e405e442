"""``python -m benchmarks.reliability CAMPAIGN``: run one campaign, or list them."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from pathlib import Path

from benchmarks.reliability.campaign import Campaign, run_campaign

HERE = Path(__file__).parent
# Name of the campaign, and the module that has it as CAMPAIGN.
CAMPAIGNS: dict[str, str] = {
    "kills": "benchmarks.reliability.kills",
    "full_disk": "benchmarks.reliability.full_disk",
    "signals": "benchmarks.reliability.signals",
    "fuzzing": "benchmarks.reliability.fuzzing",
    "bit_flips": "benchmarks.reliability.bit_flips",
    "guided": "benchmarks.reliability.guided",
    "search_workers": "benchmarks.reliability.search_workers",
    "shared_database": "benchmarks.reliability.shared_database",
}


def load(name: str) -> Campaign:
    campaign: Campaign = importlib.import_module(CAMPAIGNS[name]).CAMPAIGN
    return campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__)
    parser.add_argument("campaign", choices=sorted(CAMPAIGNS))
    parser.add_argument("--attacks", type=int, help="how many attacks to reach (default: the goal of the campaign)")
    parser.add_argument("--seconds", type=float, help="stop after this time; run the command again to continue")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one try, and record nothing")
    parser.add_argument("--out", type=Path, help="the JSON file (default: benchmarks/reliability/CAMPAIGN.json)")
    given = parser.parse_args()
    # Shells let background jobs ignore SIGINT, and a process passes that on to the commands that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    record = run_campaign(
        load(given.campaign),
        given.out or HERE / f"{given.campaign}.json",
        attacks=given.attacks,
        seconds=given.seconds,
        seed=given.seed,
        only=given.only,
        show=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(f"{given.campaign}: {record.attacks:,} attacks, {record.failures:,} failures, {record.seconds:,.0f} s")
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
