"""What update studies leave behind, read with nothing of regnas, and their configurations changed."""

from __future__ import annotations

import json

import numpy as np
import torch


def results_of(run):
    return json.loads((run / "report" / "update.json").read_text())


def method_of(run, label):
    (found,) = [method for method in results_of(run)["methods"] if method["label"] == label]
    return found


def arrays_of(run, label, model, seed=0):
    return np.load(run / "predictions" / f"seed-{seed}" / label / f"{model}.npz")


def correct_of(run, label, model, seed=0):
    arrays = arrays_of(run, label, model, seed)
    return arrays["predicted"] == arrays["target"]


def records(cache):
    return [json.loads(path.read_text()) for path in cache.glob("*/model.json")]


def predicted_by(network, run, images):
    """What a network answers to stored bytes [N, H, W], with the normalization that the run has recorded."""
    scaling = json.loads((run / "run.json").read_text())["data"]["preprocessing"]
    scaled = (torch.from_numpy(images)[:, None].float() / 255 - scaling["mean"][0]) / scaling["std"][0]
    with torch.no_grad():
        return network.eval()(scaled).argmax(dim=1).numpy()


def change(config, *replacements):
    text = config.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    config.write_text(text)


def tree(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


def nothing_was_trained(folder):
    """Check that the run has neither a network nor a result; it may have been started."""
    begun = {path.name for path in (folder / "run").iterdir()} if (folder / "run").exists() else set()
    return begun <= {".lock", "run.json", "run.log"} and not (folder / "cache").exists()
