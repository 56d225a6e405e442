from __future__ import annotations

import pytest
import torch

from regnas.errors import EnvironmentProblem, Interrupted
from regnas.losses import BackwardCompatible
from regnas.runtime import signals
from regnas.training import FeatureTerm, Mixing, SingleNetwork
from tests.training.test_accumulation import one_thread
from tests.training.together import Watched, network, trainer

__all__ = ["one_thread"]


@pytest.fixture
def runs_counted(monkeypatch):
    """Compiling, with a backend that compiles nothing and counts its graphs and their runs: no compiler is needed."""
    graphs, runs = [], []

    def backend(graph, inputs):
        graphs.append(graph)

        def run(*arguments):
            runs.append(len(graphs))
            return graph(*arguments)

        return run

    compile_plainly = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: compile_plainly(module, backend=backend))
    torch._dynamo.reset()
    return graphs, runs


def test_a_network_trained_alone_is_compiled_once_and_run_so_in_every_step(tmp_path, runs_counted):
    graphs, runs = runs_counted
    plain, compiled = network(), network()
    trainer().train(plain, SingleNetwork(), (0,), tmp_path / "plain", "")
    assert not graphs
    trainer(compile=True).train(compiled, SingleNetwork(), (0,), tmp_path / "compiled", "")
    assert (len(graphs), len(runs)) == (1, 8)
    for name, tensor in plain.state_dict().items():
        torch.testing.assert_close(compiled.state_dict()[name], tensor)
    compiled.eval()(torch.zeros(1, 1, 8, 8))
    assert len(runs) == 8  # afterwards it is itself again


def test_checkpoints_are_those_of_the_network_itself(tmp_path, runs_counted):
    """Interrupted while compiled, and continued by the plain one."""
    unbroken = network()
    trainer().train(unbroken, SingleNetwork(), (0,), tmp_path / "unbroken", "")
    signals.ask_to_stop(15)
    with pytest.raises(Interrupted):
        trainer(compile=True).train(network(), SingleNetwork(), (0,), tmp_path / "broken", "")
    signals._received.clear()
    resumed = network()
    trainer().train(resumed, SingleNetwork(), (0,), tmp_path / "broken", "")
    for name, tensor in unbroken.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], tensor)


@pytest.mark.parametrize("kind", ["features", "mixing", "other"])
def test_what_is_another_graph_in_every_step_is_not_compiled(tmp_path, runs_counted, kind):
    graphs, _ = runs_counted
    weights = {name: parameter.detach().clone() for name, parameter in network().named_parameters()}
    objective = {
        "features": SingleNetwork(feature_terms=[FeatureTerm(BackwardCompatible(), 1.0, network().eval(), 3, 3)]),
        "mixing": SingleNetwork(mixing=Mixing(weights, 0.5, (0,))),
        "other": Watched(SingleNetwork()),
    }[kind]
    trainer(compile=True).train(network(), objective, (0,), tmp_path, "")
    assert not graphs


def test_a_machine_that_cannot_compile_is_told_in_one_line(tmp_path, monkeypatch):
    def backend(graph, inputs):
        raise RuntimeError("no compiler here\nand much more")

    compile_plainly = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: compile_plainly(module, backend=backend))
    torch._dynamo.reset()
    with pytest.raises(EnvironmentProblem, match=r"compiled \(.*no compiler here.*training\.compile") as error:
        trainer(compile=True).train(network(), SingleNetwork(), (0,), tmp_path, "")
    assert "\n" not in str(error.value)
