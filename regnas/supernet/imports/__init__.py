"""Supernets that others trained: read from their files, checked, kept, and where a run starts from."""

from regnas.supernet.imports.importing import import_supernet
from regnas.supernet.imports.starting import find_weights
from regnas.supernet.imports.store import ImportedSupernet, default_store

__all__ = ["ImportedSupernet", "default_store", "find_weights", "import_supernet"]
