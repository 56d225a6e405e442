"""Write networks as torch.export programs (``.pt2``).

``torch.export.load`` unpickles parts of a file. Files written here have no such parts (weights are plain bytes,
examples of inputs are left out), but a file from elsewhere may. Therefore regnas loads only a file that the same
process has just written, to measure it. No other command reads a ``.pt2``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

# Traces of the source code of the network, with local paths; running it does not need them.
_TRACES = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn")


def torch_export_bytes(network: nn.Module, input_shape: tuple[int, int, int], metadata: Mapping[str, str]) -> bytes:
    """Export a network for any number of images [batch, C, H, W], with the metadata as extra files."""
    batch = torch.export.Dim("batch")
    program = torch.export.export(network, (torch.zeros(2, *input_shape),), dynamic_shapes=({0: batch},))
    for node in program.graph.nodes:
        for trace in _TRACES:
            node.meta.pop(trace, None)
    program.example_inputs = None  # they would be pickled
    sink = io.BytesIO()  # a path would become part of the content
    torch.export.save(program, sink, extra_files=dict(metadata))
    return sink.getvalue()


def torch_export_network(path: Path) -> Callable[[Tensor], Tensor]:
    """Open a file as a function of images; only for a file that this process has just written."""
    module = torch.export.load(path).module()

    def run(images: Tensor) -> Tensor:
        with torch.no_grad():
            logits: Tensor = module(images)
        return logits

    return run
