"""`group.process_group`, as programs call it."""

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import collective
from sampan.engine.errors import InvalidArgument


def exchanges():
    group = collective._get_default_group()
    own, rank = group.process_group, dist.get_rank()
    t, found = paddle.to_tensor([1.0 * rank, 2.0]), {}
    gathered, listed = paddle.empty([4]), [paddle.empty([2]), paddle.empty([2])]
    own.all_gather(t, gathered).wait()
    own.all_gather(listed, t, True)  # the other order
    found["all_gather"] = gathered.tolist(), [part.tolist() for part in listed]
    for name, op in (
        ("all_reduce", paddle.base.core.ReduceOp.MAX),
        ("allreduce", paddle.base.core.ReduceOp.SUM),
    ):
        value = t.clone()
        getattr(own, name)(value, op).wait()
        found[name] = value.tolist()
    value = t.clone()
    own.reduce(value, 1).wait()
    found["reduce"] = value.tolist()
    value = t.clone()
    own.broadcast(value, 1).wait()
    found["broadcast"] = value.tolist()
    value = paddle.empty([2])
    own.alltoall(t, value).wait()
    found["alltoall"] = value.tolist()
    value = paddle.empty([1])
    own.reduce_scatter(value, t, paddle.base.core.ReduceOp.SUM, True)
    found["reduce_scatter"] = value.tolist()
    own.scatter(t, value, 0).wait()
    found["scatter"] = value.tolist()
    own.gather(t, gathered, 0).wait()
    found["gather"] = gathered.tolist()
    if rank == 0:
        own.send(t, 1).wait()
    else:
        own.recv(value := paddle.empty([2]), 0).wait()
        found["recv"] = value.tolist()
    own.barrier().wait()
    found["facts"] = own.rank(), own.size(), own.name(), group.process_group is own
    with pytest.raises(
        InvalidArgument, match=r"process_group.alltoall: expected 2 Tensors, or one of 2 equal"
    ):
        own.alltoall(paddle.ones([3]), paddle.ones([3]))
    return found


@pytest.mark.servers
def test_two_processes(workers):
    for rank, found in enumerate(workers(2)(exchanges)):
        assert found["all_gather"] == ([0, 2, 1, 2], [[0, 2], [1, 2]])
        assert (found["all_reduce"], found["allreduce"], found["broadcast"]) == ([1, 2], [1, 4], [1, 2])
        assert found["alltoall"] == ([0, 1] if rank == 0 else [2, 2])
        assert (found["reduce_scatter"], found["scatter"]) == ([[1], [4]][rank], [[0], [2]][rank])
        assert found["facts"] == (rank, 2, "GLOO", True)
        if rank == 1:
            assert (found["reduce"], found["recv"]) == ([1, 4], [0, 2])
        else:
            assert found["gather"] == [0, 2, 1, 2]


def test_a_group_of_one_has_none():
    assert dist.Group().process_group is None
