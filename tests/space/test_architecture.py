from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.errors import ArtifactError
from regnas.space import Architecture, Block, contains
from tests.space.toy import enumerate_space, toy_space

ALL = enumerate_space(toy_space())
architectures = st.sampled_from(ALL)


def architecture(*stages):
    return Architecture("toy", tuple(tuple(Block.of(width=w, k=k) for w, k in stage) for stage in stages))


def test_containment_asks_for_depth_and_for_every_gene_of_every_active_block():
    small = architecture([(2, 1)], [(4, 3)])
    assert contains(architecture([(2, 1), (3, 1)], [(4, 3)]), small)
    assert contains(architecture([(2, 3)], [(4, 3), (4, 1)]), small)
    assert not contains(architecture([(2, 3)], []), small)  # a stage less deep
    assert not contains(architecture([(2, 3)], [(4, 1)]), small)  # one gene smaller
    assert not contains(architecture([(1, 3), (2, 1)], [(4, 3)]), small)  # the same blocks, but not in the same place


def test_other_spaces_never_contain():
    small = architecture([(2, 1)], [(4, 3)])
    assert not contains(Architecture("other", small.stages), small)


@given(architectures, architectures, architectures)
def test_containment_is_a_partial_order(a, b, c):
    assert contains(a, a)
    if contains(a, b) and contains(b, a):
        assert a == b
    if contains(a, b) and contains(b, c):
        assert contains(a, c)


@given(architectures)
def test_json_round_trip_is_the_same_value_with_the_same_id(a):
    back = Architecture.from_json(json.loads(json.dumps(a.to_json())))
    assert back == a
    assert back.id == a.id


def test_ids_tell_all_architectures_of_a_space_apart():
    assert len({a.id for a in ALL}) == len(ALL)


def test_the_order_in_which_genes_are_given_does_not_matter():
    assert Block.of(width=2, k=3) == Block.of(k=3, width=2)


def test_genes_are_flat_and_only_those_of_active_blocks():
    assert architecture([(2, 1)], []).genes() == {
        "stage1.depth": 1,
        "stage2.depth": 0,
        "stage1.block1.k": 1,
        "stage1.block1.width": 2,
    }


@pytest.mark.parametrize("value", [{}, {"space": "toy"}, {"space": "toy", "stages": [[1]]}, None, [1]])
def test_an_invalid_architecture_is_refused(value):
    with pytest.raises(ArtifactError, match="not an architecture"):
        Architecture.from_json(value)
