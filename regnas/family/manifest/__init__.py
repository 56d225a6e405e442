"""The description of networks on disk, and its checks. Does not import torch."""

from regnas.family.manifest.containment import containment_proof
from regnas.family.manifest.entries import Card, Export, Member
from regnas.family.manifest.folders import MANIFEST, SIGNATURE, family_folder, file_in
from regnas.family.manifest.manifest import FORMAT, NOT_STATED, Manifest, format_of, read_manifest, write_manifest
from regnas.family.manifest.metadata import metadata_of
from regnas.family.manifest.signing import read_private_key, read_public_key, remove_signature, write_signature
from regnas.family.manifest.verification import CheckedFile, Verification, verify_family

__all__ = [
    "FORMAT",
    "MANIFEST",
    "NOT_STATED",
    "SIGNATURE",
    "Card",
    "CheckedFile",
    "Export",
    "Manifest",
    "Member",
    "Verification",
    "containment_proof",
    "family_folder",
    "file_in",
    "format_of",
    "metadata_of",
    "read_manifest",
    "read_private_key",
    "read_public_key",
    "remove_signature",
    "verify_family",
    "write_manifest",
    "write_signature",
]
