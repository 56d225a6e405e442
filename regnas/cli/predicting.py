"""`predict` and `gallery`: what models answer, and the pictures of what a new one broke."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regnas.cli.app import app
from regnas.errors import ConfigurationError, EnvironmentProblem

DEVICES = ("auto", "cpu", "cuda", "mps")
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file, where there is one.")]
Data = "A folder of class folders, an npz of images and targets, a configuration, a preset or a run folder."
SplitChoice = Annotated[
    Literal["report", "search", "train"], typer.Option("--split", help="Which split of a configuration or a run.")
]


@app.command()
def predict(
    model: Annotated[
        str,
        typer.Argument(help="FOLDER:MEMBER of a family, an exported .onnx file, or a name such as resnet18."),
    ],
    data: Annotated[str, typer.Argument(help=Data)],
    out: Annotated[Path, typer.Option(help="The file of predictions, an npz.")],
    weights: Annotated[
        str | None, typer.Option(help="Weights of a torchvision model; by default DEFAULT.", metavar="NAME")
    ] = None,
    split: SplitChoice = "report",
    batch_size: Annotated[int | None, typer.Option(min=1, help="Images at once.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps; by default machine.device.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write down what a model answers on labeled images, for `regnas compare` and `regnas gallery`."""
    _check_output(out, ".npz", overwrite)
    import torch

    from regnas.prediction import load_classifier, samples_of
    from regnas.prediction import predict as run
    from regnas.report.kit.formatting import percent
    from regnas.runtime.signals import postponed_signals, stop_unwritten

    with postponed_signals():
        classifier = load_classifier(model, weights)
        stop_unwritten()
        samples = samples_of(data, split, classifier.reading)
        stop_unwritten()
        if samples.machine.threads:
            torch.set_num_threads(samples.machine.threads)
        predictions = run(classifier, samples, _device(device or samples.machine.device), batch_size)
        predictions.save(out)
    typer.echo(f"{out}: {classifier.name}, {len(samples):,} samples, Top-1 {percent(predictions.accuracy)} %")


@app.command()
def gallery(
    old: Annotated[Path, typer.Argument(help="Predictions of the old model.")],
    new: Annotated[Path, typer.Argument(help="Predictions of the new model.")],
    data: Annotated[str, typer.Option(help=Data)],
    out: Annotated[Path, typer.Option(help="The page, an html file.")],
    more: Annotated[
        list[Path] | None, typer.Argument(help="Predictions of further models, by which labels are doubted.")
    ] = None,
    split: SplitChoice = "report",
    most: Annotated[int, typer.Option(min=1, help="Pictures on the page, the worst flips first.")] = 2000,
    overwrite: Overwrite = False,
) -> None:
    """Show what a new model broke: a page of the samples that the old one has right and the new one wrong."""
    _check_output(out, ".html", overwrite)
    from regnas.comparison.gallery import gallery_of, read_models, render
    from regnas.prediction import samples_of
    from regnas.runtime.files import write_bytes
    from regnas.runtime.signals import postponed_signals, stop_unwritten

    with postponed_signals():
        samples = samples_of(data, split, None)
        models = read_models([old, new, *(more or ())], samples.classes)
        stop_unwritten()
        contents = gallery_of(models, samples, most)
        # ids of predictions may hold half characters that are no text; they must not cost the page
        write_bytes(out, render(contents).encode("utf-8", "backslashreplace"))
    shown = f"the worst {len(contents.flips):,} of them" if len(contents.flips) < contents.all_flips else "all of them"
    suspects = "" if contents.no_suspects else f", {contents.all_suspects:,} with suspect labels"
    typer.echo(f"{out}: {contents.all_flips:,} negative flips{suspects}; it shows {shown}")


def _check_output(path: Path, suffix: str, overwrite: bool) -> None:
    """Before the work, not after it: may the file be written?"""
    if path.suffix != suffix:
        raise ConfigurationError(f"--out {path} does not end in {suffix}")
    if path.is_dir():
        raise ConfigurationError(f"--out {path} is a folder: name a file")
    if path.exists() and not overwrite:
        raise ConfigurationError(f"{path} exists: choose another --out, or replace it with --overwrite")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise EnvironmentProblem(f"cannot write {path}: {above} is no folder that you may write; choose another --out")


def _device(wish: str) -> Any:
    import torch

    from regnas.runtime.machine import choose_device

    if wish not in DEVICES:
        raise ConfigurationError(f'--device "{wish}" is none of {", ".join(DEVICES)}')
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not found.get(wish, True):
        raise EnvironmentProblem(f'torch finds no device "{wish}" on this machine: choose another with --device')
    return choose_device(wish)
