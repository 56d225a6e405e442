"""Write networks as files: weights, other formats, model cards; every file is run and compared before it is listed."""

from regnas.family.export.formats import FORMATS, Format, Material, require_packages
from regnas.family.export.tables import disagreements, export_table, family_table
from regnas.family.export.writing import (
    Origin,
    current_family,
    export_formats,
    missing_formats,
    refresh,
    retire_family,
    write_family,
    write_member,
)

__all__ = [
    "FORMATS",
    "Format",
    "Material",
    "Origin",
    "current_family",
    "disagreements",
    "export_formats",
    "export_table",
    "family_table",
    "missing_formats",
    "refresh",
    "require_packages",
    "retire_family",
    "write_family",
    "write_member",
]
