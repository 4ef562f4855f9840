"""Operators of tensor parallelism."""

import pytest
from sampan.distributed.fleet.layers.mpu import mp_ops

import sampan as paddle
from sampan.distributed import Group
from tests.distributed.fleet import parallel_programs as programs


@pytest.mark.servers
def test_values_and_gradients(workers):
    for found in workers(2)(programs.pairs):
        assert max(found) < 1e-15


def test_one_process():
    x = paddle.ones([2])
    for operator in (mp_ops.copied, mp_ops.joined, mp_ops.own_columns, mp_ops.total):
        assert operator(x, Group()) is x
