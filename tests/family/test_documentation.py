"""The Python of docs/families.md, executed on a finished run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from regnas.flips import load_predictions

PAGE = Path(__file__).parents[2] / "docs" / "families.md"


def test_the_code_of_the_page_runs(finished_run, tmp_path, monkeypatch, capsys):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "digits").symlink_to(finished_run)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)
    lines = capsys.readouterr().out.splitlines()
    small, large = (load_predictions(finished_run / "predictions" / f"{name}.npz") for name in ("small", "large"))
    flips = int(np.count_nonzero(small.correct & ~large.correct))
    assert lines[0] == "['small', 'medium', 'large']"
    assert lines[2].endswith("(2, 3)")
    assert lines[3] == f"{small.accuracy} {large.accuracy} {flips}"
    assert lines[4] == "True 6"  # weights and cards
    assert (tmp_path / "flips.html").stat().st_size > 0
