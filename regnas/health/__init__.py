"""What the machine offers, and whether regnas works on it: `regnas doctor`.

Only the standard library and the packages of the light core are imported before they are known to be there.
"""

from regnas.health.examining import examine
from regnas.health.findings import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding", "examine"]
