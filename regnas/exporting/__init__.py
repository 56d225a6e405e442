"""The family as files: weights, other formats, model cards; each file is run and compared before it is listed."""

from regnas.exporting.formats import FORMATS, require_packages
from regnas.exporting.tables import disagreements, export_table
from regnas.exporting.writing import (
    Origin,
    current_family,
    export_formats,
    missing_formats,
    refreshed,
    retire_family,
    write_family,
    write_member,
)

__all__ = [
    "FORMATS",
    "Origin",
    "current_family",
    "disagreements",
    "export_formats",
    "export_table",
    "missing_formats",
    "refreshed",
    "require_packages",
    "retire_family",
    "write_family",
    "write_member",
]
