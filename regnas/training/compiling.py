"""torch.compile for a network that is trained alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from regnas.errors import EnvironmentProblem
from regnas.training.objective import Objective
from regnas.training.single_network import SingleNetwork


@contextmanager
def compiled(model: nn.Module, objective: Objective) -> Iterator[None]:
    """Compile calls of the network inside the block, if the graph is the same in every step.

    A supernet is a different network in every step and would be compiled again and again. The same holds for a network
    whose features are read through a hook, or whose weights are mixed first. Parameters and their names do not change.
    """
    if not (isinstance(objective, SingleNetwork) and objective.is_one_graph):
        yield
        return
    from torch._dynamo.exc import TorchDynamoException  # the import takes a second

    model.compile()
    try:
        yield
    except TorchDynamoException as error:
        summary = str(getattr(error, "inner_exception", error)).partition("\n")[0]
        raise EnvironmentProblem(
            f"the network cannot be compiled ({summary}): torch.compile needs a C++ compiler on the CPU and triton on "
            "CUDA. Install it, or set training.compile to false."
        ) from None
    finally:
        model._compiled_call_impl = None  # later calls run in other modes and sizes
