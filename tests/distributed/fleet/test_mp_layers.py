"""Layers that are cut over two processes: values and gradients of the layers in one."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed import fleet
from sampan.distributed.fleet import meta_parallel
from tests.distributed.fleet import parallel_programs as programs


@pytest.mark.servers
@pytest.mark.parametrize(
    ("kind", "settings", "shape"),
    [
        ("ColumnParallelLinear", {}, [6, 2]),
        ("ColumnParallelLinear", {"gather_output": False, "fuse_matmul_bias": True}, [6, 2]),
        ("RowParallelLinear", {}, [3, 4]),
        ("RowParallelLinear", {"input_is_parallel": True}, [3, 4]),
    ],
)
def test_linear(workers, kind, settings, shape):
    for *differences, found, marked in workers(2)(programs.linear, kind, settings):
        assert max(differences) < 1e-13
        assert found == shape
        assert marked == (kind == "ColumnParallelLinear")


@pytest.mark.servers
def test_embedding(workers):
    for rows, gradient, told in workers(2)(programs.embedding):
        assert rows == 0
        assert gradient < 1e-14
        assert told == "VocabParallelEmbedding: x: expected ids of 0 to 9, got 10 to 10"


@pytest.mark.servers
@pytest.mark.parametrize("ignored", [-100, 3])
def test_cross_entropy(workers, ignored):
    for loss, gradient, shape in workers(2)(programs.cross_entropy, ignored):
        assert max(loss, gradient) < 1e-14
        assert shape == [5, 1]


def test_one_process():
    fleet.init(is_collective=True)
    column = meta_parallel.ColumnParallelLinear(3, 4)
    assert column.bias is None
    assert column.weight.is_distributed is False
    x = paddle.to_tensor(np.ones((2, 3), "float32"))
    assert np.allclose(column(x).numpy(), nn.functional.linear(x, column.weight).numpy())
    row = meta_parallel.RowParallelLinear(3, 4, input_is_parallel=True)
    assert row.bias.tolist() == [0, 0, 0, 0]
    assert row(x).shape == [2, 4]
    table = meta_parallel.VocabParallelEmbedding(5, 2)
    assert table(paddle.to_tensor([4])).tolist() == [table.weight[4].tolist()]
    logits, labels = paddle.to_tensor([[1.0, 2.0, 0.5]]), paddle.to_tensor([1])
    loss = meta_parallel.ParallelCrossEntropy()(logits, labels)
    assert loss.shape == [1, 1]
    assert float(loss) == pytest.approx(float(nn.functional.cross_entropy(logits, labels)), rel=1e-6)
    with pytest.raises(ValueError, match="label: expected 0 to 2 or -100, got 3 to 3"):
        meta_parallel.ParallelCrossEntropy()(logits, paddle.to_tensor([3]))


@pytest.mark.servers
@pytest.mark.parametrize("sums", [True, False])
def test_several_labels(workers, sums):
    for value, gradient in workers(2)(programs.several_labels, sums):
        assert value < 1e-12
        assert gradient < 1e-12


def test_paddles_modules():
    from sampan.distributed.fleet.layers.mpu import mp_ops
    from sampan.distributed.fleet.layers.mpu.mp_layers import RowParallelLinear
    from sampan.distributed.fleet.layers.mpu.random import get_rng_state_tracker
    from sampan.distributed.fleet.meta_parallel.parallel_layers.mp_layers import ColumnParallelLinear

    assert RowParallelLinear is meta_parallel.RowParallelLinear
    assert ColumnParallelLinear is meta_parallel.ColumnParallelLinear
    assert get_rng_state_tracker is meta_parallel.get_rng_state_tracker
    assert fleet.layers.mpu.mp_ops is mp_ops
    assert fleet.meta_parallel is meta_parallel
