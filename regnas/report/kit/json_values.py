"""Convert results to JSON and back: dataclasses become objects whose keys are the fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import InstanceOf, TypeAdapter, ValidationError

from regnas.components.builder import place_of
from regnas.errors import ArtifactError
from regnas.runtime.files import json_text, read_json, sealed, unsealed

# The texts of a result. Pydantic refuses lone surrogates, which stand for bytes of file names that are not UTF-8.
Text = InstanceOf[str]

LONGEST = 40  # characters of a value that a message shows
WANTED = {  # the expected value in words, by the kind of pydantic's problem
    "bool_type": "true or false",
    "dataclass_type": "an object",
    "dict_type": "an object",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "is_instance_of": "a text",
    "mapping_type": "an object",
    "too_long": "shorter",
    "tuple_type": "a list",
}


class JsonResult:
    """A dataclass that a report stores as a JSON file."""

    @classmethod
    def read(cls, path: Path, remedy: str) -> Self:
        """Read a stored result.

        Args:
            path: The JSON file.
            remedy: A sentence that says how to get a good file; it ends the message of the error.

        Returns:
            The result. ``ArtifactError`` names the file and the first key that is missing or has a wrong value.
        """
        return cls.from_dict(read_json(path), str(path), remedy)

    @classmethod
    def from_dict(cls, content: Any, source: str, remedy: str = "") -> Self:
        """Convert the content of ``to_dict`` or ``to_json`` back; ``source`` names its origin in errors."""
        try:
            return TypeAdapter(cls).validate_python(unsealed(content, source))
        except ArtifactError as error:
            raise ArtifactError(f"{error}. {remedy}".strip()) from None
        except ValidationError as error:
            problem = _in_words(source, error.errors()[0])
            raise ArtifactError(f"{problem}. {remedy}".strip()) from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers."""
        content: dict[str, Any] = json_value(self)
        return content

    def to_json(self) -> str:
        """Return the JSON text that the report stores, with a digest of its content."""
        return json_text(sealed(self.to_dict())).rstrip("\n")


def json_value(value: Any) -> Any:
    """Convert dataclasses to dictionaries in the order of their fields, and tuples to lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: json_value(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {key: json_value(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [json_value(entry) for entry in value]
    return value


def _in_words(source: str, problem: Mapping[str, Any]) -> str:
    place = place_of(problem["loc"]).removeprefix(".")
    if problem["type"] == "missing":
        return f"{source} must have {place}, got none"
    where = f"{source}: {place}" if place else source
    if problem["type"] == "value_error":
        return f"{where}: {problem['msg'].removeprefix('Value error, ')}"
    wanted = WANTED.get(problem["type"], problem["msg"].removeprefix("Input should be "))
    return f"{where} must be {wanted}, got {_shown(problem['input'])}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    text = json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
