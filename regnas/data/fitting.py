"""The statistics of streamed images, measured once and kept between runs."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from regnas.data.packs.making import REMEDY
from regnas.data.preprocessing import MOST_DECODED, Preprocessing
from regnas.data.streaming import Images
from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.runtime.files import digest_of, read_json, write_json


def fit_once(images: Images, folder: Path) -> Preprocessing:
    """Return the preprocessing fitted to images; keep it in the folder if they are streamed.

    If the file that keeps it is damaged, it is fitted again.
    """
    if isinstance(images, Tensor):
        return Preprocessing.fitted_to(images)
    record = folder / f"{digest_of([str(images.folder), images.digest, MOST_DECODED])}.json"
    try:
        kept = read_json(record)
        if kept["sha256"] == digest_of(kept["preprocessing"]):
            return Preprocessing.from_json(kept["preprocessing"])
    except (ArtifactError, KeyError, TypeError, OSError):
        pass
    fitted = Preprocessing.fitted_to(images)
    try:
        write_json(record, {"preprocessing": fitted.to_json(), "sha256": digest_of(fitted.to_json())})
    except EnvironmentProblem as error:
        raise EnvironmentProblem(f"cannot keep the statistics of the images in {folder} ({error}). {REMEDY}") from error
    return fitted
