"""Which images a folder of class folders holds."""

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
    """The images to train and to report on; everything that can be wrong with the folders is found before decoding."""
    if not folder.is_dir():
        raise DataError(f"the image folder {folder} does not exist")
    if not (folder / "train").is_dir():
        raise DataError(f"{folder} has no folder train/: it has to hold a folder of images for each class")
    held_back = next((part for part in REPORT_PARTS if (folder / part).is_dir()), None)
    if held_back is None:
        raise DataError(f"{folder} has no folder test/ (or val/): it has to hold images to report on")
    train, report = list_part(folder, "train"), list_part(folder, held_back)
    trained = {image.class_name for image in train}
    if len(trained) < 2:
        raise DataError(f'{folder / "train"} has one class folder, "{next(iter(trained))}": two classes are needed')
    unseen = sorted({image.class_name for image in report} - trained)
    if unseen:
        names = ", ".join(f'"{name}"' for name in unseen)
        raise DataError(f"{len(unseen)} classes of {folder / held_back} have no folder in train/: {names}")
    return train, report


def list_report_part(folder: Path) -> tuple[list[ListedImage], tuple[str, ...]]:
    """List the images of test/ or val/ if there is one, else of the folder itself; and the classes."""
    part = next((name for name in REPORT_PARTS if (folder / name).is_dir()), "")
    if not part and (folder / "train").is_dir():
        raise DataError(f"{folder} has train/ and no test/ (or val/): give a folder of class folders")
    listed = list_part(folder, part)
    known = {image.class_name for image in listed}
    if part and (folder / "train").is_dir():
        known |= set(class_folders(folder / "train"))  # a class may have no image to report on
    return listed, tuple(sorted(known))


def list_part(folder: Path, part: str) -> list[ListedImage]:
    """All images of ``folder/part/<class>/``, ordered by class and name; every class has to have one.

    Without a part, those of ``folder/<class>/``.
    """
    classes = class_folders(folder / part)
    if not classes:
        raise DataError(f"{folder / part} has no class folders: put the images of each class into a folder of its own")
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
            f"{len(empty)} of {len(classes)} class folders of {folder / part} have no images, first "
            f'"{empty[0]}": fill or remove them (images end in {" ".join(sorted(SUFFIXES))})'
        )
    _check_names(folder, listed)
    return listed


def class_folders(folder: Path) -> list[str]:
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
            except OSError:  # a dangling link is listed, so that decoding counts it among the unreadable
                yield ListedImage(entry_name, class_name, -1, -1)
            else:
                yield ListedImage(entry_name, class_name, status.st_size, status.st_mtime_ns)


def _check_names(folder: Path, listed: list[ListedImage]) -> None:
    """Ids go into JSON and tables, which hold text; a file system holds any bytes."""
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
