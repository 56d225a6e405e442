"""The weights of a supernet on their way to another process."""

from __future__ import annotations

import pytest
import torch

from regnas.runtime.workers import WorkerProcess
from regnas.search.evaluation import SupernetWeights

COUNT = 600  # more than the file descriptors that a worker can be sent, one for each shared tensor

_kept: list[SupernetWeights] = []


def keep(weights: SupernetWeights) -> None:
    _kept.append(weights)


def describe(name: str) -> tuple[str, tuple[int, ...], tuple[int, ...], list[float]]:
    tensor = _kept[0].tensors[name]
    return str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.flatten().tolist()


@pytest.mark.slow
def test_any_number_of_tensors_arrives_with_types_values_and_order_in_memory():
    random = torch.Generator().manual_seed(0)
    convolution = torch.randn(3, 4, 2, 2, generator=random)
    tensors = {str(number): torch.randn(number % 7 + 1, generator=random) for number in range(COUNT)}
    tensors |= {
        "channels last": convolution.to(memory_format=torch.channels_last),
        "with gaps": convolution[:, ::2],
        "count": torch.tensor(12345678901),
        "empty": torch.empty(0, 3),
        "half": torch.randn(5, generator=random).half(),
    }
    worker = WorkerProcess(keep, SupernetWeights(None, (1, 8, 8), 3, tensors))
    try:
        for name, tensor in tensors.items():
            dtype, shape, stride, values = worker.submit(describe, name).result()
            assert (dtype, shape, values) == (str(tensor.dtype), tuple(tensor.shape), tensor.flatten().tolist()), name
            assert name == "with gaps" or stride == tensor.stride(), name
    finally:
        worker.close()
