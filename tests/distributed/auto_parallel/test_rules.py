"""Every operator with samples, on tensors that are cut over two processes, against the plain call."""

import pytest

from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers
PARTS = 8
# Operators that read memory, of which a process has a part.
REFUSED = {"strided", "reinterpreted", "as_strided"}


@pytest.mark.parametrize("part", range(PARTS))
def test_operators_give_the_same_values_and_gradients(workers, part):
    first, second = workers(2)(programs.table, part, PARTS)
    assert first == second
    assert first["wrong"] == []
    assert set(first["refused"]) <= REFUSED
    assert len(first["equal"]) > len(first["replicated"]) / 3
    assert len(first["equal"]) + len(first["replicated"]) > 70


def test_operators_of_two_tensors_in_every_pair_of_placements(workers):
    assert workers(2)(programs.pairs) == [[], []]


@pytest.mark.parametrize("shape", [(4, 6), (5, 7)])  # the second is cut into parts of different lengths
def test_operators_of_two_tensors_on_a_mesh_of_two_axes(workers, shape):
    assert workers(4)(programs.drawn_pairs, shape, 150) == [[]] * 4


def test_tensors_made_like_another_lie_as_it_does(workers):
    threes = [[3] * 6] * 4
    for cut, whole, terms in workers(2)(programs.filled_like):
        assert cut == [("Shard(dim=1)", [4, 3])] * 4 + [threes]
        assert whole == [("Replicate()", [4, 6])] * 4 + [threes]
        assert terms[:2] == [("Replicate()", [4, 6])] * 2 and terms[-1] == threes
