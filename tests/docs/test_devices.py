"""The speeds on the page about devices are those of the benchmark."""

from __future__ import annotations

import json
import re

from tests.docs.markdown import ROOT


def test_the_speed_of_a_training_step_is_that_of_the_benchmark():
    results = json.loads((ROOT / "benchmarks" / "training_speed.json").read_text())
    text = re.sub(r"\s+", " ", (ROOT / "docs" / "devices.md").read_text(encoding="utf-8"))
    assert f"reaches {results['arithmetic']['share']:.2f} of the multiply-adds per second" in text
    assert f"is {results['ofa']['regnas']['speed']:.1f} times as fast as that of the `ofa` package" in text
