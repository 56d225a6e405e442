"""Measure how long a browser takes to open a gallery of 2,000 pictures, and to apply a filter.

Writes pictures of noise on blocks of color (hard to compress, like photographs), predictions of three models that
disagree on all of them, and the page that `regnas gallery` makes from these. Then it opens the page in headless
chromium and reads the clock of the browser: from the start of the navigation to DOMContentLoaded, to the load event and
to the first frame painted after it, and the time of a change of a filter. The exit code is 6 if loading takes more than
two seconds.

    python -m benchmarks.gallery_speed --pictures 2000 --side 160
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

from benchmarks.browser import Browser, find_browser
from regnas.cli import exit_code
from regnas.flips import Predictions

BAR_SECONDS = 2.0
CLASSES = 10
TIMES = """(() => {
  const page = performance.getEntriesByType("navigation")[0];
  return [page.domContentLoadedEventEnd, page.loadEventEnd];
})()"""
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
FILTER = """(() => {
  const box = document.getElementById("label");
  box.value = "3";
  const start = performance.now();
  box.dispatchEvent(new Event("change"));
  document.body.offsetHeight;
  return performance.now() - start;
})()"""


def write_pictures(folder: Path, count: int, side: int, random: np.random.Generator) -> list[str]:
    ids = []
    for number in range(count):
        blocks = np.kron(random.integers(0, 200, (8, 8, 3)), np.ones((side // 8, side // 8, 1)))
        pixels = (blocks + random.integers(0, 56, blocks.shape)).astype(np.uint8)
        name = f"class-{number % CLASSES}/{number:06d}.jpg"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name, quality=90)
        ids.append(name)
    return sorted(ids)


def write_predictions(folder: Path, ids: list[str], random: np.random.Generator) -> list[str]:
    """Write an old model that is always correct, and two others that never are."""
    targets = np.array([int(name[6]) for name in ids])
    paths = []
    for model in ("old", "new", "other"):
        logits = random.normal(0, 1, (len(ids), CLASSES)).astype(np.float32)
        logits[np.arange(len(ids)), targets] += 20 if model == "old" else -20
        paths.append(str(folder / f"{model}.npz"))
        Predictions(model, np.array(ids), targets, logits.argmax(axis=1), logits).save(Path(paths[-1]))
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(description="time to open a gallery in a browser")
    parser.add_argument("--pictures", type=int, default=2000)
    parser.add_argument("--side", type=int, default=160)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    program = find_browser()
    if program is None:
        raise SystemExit("chromium must be on the PATH. On Debian, install it with: apt-get install chromium")

    random = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ids = write_pictures(folder / "photos", options.pictures, options.side, random)
        files = write_predictions(folder, ids, random)
        page = folder / "gallery.html"
        start = time.perf_counter()
        arguments = ["--data", str(folder / "photos"), "--out", str(page), "--most", str(options.pictures)]
        if exit_code(["gallery", *files, *arguments]) != 0:
            raise SystemExit("regnas gallery failed")
        seconds_to_make = time.perf_counter() - start
        opened, loaded, painted, filtered = [], [], [], []
        for _ in range(options.repeats):
            with Browser() as browser:  # a new one for each repeat, so that nothing is cached
                browser.open(page)
                painted.append(browser.evaluate(PAINTED) / 1000)
                times = browser.evaluate(TIMES)
                opened.append(times[0] / 1000)
                loaded.append(times[1] / 1000)
                filtered.append(browser.evaluate(FILTER) / 1000)
        size = page.stat().st_size

    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    result = {
        "command": f"python -m benchmarks.gallery_speed --pictures {options.pictures} --side {options.side} "
        f"--repeats {options.repeats} --seed {options.seed}",
        "machine": {
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "browser": version,
        },
        "pictures": options.pictures,
        "page_bytes": size,
        "seconds_to_make_the_page": seconds_to_make,
        "seconds_to_dom_content_loaded": median(opened),
        "seconds_to_load": median(loaded),
        "seconds_to_load_of_each_repeat": loaded,
        "seconds_until_painted_at_most": median(painted),
        "seconds_of_a_filter": median(filtered),
        "bar": {"seconds_to_load": BAR_SECONDS},
    }
    text = json.dumps(result, indent=2) + "\n"
    Path(__file__).with_suffix(".json").write_text(text)
    print(text, end="")
    return 0 if max(loaded) <= BAR_SECONDS else 6


if __name__ == "__main__":
    sys.exit(main())
