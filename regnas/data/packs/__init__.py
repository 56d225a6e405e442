"""Images that are decoded once and kept on the disk, in rows that are read one by one.

A pack is a folder of shards, each a safetensors file that holds the rows of some hundred images in the order in which
the files are listed. The name of a shard is the digest of what it was made from. So a shard that exists fits, a pack
that was interrupted is continued, and after a change of the files the shards before it stay.

Making a pack decodes every image, so that it also finds those that cannot be read. A pack of the kind "checked" does
nothing else: its rows are empty.

Rows are read with ``pread`` and not through a memory map. The memory of the process then stays that of the rows in use,
a thread that waits for the disk does not hold the interpreter lock, and a file that shrinks while it is mapped would
kill the process (SIGBUS).
"""

from __future__ import annotations

from regnas.data.packs.damage import Policy, settle_damage
from regnas.data.packs.making import make_pack
from regnas.data.packs.pack import Pack, PackedRows
from regnas.data.packs.rows import Kind

__all__ = ["Kind", "Pack", "PackedRows", "Policy", "make_pack", "settle_damage"]
