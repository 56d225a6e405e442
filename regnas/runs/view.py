"""A read-only view of a run folder, of a family or of an update."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regnas.errors import ArtifactError
from regnas.runs.folder import RunFolder

if TYPE_CHECKING:
    from regnas.report.kit.json_values import JsonResult

Result = TypeVar("Result", bound="JsonResult")


@dataclass(frozen=True, repr=False)
class RunView:
    """A run folder, read only.

    Attributes:
        path: The run folder.
    """

    path: Path

    @property
    def report(self) -> Path:
        """The page of the report."""
        return self._folder.page

    @property
    def configuration(self) -> dict[str, Any]:
        """The tables of the configuration, as in TOML."""
        configuration: dict[str, Any] = self._folder.facts["configuration"]
        return configuration

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """Return the highlights of the report as HTML, with a link to its page."""
        if not self.report.exists():
            kind = type(self).__name__
            return f"<p>{kind} in <code>{escape(str(self.path))}</code>, without a report so far.</p>"
        link = escape(self.report.absolute().as_uri())
        return f'{self._highlights()}<p><a href="{link}">Report</a></p>'

    def _highlights(self) -> str:
        """Return the most important numbers of the report as HTML."""
        raise NotImplementedError

    @property
    def _folder(self) -> RunFolder:
        return RunFolder.open(self.path, reads_only=True)

    def _read(self, kind: type[Result], name: str, command: str) -> Result:
        """Read a JSON file of the report; ``command`` writes it."""
        path = self._folder.report / name
        remedy = f"Write it with `{command} {self.path}`."
        if not path.exists():
            raise ArtifactError(f"{self.path} must have a report, got none. {remedy}")
        return kind.read(path, remedy)
