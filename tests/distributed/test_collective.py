"""paddle.distributed with one process. What lists and tensors hold afterwards is what real Paddle 3.3.1 gave with two
processes on gloo, with one entry in place of two; before `init_parallel_env` it raises RuntimeError, as here."""

import subprocess
import sys
import time

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import environment, fleet


@pytest.fixture
def x():
    return paddle.to_tensor([1.0, 2.0])


def test_facts():
    assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized(), dist.is_available()) == (
        0,
        1,
        False,
        True,
    )
    env = dist.ParallelEnv()
    assert (env.rank, env.local_rank, env.world_size, env.nranks, env.dev_id, env.nrings) == (
        0,
        0,
        1,
        1,
        0,
        1,
    )
    assert (env.current_endpoint, env.trainer_endpoints, env.device_type) == ("", [""], "")
    modes = dist.ParallelMode
    assert (modes.DATA_PARALLEL, modes.TENSOR_PARALLEL, modes.PIPELINE_PARALLEL, modes.SHARDING_PARALLEL) == (
        0,
        1,
        2,
        3,
    )
    ops = dist.ReduceOp
    assert (ops.SUM, ops.MAX, ops.MIN, ops.PROD, ops.AVG) == (0, 1, 2, 3, 4)
    assert dist.get_group() is None
    assert not dist.parallel.parallel_helper._is_parallel_ctx_initialized()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dist.all_reduce(x), lambda x: dist.barrier(), lambda x: dist.broadcast(x, 0), lambda x: dist.reduce(x, 0),
        lambda x: dist.all_gather([], x), lambda x: dist.all_gather_object([], 1), lambda x: dist.scatter(x, [x]),
        lambda x: dist.get_backend(), lambda x: dist.destroy_process_group(), lambda x: dist.send(x), lambda x: dist.recv(x),
    ],
)  # fmt: skip  # a table
def test_before_init_as_in_paddle(call, x, monkeypatch):
    monkeypatch.setitem(environment.state, "initialized", False)
    with pytest.raises(RuntimeError, match="global group is not initialized"):
        call(x)


def test_exchanges(ready, x):
    largest = dist.reduce(x, 0, dist.ReduceOp.MAX)
    for task in (dist.all_reduce(x), dist.broadcast(x, 0), largest, dist.all_reduce(x, sync_op=False)):
        assert task.wait()
        assert task.is_completed()
    assert x.tolist() == [1, 2]
    for listed in ([], [paddle.zeros([2])]):
        dist.all_gather(listed, x)
        assert [t.tolist() for t in listed] == [[1, 2]]
        assert listed[0] is not x
        listed[0][0] = 9.0
        assert x.tolist() == [1, 2]  # its own memory
    for out, call in (
        (paddle.zeros([2]), lambda o: dist.scatter(o, [x], src=0)),
        (paddle.zeros([2]), lambda o: dist.reduce_scatter(o, [x])),
        (paddle.zeros([2]), lambda o: dist.alltoall_single(o, x)),
    ):
        call(out)
        assert out.tolist() == [1, 2]
    out = []
    dist.alltoall(out, [x])
    dist.gather(x, out, dst=0)
    assert [t.tolist() for t in out] == [[1, 2]]
    objects = [3]
    assert dist.all_gather_object(objects, {"a": 1}) is None
    assert objects == [3, {"a": 1}]
    dist.broadcast_object_list(objects, 0)
    dist.scatter_object_list(objects, ["q"], 0)
    assert objects == ["q"]
    assert dist.barrier() is None
    assert dist.get_backend() == "GLOO"
    group = dist.new_group([0])
    assert (dist.get_rank(group), dist.get_world_size(group), group.ranks, dist.get_group(group.id)) == (
        0,
        1,
        [0],
        group,
    )
    assert dist.all_reduce(x, group=group).wait()
    dist.destroy_process_group()
    assert dist.get_group(group.id) is None


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: dist.all_reduce(3), ValueError, "all_reduce: expected a Tensor"),
        (lambda x: dist.all_reduce(x, op="sum"), ValueError, "Unknown reduce_op type for sum"),
        (lambda x: dist.all_gather([x, x], x), RuntimeError, "all_gather: .* 1 process, got 2"),
        (lambda x: dist.scatter(x, [x, x]), RuntimeError, "scatter: expected a list of 1 Tensor"),
        (lambda x: dist.broadcast(x, 1), RuntimeError, "broadcast: process 1 does not exist"),
        (lambda x: dist.send(x, 1), RuntimeError, "send: process 1"),
        (lambda x: dist.irecv(x, 1), RuntimeError, "recv: process 1"),
        (lambda x: dist.new_group([0, 1]), RuntimeError, r"new_group: the processes \[1\]"),
        (lambda x: dist.spawn(print, nprocs=0), ValueError, "nprocs: expected a positive number"),
        (lambda x: dist.spawn(print, nprocs=2, gpu="0"), ValueError, "spawn: unknown option 'gpu'"),
        (lambda x: dist.all_reduce(x, group=5), TypeError, "expected a Group"),
    ],
)
def test_what_needs_another_process_says_so(ready, x, call, error, text):
    with pytest.raises(error, match=text):
        call(x)


def test_an_environment_of_two_without_an_address_is_refused(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    assert (dist.get_rank(), dist.get_world_size()) == (1, 2)
    with pytest.raises(ValueError, match="PADDLE_MASTER"):
        dist.init_parallel_env()
    with pytest.warns(UserWarning, match="names 2 processes and no servers: each works alone"):
        fleet.init()
    assert (fleet.worker_index(), fleet.worker_num()) == (0, 1)


def test_spawn_runs_here():
    seen = []
    assert dist.spawn(seen.append, args=(1,), nprocs=1).join()
    dist.spawn(seen.append, (2,))
    assert seen == [1, 2]


def test_the_imports_of_public_programs():
    program = (
        "import sys, torch; before = set(sys.modules)\n"
        "import sampan; sampan.compat.install()\n"
        "assert not [name for name in set(sys.modules) - before if 'distributed' in name]\n"
        "import paddle, paddle.distributed as dist, paddle.distributed.fleet as fleet\n"
        "import paddle.distributed.fleet.base.role_maker as role_maker, paddle.distributed.fleet.data_generator\n"
        "from paddle.distributed import ParallelEnv, fleet as same\n"
        "from paddle.distributed.parallel import ParallelEnv, parallel_helper\n"
        "from paddle.distributed.fleet.utils import recompute\n"
        "from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients\n"
        "from paddle.distributed.fleet.utils.fs import LocalFS, HDFSClient\n"
        "from paddle.distributed.collective import _get_default_group\n"
        "from paddle.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup\n"
        "from paddle.distributed.fleet.meta_parallel import ColumnParallelLinear, TensorParallel\n"
        "from paddle.distributed.fleet.meta_parallel.parallel_layers.random import get_rng_state_tracker\n"
        "from paddle.distributed.fleet.layers.mpu.mp_layers import VocabParallelEmbedding\n"
        "from paddle.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_parallel_optimizer import "
        "HybridParallelOptimizer\n"
        "from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model\n"
        "assert fleet is same and dist is paddle.distributed is sampan.distributed\n"
        "assert paddle.distributed.communication.stream.all_reduce and 'torch.distributed.elastic' not in sys.modules\n"
        "assert paddle.distributed.parallel.parallel_helper._is_parallel_ctx_initialized() is False\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def into_what_is_sent():
    """Tensors that are received into and sent in one call, as in PaddlePaddle's example of `scatter`."""
    rank = dist.get_rank()
    for _ in range(4):  # after the second call they are not compared, and rank 1 begins first
        first, second = (paddle.arange(3) + 10 * k + 100 * rank for k in (1, 2))
        time.sleep(0.2 * (1 - rank))
        dist.scatter(first, [first, second] if rank == 1 else None, src=1)
    outs = [paddle.zeros([2]), paddle.full([2], rank + 1.0)]
    own = outs[1] if rank == 0 else paddle.full([2], rank + 1.0)
    dist.gather(own, outs if rank == 0 else None, dst=0)
    each = [paddle.full([2], rank + 1.0), paddle.zeros([2])]
    dist.all_gather(each, each[1 - rank] if rank else each[0])
    return first.tolist(), [out.tolist() for out in outs], [one.tolist() for one in each]


@pytest.mark.servers
def test_a_tensor_that_is_received_into_may_be_sent_too(workers):
    (first, gathered, each), (second, _, also) = workers(2)(into_what_is_sent)
    assert (first, second) == ([110, 111, 112], [120, 121, 122])
    assert gathered == [[1.0, 1.0], [2.0, 2.0]]
    assert each == also == [[1.0, 1.0], [2.0, 2.0]]


def test_names_of_groups_inside_paddle(ready):
    group = dist.collective._get_global_group()
    assert dist.collective._is_global_group(group) and group.ranks == [0]
    assert dist.collective._get_or_throw_group_rank(0, group) == 0
    with pytest.raises(AssertionError, match="The input rank 3 can not be found inside the group"):
        dist.collective._get_or_throw_group_rank(3, group)
