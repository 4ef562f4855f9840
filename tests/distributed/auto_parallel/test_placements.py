"""Placements: texts and answers as those of PaddlePaddle 3.3.1."""

import pytest

import sampan.distributed as dist
from sampan.distributed.auto_parallel import placements
from sampan.distributed.auto_parallel.placements import from_torch, to_torch


def test_what_a_placement_says():
    shard, copy, term = dist.Shard(0), dist.Replicate(), dist.Partial()
    assert (str(shard), str(copy), str(term)) == ("Shard(dim=0)", "Replicate()", "Partial(reduce_type=SUM)")
    assert str(dist.Partial(dist.ReduceType.kRedMax)) == "Partial(reduce_type=MAX)"
    assert shard.is_shard() and shard.is_shard(0) and not shard.is_shard(1) and shard.get_dim() == 0
    assert [p.is_replicated() for p in (shard, copy, term)] == [False, True, False]
    assert [p.is_partial() for p in (shard, copy, term)] == [False, False, True]
    assert term.reduce_type() == dist.ReduceType.kRedSum and str(term.reduce_type()) == "ReduceType.kRedSum"
    assert all(isinstance(p, dist.Placement) for p in (shard, copy, term))


def test_placements_compare_by_what_they_say():
    assert dist.Shard(0) == dist.Shard(0) != dist.Shard(1)
    assert dist.Partial() != dist.Partial(dist.ReduceType.kRedAvg) and dist.Replicate() == dist.Replicate()
    assert len({dist.Shard(1), dist.Shard(1), dist.Replicate(), dist.Partial()}) == 3


def test_to_torch_and_back():
    mesh = dist.ProcessMesh([[0, 1], [2, 3]])
    kinds = [dist.ReduceType(i) for i in range(5)]
    for lies in ([dist.Shard(1), dist.Replicate()], *([dist.Partial(kind), dist.Shard(0)] for kind in kinds)):
        assert from_torch(to_torch("f", lies, mesh, 2)) == lies
    assert from_torch(to_torch("f", [dist.Shard(-1)], mesh, 2)) == [dist.Shard(1), dist.Replicate()]
    # as in PaddlePaddle's example of save_state_dict: axes that the mesh does not have
    assert from_torch(to_torch("f", [dist.Shard(0), *[dist.Replicate()] * 3], mesh, 2)) == [
        dist.Shard(0),
        dist.Replicate(),
    ]


@pytest.mark.parametrize(
    ("lies", "text"),
    [
        ([dist.Shard(2)], r"Shard\(dim=2\) of a tensor with 2 axes; expected -2 to 1"),
        ([dist.Replicate(), dist.Shard(0)], "expected 1, one for each axis of the mesh, got 2"),
        ([dist.Partial(dist.ReduceType.kRedAny)], "ANY"),
    ],
)
def test_placements_that_do_not_fit(lies, text):
    with pytest.raises(ValueError, match=text):
        to_torch("f", lies, dist.ProcessMesh([0, 1]), 2)


def test_what_is_no_placement():
    with pytest.raises(TypeError, match="expected Shard, Replicate or Partial, got int"):
        to_torch("f", [0], dist.ProcessMesh([0]), 2)
    with pytest.raises(TypeError, match="expected a list, got Shard"):
        to_torch("f", dist.Shard(0), dist.ProcessMesh([0]), 2)
    with pytest.raises(TypeError, match="expected an int, got str"):
        dist.Shard("x")


def test_axes_of_tensor_and_mesh():
    """PaddlePaddle 3.3.1's answers."""
    mesh = dist.ProcessMesh([[0, 1, 2], [3, 4, 5]], dim_names=["x", "y"])
    assert str(placements.to_placements([1, -1, 0], mesh)) == "[Shard(dim=2), Shard(dim=0)]"
    assert str(placements.to_placements([-1, 1], mesh, [0])) == "[Partial(reduce_type=SUM), Shard(dim=1)]"
    found = placements.to_dim_map([dist.Shard(2), dist.Partial()], 3)
    assert found == ([-1, -1, 0], {1: dist.ReduceType.kRedSum})
    assert placements.get_shard_spec(mesh, [dist.Shard(2), dist.Replicate()], 3) == [None, None, "x"]
    same = placements.check_placements_equal
    assert same([dist.Shard(0)], [dist.Shard(0), dist.Replicate()])
    assert not same([dist.Shard(0)], [dist.Shard(1)]) and not same([], [dist.Partial()])
    with pytest.raises(ValueError, match="axis 0 of the mesh: expected one placement, got Partial"):
        placements.to_placements([0], mesh, [0])
    with pytest.raises(AssertionError, match="expected two lists"):
        same((), [])
