"""The family: its members, its manifest, how it is written and loaded."""

from regnas.family.family import MANIFEST, Family, Member, load_family, write_manifest, write_member

__all__ = ["MANIFEST", "Family", "Member", "load_family", "write_manifest", "write_member"]
