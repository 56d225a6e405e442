from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import load, save

from regnas.errors import ArtifactError
from regnas.runtime.safetensors_headers import HEADER_LIMIT, map_tensors, read_header, with_metadata

ARRAYS = st.sampled_from(["<f4", "<f8", "<f2", "<i8", "|u1"]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
)


@given(st.dictionaries(st.text("abc.é", min_size=1, max_size=6), ARRAYS, min_size=1, max_size=4))
def test_mapped_tensors_are_those_that_safetensors_reads(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("mapped") / "x.safetensors"
    path.write_bytes(with_metadata(save(tensors), {"b": "é", "a": "<1>"}))
    mapped = map_tensors(path)
    for name, tensor in load(path.read_bytes()).items():
        assert mapped[name].dtype == tensor.dtype
        np.testing.assert_array_equal(mapped[name], tensor)
    assert mapped.keys() == tensors.keys()
    with safe_open(path, "np") as opened:
        assert opened.metadata() == {"a": "<1>", "b": "é"}


def test_metadata_is_written_in_one_order_for_every_given_order():
    content = save({"x": np.zeros(3, dtype=np.float32)})
    metadata = {str(number): "text" for number in range(20)}
    assert with_metadata(content, metadata) == with_metadata(content, dict(reversed(metadata.items())))


def file_of(header, data=b"\0" * 8, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(shape, offsets, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "has 0 bytes"),
        (file_of({"x": entry([2], [0, 8])}, length=2**63), "9,223,372,036,854,775,808 bytes"),
        (file_of({"x": entry([2], [0, 8])}, length=80), "header of 80 bytes"),
        (file_of(b"{x}"), "not JSON"),
        (file_of(b"[" * 100_000), "not JSON"),
        (file_of([1]), "not a table"),
        (file_of({"__metadata__": {"a": 1}, "x": entry([2], [0, 8])}), "not a table of texts"),
        (file_of({"x": entry([2**40], [0, 8])}), "does not fill its 8 bytes"),
        (file_of({"x": entry([2**40], [0, 2**42])}), "end at byte"),
        (file_of({"x": entry([-2], [0, 8])}), "not integers"),
        (file_of({"x": entry([2.0], [0, 8])}), "not integers"),
        (file_of({"x": entry([2], [0, 8], "PICKLE")}), "cannot be understood"),
        (file_of({"x": 5}), "cannot be understood"),
        (file_of({"x": entry([1], [0, 4])}), "end at byte"),
        (file_of({"x": entry([1], [4, 8])}), "begins at byte"),
        (file_of({"x": entry([2], [0, 8]), "y": entry([1], [4, 8])}), "begins at byte"),
    ],
)
def test_a_false_header_is_refused_before_anything_is_allocated(tmp_path, content, problem):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="is not a safetensors file") as refused:
        map_tensors(path)
    assert problem in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_header_of_gigabytes_in_a_sparse_file_is_not_read(tmp_path):
    path = tmp_path / "x.safetensors"
    with path.open("wb") as sink:
        sink.write((HEADER_LIMIT + 1).to_bytes(8, "little"))
        sink.truncate(2**33)
    with pytest.raises(ArtifactError, match="is not a safetensors file"):
        read_header(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ArtifactError, match=r"x\.safetensors is missing"):
        read_header(tmp_path / "x.safetensors")
