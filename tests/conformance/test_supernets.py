"""Requirements on every registered supernet; a new plug-in is tested without an edit here."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from random import Random

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from regnas.networks import classifier_of, residual_norms
from regnas.space import Budget, BudgetSampler, Stage, contains
from regnas.supernet import SUPERNETS
from regnas.training import calibrate

CLASSES = 7
PLUGINS = SUPERNETS
USUAL_SHAPE = (3, 32, 32)
SHAPES = {"elastic_resnet": (1, 16, 16), "ofa_mobilenet_v3_small": (1, 16, 16)}
# Narrow ones of the published spaces: the same code and the same choices, with fewer numbers to copy and to compare.
SETTINGS = {
    "ofa_mobilenet_v3": {"width_multiplier": 0.5},
    "ofa_proxyless": {"width_multiplier": 0.5},
    "ofa_resnet50": {"widths": (0.1, 0.15, 0.2)},
}
# With a ratio for a gene, a wide block of a small ratio may have the tensors of a narrow one of a larger ratio.
RATIOS = {"elastic_resnet"}


@pytest.fixture(params=sorted(PLUGINS), scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def plugin(name):
    return PLUGINS[name](**SETTINGS.get(name, {}))


@pytest.fixture(scope="module")
def shape(name):
    return SHAPES.get(name, USUAL_SHAPE)


@pytest.fixture(scope="module")
def space(plugin, shape):
    return plugin.space(shape, CLASSES)


@pytest.fixture(scope="module")
def supernet(plugin, shape):
    """With statistics and factors of batch norm that are not all the same."""
    torch.manual_seed(0)
    supernet = plugin.supernet(shape, CLASSES)
    for module in supernet.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.normal_(module.running_mean, std=0.1)
    return supernet


@pytest.fixture(scope="module")
def architectures(space):
    """Spread over the whole range of costs."""
    low, high = space.macs_range
    step = (high - low) // 4
    random = Random(0)
    drawn = [BudgetSampler(space, Budget(low + i * step, low + (i + 1) * step)).sample(random) for i in range(4)]
    return [space.smallest, space.largest, *drawn]


@pytest.fixture(scope="module")
def images(shape):
    return torch.randn(8, *shape, generator=torch.Generator().manual_seed(1))


def test_the_space_is_named_like_the_plug_in_and_has_its_ends(name, space):
    assert space.name == name
    for architecture in (space.smallest, space.largest):
        space.check(architecture)


def test_plug_ins_can_be_sent_to_other_processes(plugin):
    assert pickle.loads(pickle.dumps(plugin)) == plugin


def test_analytic_costs_are_those_that_torch_counts(plugin, shape, space, architectures):
    for architecture in architectures:
        network = plugin.network(architecture, shape, CLASSES).eval()
        with FlopCounterMode(display=False) as counter:
            network(torch.zeros(1, *shape))
        cost = space.cost(architecture)
        assert cost.macs == counter.get_total_flops() // 2
        assert cost.parameters == sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize("training", [True, False])
def test_running_inside_the_supernet_is_running_on_its_own(supernet, architectures, images, training):
    supernet.train(training)
    for architecture in architectures:
        alone = supernet.extract(architecture)
        assert all(module.training == training for module in alone.modules())
        torch.testing.assert_close(supernet(images, architecture), alone(images), rtol=1e-4, atol=1e-5)


def test_the_architecture_is_not_hidden_state(supernet, architectures, images):
    supernet.eval()
    before = supernet(images, architectures[0])
    supernet(images, architectures[1])
    assert torch.equal(supernet(images, architectures[0]), before)


def test_an_extracted_network_is_laid_out_like_a_fresh_one(plugin, shape, supernet, architectures):
    for architecture in architectures[:3]:
        fresh, extracted = plugin.network(architecture, shape, CLASSES), supernet.extract(architecture)
        assert {name: tensor.shape for name, tensor in fresh.state_dict().items()} == {
            name: tensor.shape for name, tensor in extracted.state_dict().items()
        }
        assert str(fresh) == str(extracted)
        fresh.load_state_dict(extracted.state_dict())
        assert classifier_of(extracted, CLASSES).out_features == CLASSES


def test_extracted_weights_are_copies(supernet, space):
    before = {name: tensor.clone() for name, tensor in supernet.state_dict().items()}
    with torch.no_grad():
        for tensor in supernet.extract(space.largest).state_dict().values():
            tensor.zero_()
    assert all(torch.equal(tensor, before[name]) for name, tensor in supernet.state_dict().items())


def test_the_parts_of_a_network_are_the_network(supernet, architectures, images):
    """One before the blocks, one for each block and one after them, none of which changes what it is given."""
    supernet.eval()
    for architecture in architectures[:4]:
        network = supernet.extract(architecture)
        parts = network.parts()
        assert len(parts) == len(list(architecture.blocks())) + 2
        x = images
        for part in parts:
            given = x.clone()
            after = part(x)
            assert torch.equal(x, given)
            x = after
        assert torch.equal(x, network(images))


def test_every_batch_norm_is_registered_right_after_its_convolution(supernet, space):
    """So that the batch norm can be folded into it."""
    for parent in supernet.extract(space.largest).modules():
        children = list(parent.children())
        for index, child in enumerate(children):
            if isinstance(child, nn.BatchNorm2d):
                assert isinstance(children[index - 1], nn.Conv2d)
                assert children[index - 1].out_channels == child.num_features


@pytest.mark.slow
def test_the_ends_of_residual_branches_are_those_of_the_sub_networks(supernet, space):
    """So that a supernet and a network that is trained alone can start in the same way."""
    changed = copy.deepcopy(supernet)
    for norm in residual_norms(changed):
        nn.init.zeros_(norm.weight)
    for architecture in (space.smallest, space.largest):
        alone = changed.extract(architecture)
        zero = [norm for norm in alone.modules() if isinstance(norm, nn.BatchNorm2d) and not norm.weight.any()]
        assert zero == residual_norms(alone) != []


def test_containment_is_that_of_the_tensors(supernet, space):
    """On extracted tensors, for more than 500 random pairs: contained exactly if all are leading slices."""
    random = Random(1)
    by_kernel = {size: supernet.extract(of_size.largest).state_dict() for size, of_size in kernel_spaces(space).items()}
    chains = [nested(space, random, length=10) for _ in range(3)]
    weights = {architecture: supernet.extract(architecture).state_dict() for chain in chains for architecture in chain}
    nested_pairs = [pair[::-1] for chain in chains for pair in combinations(chain, 2)]
    any_pairs = random.sample(list(permutations(weights, 2)), 500)
    assert all(contains(*pair) for pair in nested_pairs)
    assert sum(not contains(*pair) for pair in any_pairs) > 300
    for large, small in nested_pairs + any_pairs:
        contained = contains(large, small)
        if contained or space.name not in RATIOS:
            assert contained != any(uncovered(weights[large], weights[small], by_kernel))
    assert len(nested_pairs) > 100


def nested(space, random, length):
    """Architectures each of which contains those before it, in steps of about the same cost, without repetitions."""
    low, high = space.macs_range
    first = BudgetSampler(space, Budget(low, low + (high - low) // 4)).sample(random)
    last = BudgetSampler(space.above(first), Budget((low + high) // 2, high)).sample(random)
    chain = [first]
    for left in range(length - 2, 0, -1):
        between = space.above(chain[-1]).below(last)
        cost, target = space.cost(chain[-1]).macs, space.cost(last).macs
        chain.append(BudgetSampler(between, Budget(cost, cost + (target - cost) // left)).sample(random))
    chain.append(last)
    return [*(small for small, large in pairwise(chain) if small != large), last]


def kernel_spaces(space):
    """The networks all of whose kernels have one size, for each size there is."""
    blocks = [block for stage in space.stages for options in stage.options for block in options]
    sizes = {block["kernel"] for block in blocks if "kernel" in dict(block.genes)}

    def of_size(stage, size):
        return Stage(
            stage.min_depth,
            tuple(
                tuple(block for block in options if dict(block.genes).get("kernel", size) == size)
                for options in stage.options
            ),
        )

    return {size: replace(space, stages=tuple(of_size(stage, size) for stage in space.stages)) for size in sizes}


def uncovered(large, small, by_kernel):
    """Return the names of weights of the small network that are not leading slices of those of the large one.

    A kernel that is smaller than the large network's comes from the same base as that one; so it is a leading slice of
    what the base gives for kernels of its size.
    """
    for name, tensor in small.items():
        if "running" in name or "num_batches" in name:
            continue
        other = large.get(name)
        if other is not None and tensor.ndim == 4 and tensor.shape[-1] < other.shape[-1]:
            other = by_kernel[tensor.shape[-1]][name]
        if other is None or not torch.equal(other[tuple(slice(size) for size in tensor.shape)], tensor):
            yield name


def test_random_pairs_at_two_budgets_rarely_satisfy_containment(space):
    random = Random(3)
    low, high = space.macs_range
    centers = (low + (high - low) * part for part in (0.15, 0.3))
    small, large = (BudgetSampler(space, Budget(int(c * 0.98), int(c * 1.02))) for c in centers)
    pairs = [(large.sample(random), small.sample(random)) for _ in range(500)]
    assert sum(contains(*pair) for pair in pairs) < 25


def test_training_one_architecture_moves_its_own_slices_only(supernet, space, images):
    """Checked in the largest network, whose channels and blocks beyond those of the small one stay unchanged."""
    supernet.train()
    supernet.zero_grad()
    supernet(images, space.smallest).square().sum().backward()
    before = supernet.extract(space.largest).state_dict()
    with torch.no_grad():
        for parameter in supernet.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad.sign()
    moved = {name: tensor != before[name] for name, tensor in supernet.extract(space.largest).named_parameters()}
    shapes = {name: tensor.shape for name, tensor in supernet.extract(space.smallest).named_parameters()}
    for name, changed in moved.items():
        assert changed.any() == (name in shapes)
        if name in shapes:
            changed[tuple(slice(size) for size in shapes[name][:2])] = False  # kernels of all sizes share their base
            assert not changed.any()


def test_calibrating_a_sub_network_leaves_the_supernet_untouched(supernet, space, images):
    before = {name: tensor.clone() for name, tensor in supernet.state_dict().items()}
    calibrate(supernet.extract(space.smallest), images)
    for name, tensor in supernet.state_dict().items():
        assert torch.equal(tensor, before[name])


@pytest.mark.parametrize(("height", "width"), [(33, 33), (48, 29)])
def test_costs_hold_for_sizes_that_do_not_halve_evenly(plugin, shape, height, width):
    odd = (shape[0], height, width)
    space = plugin.space(odd, CLASSES)
    network = plugin.network(space.smallest, odd, CLASSES).eval()
    with FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, *odd))
    assert space.cost(space.smallest).macs == counter.get_total_flops() // 2
