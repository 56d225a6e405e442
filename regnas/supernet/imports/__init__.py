"""Supernets of other projects: read their files, check them, keep them, and start runs from them."""

from regnas.supernet.imports.importing import import_supernet
from regnas.supernet.imports.starting import anchored_weights, find_weights
from regnas.supernet.imports.store import ImportedSupernet, default_store

__all__ = ["ImportedSupernet", "anchored_weights", "default_store", "find_weights", "import_supernet"]
