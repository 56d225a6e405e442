"""What every registered supernet has to satisfy; a new plug-in is tested without an edit here."""

from __future__ import annotations

from random import Random

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regnas.space import Budget, BudgetSampler, contains
from regnas.supernet import supernet_plugins
from regnas.training import calibrate

SHAPE = (1, 16, 16)
CLASSES = 7
PLUGINS = supernet_plugins()


@pytest.fixture(params=sorted(PLUGINS), scope="module")
def plugin(request):
    return PLUGINS[request.param]()


@pytest.fixture(scope="module")
def space(plugin):
    return plugin.space(SHAPE, CLASSES)


@pytest.fixture(scope="module")
def supernet(plugin):
    torch.manual_seed(0)
    return plugin.supernet(SHAPE, CLASSES)


@pytest.fixture(scope="module")
def architectures(space):
    """Spread over the whole range of costs."""
    low, high = space.macs_range
    step = (high - low) // 8
    random = Random(0)
    drawn = [BudgetSampler(space, Budget(low + i * step, low + (i + 1) * step)).sample(random) for i in range(8)]
    return [space.smallest, space.largest, *drawn]


@pytest.fixture(scope="module")
def images():
    return torch.randn(16, *SHAPE, generator=torch.Generator().manual_seed(1))


def test_analytic_costs_are_those_that_torch_counts(plugin, space, architectures):
    for architecture in architectures:
        network = plugin.network(architecture, SHAPE, CLASSES).eval()
        with FlopCounterMode(display=False) as counter:
            network(torch.zeros(1, *SHAPE))
        cost = space.cost(architecture)
        assert cost.macs == counter.get_total_flops() // 2
        assert cost.parameters == sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize("training", [True, False])
def test_running_inside_the_supernet_is_running_on_its_own(supernet, architectures, images, training):
    supernet.train(training)
    for architecture in architectures:
        alone = supernet.extract(architecture)
        assert alone.training == training
        torch.testing.assert_close(supernet(images, architecture), alone(images), rtol=1e-4, atol=1e-5)


def test_the_architecture_is_no_hidden_state(supernet, architectures, images):
    supernet.eval()
    before = supernet(images, architectures[0])
    supernet(images, architectures[1])
    assert torch.equal(supernet(images, architectures[0]), before)


def test_contained_networks_are_leading_slices(supernet, space):
    """On extracted tensors, apart from the statistics of batch norm, for 100 pairs drawn above a floor."""
    random = Random(1)
    low, high = space.macs_range
    floors = BudgetSampler(space, Budget(low, (low + high) // 3))
    for _ in range(100):
        small = floors.sample(random)
        large = BudgetSampler(space.above(small), Budget(space.cost(small).macs, high)).sample(random)
        assert contains(large, small)
        assert not uncovered(supernet.extract(large), supernet.extract(small))


def test_networks_that_are_not_contained_have_a_tensor_that_is_no_slice(supernet, space):
    random = Random(2)
    anywhere = BudgetSampler(space, Budget(*space.macs_range))
    outside = 0
    for _ in range(100):
        small, large = anywhere.sample(random), anywhere.sample(random)
        if not contains(large, small):
            outside += 1
            assert uncovered(supernet.extract(large), supernet.extract(small))
    assert outside > 80  # the space is large enough for containment to mean something


def uncovered(large, small):
    """The weights of the small network that are not leading slices of the large one's."""
    weights = large.state_dict()
    missing = []
    for name, tensor in small.state_dict().items():
        if "running" in name or "num_batches" in name:
            continue
        slices = tuple(slice(size) for size in tensor.shape)
        if name not in weights or not torch.equal(weights[name][slices], tensor):
            missing.append(name)
    return missing


def test_random_pairs_at_two_budgets_rarely_satisfy_containment(space):
    random = Random(3)
    _, high = space.macs_range
    small_budget, large_budget = (Budget(int(centre * 0.98), int(centre * 1.02)) for centre in (high / 8, high / 4))
    small, large = BudgetSampler(space, small_budget), BudgetSampler(space, large_budget)
    pairs = [(large.sample(random), small.sample(random)) for _ in range(500)]
    assert sum(contains(*pair) for pair in pairs) < 25


def test_training_one_architecture_moves_its_own_slices_only(supernet, space, images):
    supernet.train()
    supernet.zero_grad()
    supernet(images, space.smallest).sum().backward()
    shapes = {name: tensor.shape for name, tensor in supernet.extract(space.smallest).named_parameters()}
    for name, parameter in supernet.largest.named_parameters():
        gradient = parameter.grad
        if gradient is None:
            assert name not in shapes
            continue
        outside = gradient.clone()
        outside[tuple(slice(size) for size in shapes[name])] = 0
        assert not outside.any()


def test_calibrating_a_sub_network_leaves_the_supernet_untouched(supernet, space, images):
    before = {name: tensor.clone() for name, tensor in supernet.state_dict().items()}
    calibrate(supernet.extract(space.smallest), images)
    for name, tensor in supernet.state_dict().items():
        assert torch.equal(tensor, before[name])
