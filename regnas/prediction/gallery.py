"""Make a flip gallery from predictions and their images. Does not import torch for a folder or an npz."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regnas.comparison.gallery import Gallery, gallery_of, read_models
from regnas.comparison.gallery.contents import Pictures
from regnas.errors import ConfigurationError
from regnas.flips import Predictions
from regnas.pictures.labeled import open_folder, open_npz
from regnas.runs.folder import RUN
from regnas.runtime.files import check_output
from regnas.runtime.signals import stop_unwritten

MOST = 2000


def gallery(
    old: str | Path | Predictions,
    new: str | Path | Predictions,
    data: str | Path,
    *,
    more: Sequence[str | Path | Predictions] = (),
    out: str | Path | None = None,
    split: Literal["report", "search", "train"] = "report",
    most: int = MOST,
    overwrite: bool = False,
) -> Gallery:
    """Show the samples that a new model broke: the old one predicts them correctly and the new one does not.

    Args:
        old: predictions of the old model, or a file of them.
        new: predictions of the new model.
        data: a folder of class folders, an npz of images and targets, a configuration, a preset or a run folder.
        more: predictions of further models, with which labels can be marked as suspect.
        out: an HTML file to write the page to.
        split: the split of a configuration or a run.
        most: the largest number of pictures; the worst flips come first.
        overwrite: replace ``out`` if it exists.

    Returns:
        The flips, the worst first, with their pictures; ``to_html()`` returns the page.

    Example:
        >>> flips = regnas.gallery("old.npz", "new.npz", "photos", out="flips.html")  # doctest: +SKIP
        >>> flips.all_flips, flips.flips[0].sample  # doctest: +SKIP
        (17, 'cat/0031.jpg')
    """
    if out is not None:
        check_output(Path(out), ".html", overwrite)
    if most < 1:
        raise ConfigurationError(f"most must be at least 1, got {most}")
    samples = _samples(str(data), split)
    given = [each if isinstance(each, Predictions) else Path(each) for each in (old, new, *more)]
    models = read_models(given, samples.classes)
    stop_unwritten()
    found = gallery_of(models, samples, most)
    if out is not None:
        found.to_html(out)
    return found


def _samples(source: str, split: Literal["report", "search", "train"]) -> Pictures:
    """Find the pictures; only configurations and runs, which build their data sets, need torch."""
    path = Path(source).expanduser()
    if split == "report" and not (path / RUN).is_file():
        if path.is_dir():
            return open_folder(source, path.resolve())
        if path.suffix == ".npz":
            return open_npz(source, path)
    from regnas.prediction.data import samples_of

    return samples_of(source, split, None)
