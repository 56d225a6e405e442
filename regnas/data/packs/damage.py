"""Images that cannot be read: listed before any training, and refused or skipped."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regnas.errors import DataError
from regnas.runtime.files import write_text

Policy = Literal["refuse", "skip"]

SHOWN = 3

log = logging.getLogger("regnas")


def settle_damage(problems: Sequence[str], total: int, folder: Path, policy: Policy, report: Path) -> None:
    """Write all problems, each the name of an image with the reason, to the file ``report``; refuse or skip them.

    Raises:
        DataError: there are problems, and the policy is "refuse".
    """
    if not problems:
        if report.exists():
            report.unlink()
        return
    write_text(report, "".join(f"{problem}\n" for problem in problems))
    first = "; ".join(problems[:SHOWN])
    summary = f"{len(problems):,} of {total:,} images in {folder} cannot be read, first {first}. All are in {report}."
    if policy == "refuse":
        raise DataError(f'{summary} Repair or remove them, or set "damaged" of the data set to "skip".')
    log.warning("skipped: %s", summary)
