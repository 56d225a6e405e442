"""Predictions in a CSV file: one line of names, then one line per sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.collecting import CodedTexts, InferredIds, SliceTexts
from regnas.comparison.files.columns import COMPLETE, ID, SCORE, SCORES, Content, check_names, score_columns
from regnas.comparison.files.csv_rows import Rows, read_rows
from regnas.comparison.files.numbers import to_floats
from regnas.comparison.files.text_files import BLOCK, FIRST_BLOCK, check_file_size, show
from regnas.errors import ArtifactError


class CsvFile:
    """An opened CSV file. Its columns have no types, so the type of a column is decided from all of its values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_file_size(path)
        self._names = _header(path)
        check_names(self._names, str(path))

    @property
    def columns(self) -> Sequence[str]:
        return [name for name in self._names if name and not SCORE.fullmatch(name)]

    @property
    def scores(self) -> Sequence[str]:
        return [kind for kind in SCORES if f"{kind}_0" in self._names]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Read these columns and scores, block by block."""
        place = {name: place for place, name in enumerate(self._names)}
        read = {name: _collector(name) for name in columns}
        of_classes = score_columns(self._names, scores, str(self.path)) if scores else []
        score_rows: list[NDArray[np.float32]] = [np.empty((0, len(of_classes)), dtype=np.float32)]
        for rows in self._rows():
            for name, column in read.items():
                column.add(rows.fields(place[name]))
            if scores:
                score_rows.append(self._scores(rows, [place[name] for name in of_classes], sum(map(len, score_rows))))
        where = f'{self.path}: column "{{}}"'.format
        return Content(
            {name: column.column(where(name)) for name, column in read.items()},
            np.concatenate(score_rows) if scores else None,
        )

    def _rows(self) -> Iterator[Rows]:
        for number, rows in enumerate(read_rows(self.path, BLOCK)):
            yield rows if number else rows.after(1)

    def _scores(self, rows: Rows, places: Sequence[int], done: int) -> NDArray[np.float32]:
        """Convert the scores of some rows, which follow ``done`` others; an empty cell becomes NaN."""
        cells = rows.fields(*places)
        values, wrong = to_floats(cells)
        if wrong is not None:
            row, column = divmod(wrong, len(places))
            found = show(cells.tolist()[wrong].decode("utf-8"))
            raise ArtifactError(
                f'{self.path}: column "{self._names[places[column]]}" must hold numbers, got {found} in row '
                f"{done + row + 1:,}"
            )
        return values.reshape(len(rows), len(places))


def _collector(name: str) -> InferredIds | CodedTexts:
    if name == ID:
        return InferredIds()
    return CodedTexts() if name in COMPLETE else SliceTexts()


def _header(path: Path) -> list[str]:
    for rows in read_rows(path, FIRST_BLOCK):
        return [name.decode("utf-8") for name in rows.first().tolist()]
    return []
