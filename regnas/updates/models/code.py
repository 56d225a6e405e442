"""A digest of the code that decides a training, so that a network is trained again after that code changes.

The code includes the classes that a model is made of, and everything that their modules import from their own package
and from the training code of regnas. Comments, docstrings and formatting do not count.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any
from uuid import uuid4

from regnas.runtime.files import digest_of

# Of regnas, the code that can change trained weights; errors, files, progress and so on cannot.
DECISIVE = (
    "regnas.augmentations",
    "regnas.data",
    "regnas.losses",
    "regnas.networks",
    "regnas.runtime.draws",
    "regnas.runtime.randomness",
    "regnas.space",
    "regnas.supernet",
    "regnas.training",
    "regnas.updates.models",
)
OBSERVING = "regnas.training.loggers"  # only sees a training
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # the nodes that can hold statements
UNREADABLE = f"unreadable code of process {uuid4()}"  # never the same again: such code is always trained anew


def code_of(value: Any) -> str:
    """Return the digest of the classes that a value is made of: their qualified names and their code."""
    classes = set(_classes_in(value))
    names = sorted(f"{_shown(kind.__module__)}:{kind.__qualname__}" for kind in classes)
    modules = frozenset(kind.__module__ for kind in classes)
    packages = frozenset(_package(name) for name in modules)
    reached: set[str] = set()
    for module in modules:
        reached |= _reachable(module, packages)
    return digest_of([names, sorted([_shown(name), _digest(name)] for name in reached)])


def _classes_in(value: Any) -> Iterator[type]:
    if is_dataclass(value) and not isinstance(value, type):
        yield from (kind for kind in type(value).mro() if is_dataclass(kind))
        for entry in fields(value):
            yield from _classes_in(getattr(value, entry.name))
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _classes_in(entry)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _classes_in(entry)


def _package(module: str) -> str:
    return module.partition(".")[0]


def _shown(module: str) -> str:
    """Return the name of a module as the main process knows it: workers import the main program by another name."""
    return "__main__" if module == "__mp_main__" else module


@cache
def _reachable(module: str, packages: frozenset[str]) -> frozenset[str]:
    """Return the module and all that it imports, directly or not, from these packages and regnas' training code."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each for each in _imports(name, packages) if _counts(each, packages)]
    return frozenset(found)


def _counts(module: str, packages: frozenset[str]) -> bool:
    if _package(module) == "regnas":
        return any(_is_in(module, prefix) for prefix in DECISIVE) and not _is_in(module, OBSERVING)
    return _package(module) in packages


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@cache
def _imports(module: str, packages: frozenset[str]) -> tuple[str, ...]:
    """Return the modules that define what a module imports from these packages; protocols do not count."""
    found: dict[str | None, None] = dict.fromkeys(_plain_imports(module))
    for source, name in _imported_names(module).values():
        if _package(source) in packages | {"regnas"}:
            found[_origin(source, name)] = None
    return tuple(name for name in found if name is not None)


def _origin(module: str, name: str) -> str | None:
    """Return the module that defines a name, which other modules may import again; None for a protocol."""
    if _path(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    onward = _imported_names(module).get(name)
    if onward is not None and onward != (module, name):
        return _origin(*onward)
    return None if name in _protocols(module) else module


@cache
def _imported_names(module: str) -> dict[str, tuple[str, str]]:
    """Return the source of every ``from source import name`` by its local name, without imports for type checking."""
    return {
        alias.asname or alias.name: (_absolute(node, module), alias.name)
        for node in _statements(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _plain_imports(module: str) -> Iterator[str]:
    for node in _statements(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield _absolute(node, module)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    path = _path(module)
    package = module if path is not None and path.name == "__init__.py" else module.rpartition(".")[0]
    return resolve_name("." * node.level + (node.module or ""), package)


@cache
def _protocols(module: str) -> frozenset[str]:
    return frozenset(
        node.name
        for node in _statements(module)
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.dump(base) for base in node.bases)
    )


def _statements(module: str) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [_tree(module)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
            continue
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, BLOCKS)]


@cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    if path is None or path.suffix != ".py":
        return ast.Module([], [])
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(node):
            node.body = node.body[1:]
    return tree


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None


@cache
def _digest(module: str) -> str:
    path = _path(module)
    if path is None:
        return UNREADABLE
    return digest_of(ast.dump(_tree(module)) if path.suffix == ".py" else path.read_bytes().hex())


@cache
def _path(module: str) -> Path | None:
    """Return the file of a module, whether it is imported or not; None if it has none."""
    if module in sys.modules:
        file = inspect.getsourcefile(sys.modules[module]) if hasattr(sys.modules[module], "__file__") else None
        file = file or getattr(sys.modules[module], "__file__", None)
    else:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    return Path(file) if file is not None and Path(file).is_file() else None
