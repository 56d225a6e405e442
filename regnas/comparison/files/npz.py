"""Predictions in an npz file that regnas or another program wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regnas.comparison.files.columns import ID, PREDICTED, SCORES, SIZE_LIMIT, TARGET, Content
from regnas.errors import ArtifactError
from regnas.runtime.npz import ArrayHeader, ArraySpec, read_arrays, read_headers

NEEDED = (ID, TARGET, PREDICTED)


class NpzFile:
    """An opened npz file. Arrays of shape [N] are columns; arrays named logits and probabilities are scores."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._headers = read_headers(path, ArtifactError)

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns; required arrays are always listed, so that an error can say what is wrong with them."""
        ids = self._headers.get(ID)
        return [name for name, header in self._headers.items() if name in NEEDED or _is_column(header, ids)]

    @property
    def scores(self) -> Sequence[str]:
        return [name for name in SCORES if name in self._headers]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Read these arrays and scores."""
        specs = {name: ArraySpec("Uiu" if name == ID else "Uiufb", 1) for name in columns}
        if scores:
            specs[scores] = ArraySpec("f", 2)
        arrays = read_arrays(self.path, specs, ArtifactError, SIZE_LIMIT)
        return Content({name: arrays[name] for name in columns}, arrays[scores] if scores else None)


def _is_column(header: ArrayHeader | None, ids: ArrayHeader | None) -> bool:
    if header is None or ids is None:
        return False
    return len(header.shape) == 1 and header.shape == ids.shape and header.dtype.kind in "Uiub"
