"""List the images in a folder of class folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from regnas.errors import DataError
from regnas.pictures.files import ListedImage
from regnas.runtime.progress import track

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
REPORT_PARTS = ("test", "val")


def list_folder(folder: Path) -> tuple[list[ListedImage], list[ListedImage]]:
    """Return the images of train/ and of test/; check all folders before any image is decoded."""
    if not folder.is_dir():
        raise DataError(f"the image folder {folder} does not exist")
    if not (folder / "train").is_dir():
        raise DataError(f"{folder} must have a folder train/ with a folder of images per class, got none")
    held_back = next((part for part in REPORT_PARTS if (folder / part).is_dir()), None)
    if held_back is None:
        raise DataError(f"{folder} must have a folder test/ (or val/) with images to report on, got none")
    train, report = list_part(folder, "train"), list_part(folder, held_back)
    trained = {image.class_name for image in train}
    if len(trained) < 2:
        raise DataError(f'{folder / "train"} must have at least two class folders, got one, "{next(iter(trained))}"')
    unseen = sorted({image.class_name for image in report} - trained)
    if unseen:
        names = ", ".join(f'"{name}"' for name in unseen)
        raise DataError(f"{len(unseen)} classes of {folder / held_back} have no folder in train/: {names}")
    return train, report


def list_report_part(folder: Path) -> tuple[list[ListedImage], tuple[str, ...]]:
    """Return the images of test/ or val/, else of the folder itself, and the classes."""
    part = next((name for name in REPORT_PARTS if (folder / name).is_dir()), "")
    if not part and (folder / "train").is_dir():
        raise DataError(f"{folder} must have test/ (or val/) beside train/, got none. Give a folder of class folders.")
    listed = list_part(folder, part)
    known = {image.class_name for image in listed}
    if part and (folder / "train").is_dir():
        known |= set(class_folders(folder / "train"))  # a class may have no image to report on
    return listed, tuple(sorted(known))


def list_part(folder: Path, part: str) -> list[ListedImage]:
    """Return all images of ``folder/part/<class>/``, ordered by class and name; every class must have one.

    Without a part, return those of ``folder/<class>/``.
    """
    classes = class_folders(folder / part)
    if not classes:
        raise DataError(
            f"{folder / part} must have class folders, got none. Put the images of each class into a folder."
        )
    above = f"{part}/" if part else ""
    listed: list[ListedImage] = []
    empty: list[str] = []
    for class_name in track(classes, f"listing {part or folder.name}/", len(classes)):
        images = sorted(
            _below(folder / part / class_name, f"{above}{class_name}", class_name), key=lambda one: one.name
        )
        listed += images
        if not images:
            empty.append(class_name)
    if empty:
        raise DataError(
            f"all class folders of {folder / part} must have images, got {len(empty)} of {len(classes)} without, first "
            f'"{empty[0]}". Fill or remove them (images end in {" ".join(sorted(SUFFIXES))}).'
        )
    _check_names(folder, listed)
    return listed


def class_folders(folder: Path) -> list[str]:
    """Return the names of the class folders, sorted, without hidden ones."""
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not _hidden(entry.name))


def _below(folder: Path, name: str, class_name: str, above: frozenset[str] = frozenset()) -> Iterator[ListedImage]:
    resolved = os.path.realpath(folder)
    if resolved in above:  # a symbolic link to a folder that contains it
        return
    for entry in os.scandir(folder):
        if _hidden(entry.name):
            continue
        entry_name = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _below(folder / entry.name, entry_name, class_name, above | {resolved})
        elif entry.name.lower().endswith(SUFFIXES):
            try:
                status = entry.stat()
            except OSError:  # list a dangling link: decoding then counts it as unreadable
                yield ListedImage(entry_name, class_name, -1, -1)
            else:
                yield ListedImage(entry_name, class_name, status.st_size, status.st_mtime_ns)


def _check_names(folder: Path, listed: list[ListedImage]) -> None:
    """Refuse names that are not UTF-8: ids go into JSON and tables, but a file system allows any bytes."""
    foreign = [image.name for image in listed if not _is_text(image.name)]
    if foreign:
        raise DataError(f"{len(foreign):,} file names in {folder} are not UTF-8, first {foreign[0]!a}: rename them")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _hidden(name: str) -> bool:
    return name.startswith(".")
