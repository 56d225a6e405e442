"""Import a published supernet or a file into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlparse

from torch import Tensor

from regnas.components.registry import nearest
from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.runtime.files import sha256_of
from regnas.runtime.tensors import first_three
from regnas.supernet import Published
from regnas.supernet.imports.downloading import download
from regnas.supernet.imports.matching import Fit, fit, fit_with_any_classes, importable, published_supernets, recognize
from regnas.supernet.imports.reading import check_size, in_single_precision, read_tensors
from regnas.supernet.imports.store import SUFFIX, ImportedSupernet, find, keep, weights_path

# Endings of checkpoint names; the "w1.0" of a name must stay.
ENDINGS = (".tar", ".pth", ".pt", ".bin", ".ckpt", SUFFIX)

Fitting = Callable[[Mapping[str, Tensor]], Fit]


def import_supernet(
    source: str, folder: Path, file: Path | None = None, supernet: str = "", name: str = ""
) -> tuple[ImportedSupernet, bool]:
    """Import a published supernet by its name (from ``file``, the folder or the network), or the user's own file.

    The file belongs to ``supernet``, by default the one that fits. It is kept under ``name``, by default its own. The
    second value is False if it was imported before.
    """
    published = published_supernets()
    path = Path(source)
    with _room_for_it(folder):
        if source in published:
            if supernet or name:
                raise ConfigurationError(f"{source} is published: `supernet` and `name` are for a file of your own")
            return _import_published(published[source], folder, file or (path if path.is_file() else None))
        if not path.is_file():
            known = sorted(published)
            raise ConfigurationError(
                f'there is no file "{source}", nor a published supernet of that name{nearest(source, known)} '
                f"(published: {', '.join(known)})"
            )
        if file is not None:
            raise ConfigurationError(f"{source} is a file: `file` is for the name of a published supernet")
        target = weights_path(folder, name or _own_name(path))
        if not supernet:
            return _convert(path, str(path), target, lambda tensors: recognize(tensors, published.values(), path))
        given = importable(supernet, published)
        return _convert(path, str(path), target, lambda tensors: _exact(fit_with_any_classes(tensors, given), path))


def _import_published(published: Published, folder: Path, file: Path | None) -> tuple[ImportedSupernet, bool]:
    target = weights_path(folder, published.name)
    there = find(target)
    if there is not None and file is None:
        there.check()
        return there, False
    original = file or folder / _published_file(published)
    downloaded = not original.is_file()
    if downloaded and file is not None:
        raise ConfigurationError(f"`file`: there is no file {file}")
    if downloaded:
        download(published.url, original)
    try:
        return _convert(original, published.url, target, lambda tensors: _exact(fit(tensors, published), original))
    except ArtifactError as error:
        raise ArtifactError(f"{error} (from {published.url})" if downloaded else str(error)) from None
    finally:
        if downloaded:
            original.unlink(missing_ok=True)  # converted, or the wrong file


def _convert(path: Path, origin: str, target: Path, fitting: Fitting) -> tuple[ImportedSupernet, bool]:
    check_size(path)
    origin_sha256 = sha256_of(path)
    there = find(target)
    if there is not None and there.origin_sha256 == origin_sha256:
        there.check()
        return there, False
    if there is not None:
        raise ConfigurationError(f"{target} comes from another file ({there.origin}). Delete it, or change `name`.")
    fitted = fitting(read_tensors(path))
    tensors = in_single_precision(fitted.tensors, path)
    return keep(target, tensors, fitted.supernet, origin, origin_sha256), True


def _exact(fitted: Fit, path: Path) -> Fit:
    if fitted.differences:
        raise ArtifactError(f"{path} is not {fitted.supernet.name}: {first_three(fitted.differences)}")
    return fitted


def _published_file(published: Published) -> str:
    """Return the name under which a browser saves the file; an address with a query has no file name."""
    url = urlparse(published.url)
    return published.name if url.query else Path(unquote(url.path)).name


def _own_name(path: Path) -> str:
    name = path.name
    while name.endswith(ENDINGS):
        name = name[: name.rindex(".")]
    return name


@contextmanager
def _room_for_it(folder: Path) -> Iterator[None]:
    """Turn an error of writing in the folder into one that names the argument ``folder``."""
    try:
        yield
    except (EnvironmentProblem, OSError) as problem:
        cause = problem if isinstance(problem, OSError) else problem.__cause__
        if not isinstance(cause, OSError):
            raise
        raise EnvironmentProblem(
            f"cannot write in {folder}: {cause.strerror or cause}. Make room there, or choose another `folder`."
        ) from None
