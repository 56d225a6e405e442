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
    """Inside, a call of the network runs the compiled one, where it is the same graph in every step.

    A supernet is another network in every step, and would be compiled again and again; so would one whose features are
    read through a hook, or whose weights are mixed first. Parameters and their names stay those of the network itself.
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
            "CUDA; install it, or set training.compile to false"
        ) from None
    finally:
        model._compiled_call_impl = None  # what comes next runs in other modes and sizes
