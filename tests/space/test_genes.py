from __future__ import annotations

from random import Random

from regnas.space import gene_choices
from tests.space.toy import enumerate_space, sized_space, toy_space


def genes_that_occur(space):
    found = {}
    for network in enumerate_space(space):
        for name, value in network.genes().items():
            found.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in found.items()}


def test_the_choices_are_the_genes_that_architectures_have():
    assert gene_choices(toy_space()) == genes_that_occur(toy_space())
    assert gene_choices(sized_space()) == genes_that_occur(sized_space())


def test_a_narrower_space_has_fewer():
    space = sized_space()
    floor = Random(4).choice([network for network in enumerate_space(space) if sum(network.depths) == 3])
    narrow = gene_choices(space.above(floor))
    for name, value in floor.genes().items():
        if name != "resolution":  # has no weights, so that nothing need contain it
            assert min(narrow[name]) == value
    assert narrow["resolution"] == [1, 2, 3]
