"""Networks as files: what is in them, and that they are the same function of the images."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from regnas.errors import EnvironmentProblem
from regnas.family.export import require_packages
from regnas.family.export.onnx_files import int8_bytes, onnx_bytes, onnx_network
from regnas.family.export.torch_export_files import torch_export_bytes, torch_export_network
from regnas.family.manifest import metadata_of
from supernets.images import Resize
from supernets.layers import ConvNorm, InvertedBottleneck, PooledFeatures

pytestmark = pytest.mark.slow

SHAPE = (3, 40, 40)
CLASSES = ("cat", "<b>dög</b>", "x")
METADATA = metadata_of("small", {"mean": [0.1, 0.2, 0.3], "std": [1.0, 1.0, 1.0]}, CLASSES, SHAPE)
KINDS = {"onnx": (onnx_bytes, onnx_network), "torch-export": (torch_export_bytes, torch_export_network)}


@pytest.fixture(scope="module")
def network():
    """What the spaces have of operations, with statistics that are not all the same."""
    torch.manual_seed(0)
    built = nn.Sequential(
        Resize(32),
        ConvNorm(3, 8, 3, 2, activation="hardswish"),
        InvertedBottleneck(8, 16, 8, 5, 1, "relu", True, "identity"),
        PooledFeatures(8, 16, 24, "hardswish"),
        nn.Linear(24, len(CLASSES)),
    )
    for module in built.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.normal_(module.running_mean, std=0.1)
    return built.eval()


@pytest.fixture(scope="module", params=KINDS)
def exported(request, network, tmp_path_factory):
    write, read = KINDS[request.param]
    path = tmp_path_factory.mktemp("exported") / f"small.{request.param}"
    path.write_bytes(write(network, SHAPE, METADATA))
    return path, read(path), lambda: write(network, SHAPE, METADATA)


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_a_file_is_the_same_function_for_any_number_of_images(exported, network, batch):
    images = torch.randn(batch, *SHAPE, generator=torch.Generator().manual_seed(batch))
    with torch.no_grad():
        expected = network(images)
    assert expected.abs().max() > 0.01
    torch.testing.assert_close(exported[1](images), expected, rtol=1e-4, atol=1e-4)


def test_writing_again_gives_the_same_bytes_and_none_of_them_say_where_they_were_made(exported):
    path, _, write = exported
    content = path.read_bytes()
    assert write() == content
    texts = [content]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            texts = [archive.read(name) for name in archive.namelist()]
    for trace in (b'File "', b"supernets", b"site-packages", str(path.parent).encode()):
        assert not any(trace in text for text in texts)


def test_onnx_files_describe_themselves(network):
    model = onnx.load_from_string(onnx_bytes(network, SHAPE, METADATA))
    found = {entry.key: entry.value for entry in model.metadata_props}
    assert found == METADATA
    assert json.loads(found["regnas.classes"]) == list(CLASSES)
    assert json.loads(found["regnas.input_shape"]) == [3, 40, 40]
    (images,), (logits,) = model.graph.input, model.graph.output
    assert (images.name, logits.name) == ("images", "logits")
    assert images.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    sizes = [dimension.dim_param or dimension.dim_value for dimension in images.type.tensor_type.shape.dim]
    assert sizes == ["batch", 3, 40, 40]
    assert "BatchNormalization" not in {node.op_type for node in model.graph.node}


def test_torch_export_files_hold_the_metadata_and_no_pickle(network):
    with zipfile.ZipFile(io.BytesIO(torch_export_bytes(network, SHAPE, METADATA))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    extra = {name.partition("extra/")[2]: text.decode() for name, text in members.items() if "/extra/" in name}
    assert extra == METADATA
    for name, content in members.items():
        assert not content.startswith((b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05")), name


def test_quantized_files_have_eight_bit_weights_with_a_scale_for_each_channel(network, tmp_path):
    random = np.random.default_rng(0)
    content = onnx_bytes(network, SHAPE, METADATA)
    images = random.normal(size=(40, *SHAPE)).astype(np.float32)
    quantized = int8_bytes(content, images, METADATA)
    model = onnx.load_from_string(quantized)
    assert {entry.key: entry.value for entry in model.metadata_props} == METADATA
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    scales = {node.input[0]: values[node.input[1]] for node in model.graph.node if node.op_type == "DequantizeLinear"}
    filters = {name: values[name] for name in scales if name in values and values[name].ndim == 4}
    assert len(filters) == sum(node.op_type == "Conv" for node in model.graph.node)
    for name, weight in filters.items():
        assert weight.dtype == np.int8
        assert scales[name].shape == (len(weight),)
    path = tmp_path / "small.int8.onnx"
    path.write_bytes(quantized)
    assert onnx_network(path)(torch.from_numpy(images[:3])).shape == (3, len(CLASSES))
    assert int8_bytes(content, images, METADATA) == quantized


def test_the_missing_packages_of_onnx_are_named_in_one_line(monkeypatch):
    monkeypatch.setattr("regnas.family.export.formats.find_spec", lambda name: None if name == "onnxruntime" else name)
    require_packages(["torch-export"])
    with pytest.raises(EnvironmentProblem) as refused:
        require_packages(["torch-export", "onnx"])
    assert str(refused.value) == "ONNX files need onnxruntime. Run: pip install 'regnas[onnx]'"
    assert refused.value.exit_code == 5
