"""Processes on a GPU: one with every collective, and two that share it, over gloo."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import environment, stream
from tests.distributed.pool import Pool
from tests.gpu import programs
from tests.gpu.places import GPU, here, needs_gpu, on

pytestmark = [*needs_gpu, pytest.mark.servers]


@pytest.fixture(scope="module")
def two() -> Iterator[Pool]:
    pool = Pool(2)
    yield pool
    pool.close()


def test_one_process(monkeypatch):
    monkeypatch.setitem(environment.state, "initialized", False)
    with pytest.warns(UserWarning, match="one process"):
        dist.init_parallel_env()

    def program():
        x = paddle.arange(4, dtype="float32")
        dist.all_reduce(x, dist.ReduceOp.AVG)
        dist.broadcast(x, 0)
        dist.reduce(x, 0)
        gathered, swapped = [], []
        dist.all_gather(gathered, x)
        dist.alltoall(swapped, [x])
        part, joined, whole = paddle.zeros([4]), paddle.zeros([4]), paddle.zeros([4])
        dist.reduce_scatter(part, [x])
        stream.all_gather(joined, x)
        stream.scatter(whole, x, 0)
        stream.all_reduce(x, use_calc_stream=True)
        dist.wait(x)
        dist.barrier()
        model = paddle.DataParallel(paddle.nn.Linear(4, 2))
        model(x).sum().backward()
        here(model.parameters()[0].grad)
        return [x, *gathered, *swapped, part, joined, whole]

    for found in on(GPU, program):
        here(found)
        assert found.tolist() == [0, 1, 2, 3]


def test_collectives(two):
    first, second = two(programs.collectives)
    sums = [10, 12, 14, 16]
    both = {
        "SUM": [sums], "MAX": [[10, 11, 12, 13]], "MIN": [[0, 1, 2, 3]], "PROD": [[0, 11, 24, 39]], "AVG": [[5, 6, 7, 8]],
        "float16": [sums], "bfloat16": [sums], "float64": [sums], "int32": [sums], "int64": [sums], "bool": [[1, 1, 1, 1]],
        "complex64": [sums], "broadcast": [[10, 11, 12, 13]], "all_gather": [[0, 1, 2, 3], [10, 11, 12, 13]],
        "stream.all_gather": [[0, 1, 2, 3, 10, 11, 12, 13]], "stream.all_reduce": [sums],
        "strides": [[[0, 9], [3, 12], [6, 15]]], "objects": [[0, 6], [1, 46]],
    }  # fmt: skip  # one row of fields to a line
    own = {
        "reduce": ([sums], [[10, 11, 12, 13]]), "gather": ([[0, 1, 2, 3], [10, 11, 12, 13]], []), "scatter": ([[0, 1]], [[2, 3]]),
        "reduce_scatter": ([[10, 12]], [[14, 16]]), "alltoall": ([[0, 1], [10, 11]], [[2, 3], [12, 13]]),
        "alltoall_single": ([[0, 1, 10, 11]], [[2, 3, 12, 13]]), "send": ([[10, 11, 12, 13]], [[0, 1, 2, 3]]),
        "isend": ([[10, 11, 12, 13]], [[0, 1, 2, 3]]), "stream.reduce_scatter": ([[10, 12]], [[14, 16]]),
    }  # fmt: skip  # one row of fields to a line
    assert first == {**both, **{name: values[0] for name, values in own.items()}}
    assert second == {**both, **{name: values[1] for name, values in own.items()}}


@pytest.mark.parametrize("kind", ["mlp", "convolutions", "rows"])
def test_data_parallel_beside_torch(two, kind):
    for found in two(programs.beside_torch, kind):
        losses = np.array(found)
        np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=1e-9)
        assert losses[-1, 0] < losses[0, 0]


@pytest.mark.parametrize("name", ["HalfPrecision", "TopK", "LowRank", "LocalSGD", "DiLoCo"])
def test_fewer_bytes(two, name):
    for first, last, apart in two(programs.compressed, name):
        assert last < 0.7 * first
        assert apart < 1e-6


@pytest.mark.parametrize("level", ["os", "os_g", "p_g_os"])
def test_state_in_parts_and_a_checkpoint(two, tmp_path, level):
    for (apart,) in two(programs.sharded, level, str(tmp_path)):
        assert apart < 1e-12
