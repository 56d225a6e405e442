"""The first import of the server that forks worker processes: it ends the server together with the process it serves.

Otherwise the server would outlive a killed process for as long as it imports torch.
"""

from __future__ import annotations

import os

from regnas.runtime.parents import end_with_parent

SERVED = "REGNAS_SERVED_PROCESS"  # the variable with the number of the process that the server works for

if os.environ.get(SERVED) == str(os.getppid()):
    end_with_parent(os.getppid())
