from __future__ import annotations

import onnx
import pytest
import torch
from onnx import TensorProto, helper

from regnas.errors import ArtifactError
from regnas.family.manifest.metadata import metadata_of
from regnas.family.onnx_models import INPUT, OUTPUT, read_onnx


def write_network(path, sides):
    """A network that only reshapes 64 pixels to ``sides``."""
    shape = helper.make_tensor("shape", TensorProto.INT64, [len(sides)], sides)
    images = helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["batch", 1, 8, 8])
    logits = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", 64])
    graph = helper.make_graph(
        [helper.make_node("Reshape", [INPUT, "shape"], [OUTPUT])], "x", [images], [logits], [shape]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(
        model, metadata_of("x", {"mean": [0.5], "std": [0.5]}, [f"class {number}" for number in range(64)], (1, 8, 8))
    )
    path.write_bytes(onnx.ModelProto.SerializeToString(model))


def test_a_network_that_cannot_be_run_is_refused_by_name(tmp_path):
    path = tmp_path / "x.onnx"
    write_network(path, [0, 64])
    assert read_onnx(path).network(torch.zeros(2, 1, 8, 8)).shape == (2, 64)
    write_network(path, [7, 64])  # seven images for every input
    network = read_onnx(path).network
    with pytest.raises(ArtifactError, match=r"x\.onnx is damaged: it cannot be run: "):
        network(torch.zeros(2, 1, 8, 8))
