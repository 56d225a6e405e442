"""Predictions in a data frame of any library that narwhals reads: pandas, polars, pyarrow, duckdb and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from regnas.comparison.files.arrays import as_array
from regnas.comparison.files.collecting import CodedTexts, IdTexts, SliceTexts
from regnas.comparison.files.columns import (
    COMPLETE,
    ID,
    PANDAS_INDEX,
    SCORE,
    SCORES,
    Column,
    Content,
    as_rows,
    check_names,
    refuse_missing,
    score_columns,
    with_gaps,
)
from regnas.comparison.files.texts import Texts
from regnas.errors import ArtifactError, RegnasError, explain_missing_packages

ROWS = 2**16  # rows of a column of texts that are converted at once
TEXTS = (nw.String, nw.Categorical, nw.Enum)


class FrameColumns:
    """The columns of a data frame, with the interface of an opened file."""

    def __init__(self, frame: Any, where: str) -> None:
        self.where = where
        self._columns = _columns(frame, where)

    @property
    def columns(self) -> Sequence[str]:
        return [
            name
            for name, series in self._columns.items()
            if _is_usable(series) and not name.startswith(PANDAS_INDEX) and not SCORE.fullmatch(name)
        ]

    @property
    def scores(self) -> Sequence[str]:
        lists = [name for name in SCORES if name in self._columns and _holds_lists(self._columns[name])]
        return [kind for kind in SCORES if kind in lists or f"{kind}_0" in self._columns]

    def read(self, columns: Sequence[str], scores: str | None) -> Content:
        """Convert these columns and scores."""
        with _explained(self.where):
            return Content({name: self._read(name) for name in columns}, self._scores(scores) if scores else None)

    def _read(self, name: str) -> Column | str:
        where = f'{self.where}: column "{name}"'
        if name in COMPLETE:
            return _to_column(self._columns[name], where, IdTexts() if name == ID else CodedTexts(), True)
        try:
            return _to_column(self._columns[name], "it", SliceTexts(), False)
        except ArtifactError as error:
            return str(error)

    def _scores(self, kind: str) -> NDArray[Any]:
        if kind in self._columns:
            return _to_score_rows(self._columns[kind], f'{self.where}: column "{kind}"')
        return np.column_stack([self._to_scores(name) for name in score_columns(self._columns, kind, self.where)])

    def _to_scores(self, name: str) -> NDArray[np.float64]:
        series = self._columns[name]
        if not (series.dtype.is_integer() or series.dtype.is_float()):
            raise ArtifactError(f'{self.where}: column "{name}" must hold numbers, got {series.dtype}')
        missing = series.is_null().to_numpy()
        scores = np.full(len(missing), np.nan)
        scores[~missing] = series.drop_nulls().to_numpy()
        return scores


def _columns(frame: Any, where: str) -> dict[str, nw.Series[Any]]:
    try:
        known = nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        check_names(map(str, getattr(frame, "column_names", None) or frame.columns), where)
        raise
    except TypeError:
        raise ArtifactError(
            f"{where} must be a data frame that narwhals reads, such as one of pandas, polars or pyarrow, got "
            f"{type(frame).__name__}. Convert it to one of these."
        ) from None
    with _explained(where), explain_missing_packages(where):
        held = known.collect() if isinstance(known, nw.LazyFrame) else known
        check_names(map(str, held.columns), where)
        return {str(series.name): series for series in held.iter_columns()}


def _to_column(series: nw.Series[Any], where: str, texts: IdTexts | CodedTexts, complete: bool) -> Column | str:
    """Convert a column; missing values, if allowed, become empty texts."""
    missing = series.is_null().to_numpy()
    if complete:
        refuse_missing(missing, where)
    if series.dtype in TEXTS:
        values = np.array(series.to_list(), dtype=object)
        if all(issubclass(kind, str) for kind in set(map(type, values[~missing]))):
            values[missing] = ""
            for start in range(0, len(values), ROWS):
                texts.add(Texts.of_strings(values[start : start + ROWS].tolist()))
            return texts.column(where)
        held = values[~missing]  # categories may be numbers
    else:
        held = series.drop_nulls().to_numpy()
    found = as_array(held, where) if held.dtype.kind == "O" else held
    numbers = np.zeros(len(missing), dtype=found.dtype)
    numbers[~missing] = found
    return with_gaps(numbers, missing)


def _to_score_rows(series: nw.Series[Any], where: str) -> NDArray[np.float32]:
    """Convert a column of lists, all of one length C, to an array [N, C]."""
    refuse_missing(series.is_null().to_numpy(), where)
    lists = [np.asarray(each) for each in series.to_numpy()]
    try:
        if any(each.ndim != 1 or each.dtype.kind not in "iufO" for each in lists):
            raise TypeError
        with np.errstate(over="ignore"):  # becomes infinite, which is refused
            flat = np.concatenate([np.empty(0), *lists], dtype=np.float32, casting="unsafe")  # None becomes NaN
    except (TypeError, ValueError):
        raise ArtifactError(f"{where} must hold lists of numbers, got {series.dtype}") from None
    return as_rows(flat, np.array([len(each) for each in lists], dtype=np.int64), where)


def _is_usable(series: nw.Series[Any]) -> bool:
    """Whether a column has one value per sample that can name a class or a slice."""
    kind = series.dtype
    if kind == nw.Object:
        return not _holds_lists(series)
    return kind in TEXTS or kind == nw.Boolean or kind.is_integer() or kind.is_float()


def _holds_lists(series: nw.Series[Any]) -> bool:
    if series.dtype != nw.Object:
        return isinstance(series.dtype, nw.List | nw.Array)
    return any(isinstance(value, list | tuple | np.ndarray) for value in series.drop_nulls().head(1).to_list())


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn the errors of the libraries, which have no base in common, into one line."""
    try:
        yield
    except (RegnasError, ImportError):
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ArtifactError(f"{where} cannot be read: {reason}") from None
