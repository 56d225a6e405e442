"""``python -m regnas`` and ``regnas`` are the command."""

from __future__ import annotations

import sys

from regnas.runtime.launcher import end_with_launcher
from regnas.runtime.signals import quit_on_signals


def main() -> None:
    """Run the command line.

    A signal, or the end of torchrun, may come before the modules of the commands are imported, which takes seconds.
    """
    # If a second signal ends the process at once, Python's resource tracker removes the semaphores of its workers.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # and need not say so
    quit_on_signals()
    end_with_launcher()
    from regnas.cli import main as command

    command()


if __name__ == "__main__":
    main()
