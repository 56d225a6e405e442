"""`predict` and `gallery`: predictions of models, and pictures that flipped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from regnas.cli.app import app
from regnas.cli.output import say

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")]
Data = "A folder of class folders, an npz of images and targets, a configuration, a preset or a run folder."
SplitChoice = Annotated[
    Literal["report", "search", "train"], typer.Option("--split", help="The split of a configuration or a run.")
]


@app.command()
def predict(
    model: Annotated[
        str,
        typer.Argument(
            help="RUN:MEMBER of a family, RUN:METHOD of an update, an exported .onnx file, or a name such as resnet18 "
            "or timm/resnet18.",
            metavar="MODEL",
        ),
    ],
    data: Annotated[str, typer.Argument(help=Data, metavar="DATA")],
    out: Annotated[Path, typer.Option(help="The file of predictions, an npz.", metavar="PATH")],
    weights: Annotated[
        str | None, typer.Option(help="Weights of a torchvision model. Default: DEFAULT.", metavar="NAME")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Your own weights of a torchvision or timm model: .safetensors or .pth.", metavar="PATH"),
    ] = None,
    split: SplitChoice = "report",
    batch_size: Annotated[int | None, typer.Option(min=1, help="Images per batch.", metavar="N")] = None,
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda or mps. Default: machine.device.", metavar="DEVICE")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict labeled images with a model, and write the predictions for `regnas compare` and `regnas gallery`."""
    from regnas.runtime.files import check_output

    check_output(out, ".npz", overwrite)  # before torch is imported
    from regnas.prediction.predicting import predict as run
    from regnas.report.kit.formatting import percent
    from regnas.runtime.signals import postponed_signals

    with postponed_signals():
        predictions = run(
            model,
            data,
            out=out,
            split=split,
            weights=weights,
            checkpoint=checkpoint,
            batch_size=batch_size,
            device=device,
            overwrite=overwrite,
        )
        say(f"{out}: {predictions.model}, {len(predictions):,} samples, Top-1 {percent(predictions.accuracy)} %")


@app.command()
def gallery(
    old: Annotated[Path, typer.Argument(help="Predictions of the old model.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="Predictions of the new model.", metavar="NEW")],
    data: Annotated[str, typer.Option(help=Data, metavar="DATA")],
    out: Annotated[Path, typer.Option(help="The page, an HTML file.", metavar="PATH")],
    more: Annotated[
        list[Path] | None,
        typer.Argument(help="Predictions of further models, to find suspect labels.", metavar="[MORE]..."),
    ] = None,
    split: SplitChoice = "report",
    most: Annotated[
        int, typer.Option(min=1, help="The largest number of pictures; the worst flips come first.", metavar="N")
    ] = 2000,
    overwrite: Overwrite = False,
) -> None:
    """Show the pictures that a new model broke: the old model predicts them correctly, and the new one does not."""
    from regnas.prediction.gallery import gallery as make
    from regnas.runtime.signals import postponed_signals

    with postponed_signals():
        found = make(old, new, data, more=more or (), out=out, split=split, most=most, overwrite=overwrite)
        shown = f"the worst {len(found.flips):,} of them" if len(found.flips) < found.all_flips else "all of them"
        suspects = "" if found.no_suspects else f", {found.all_suspects:,} with suspect labels"
        say(f"{out}: {found.all_flips:,} negative flips{suspects}; the page shows {shown}")
