"""What regnas changes about Pillow."""

from __future__ import annotations

import warnings


def ignore_metadata_warnings() -> None:
    """Pillow warns about odd metadata that does not matter here.

    The filter stays: threads that decode share the filters, and overlapping blocks would restore the wrong ones.
    """
    warnings.filterwarnings("ignore", module=r"PIL\.")
