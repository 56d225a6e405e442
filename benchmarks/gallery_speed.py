"""How long a browser takes to open a gallery of 2,000 pictures, and a filter to change it.

Writes pictures of noise on blocks of color (hard to compress, as photographs are), predictions of three models that
disagree on all of them, and the page that `regnas gallery` makes of these; then opens it in chromium without a window
and reads the browser's own clock: from the start of the navigation to DOMContentLoaded and to the load event, to the
first frame painted after it, and how long a change of a filter keeps the page busy. Exit code 6 when the bar is missed:
two seconds until everything is loaded.

    python benchmarks/gallery_speed.py --pictures 2000 --side 160
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

from regnas.cli import exit_code
from regnas.flips import Predictions

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.comparison.gallery.browser import Browser, find_browser

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
    """The old model has everything right and the others everything wrong."""
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
        raise SystemExit("there is no chromium on the PATH (Debian: apt-get install chromium)")

    random = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ids = write_pictures(folder / "photos", options.pictures, options.side, random)
        files = write_predictions(folder, ids, random)
        page = folder / "gallery.html"
        start = time.perf_counter()
        arguments = ["--data", str(folder / "photos"), "--out", str(page), "--most", str(options.pictures)]
        if exit_code(["gallery", *files, *arguments]) != 0:
            raise SystemExit("the gallery could not be made")
        seconds_to_make = time.perf_counter() - start
        opened, loaded, painted, filtered = [], [], [], []
        for _ in range(options.repeats):
            with Browser() as browser:  # a new one each time: nothing of the page is kept
                browser.open(page)
                painted.append(browser.evaluate(PAINTED) / 1000)
                times = browser.evaluate(TIMES)
                opened.append(times[0] / 1000)
                loaded.append(times[1] / 1000)
                filtered.append(browser.evaluate(FILTER) / 1000)
        size = page.stat().st_size

    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    result = {
        "command": f"python benchmarks/gallery_speed.py --pictures {options.pictures} --side {options.side} "
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
