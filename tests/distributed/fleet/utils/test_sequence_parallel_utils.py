"""Sequence parallelism within tensor parallelism, beside the layers of one process."""

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import fleet, traffic
from sampan.distributed.fleet.utils import sequence_parallel_utils as sequence
from sampan.engine.errors import InvalidArgument

pytestmark = pytest.mark.servers
TIME, BATCH, WIDTH, HIDDEN = 8, 2, 6, 12


def start():
    paddle.set_default_dtype("float64")
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"mp_degree": dist.get_world_size(), "dp_degree": 1}
    fleet.init(is_collective=True, strategy=strategy)
    return fleet.get_hybrid_communicate_group().get_model_parallel_group()


def drawn(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


class Block(nn.Layer):
    """A norm and two Linears; `parallel`: on parts of the time axis."""

    def __init__(self, parallel):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        if parallel:
            self.a = sequence.ColumnSequenceParallelLinear(WIDTH, HIDDEN, has_bias=True, gather_output=False)
            self.b = sequence.RowSequenceParallelLinear(HIDDEN, WIDTH, has_bias=True, input_is_parallel=True)
            for parameter in self.norm.parameters():
                sequence.mark_as_sequence_parallel_parameter(parameter)
        else:
            self.a, self.b = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.b(self.a(self.norm(x)).tanh())


def own(parameter, value, group):
    return (
        np.split(value, group.nranks, parameter.split_axis)[group.rank] if parameter.is_distributed else value
    )


def trained(passes):
    """The largest differences of value, input's gradient and parameters' gradients from one process."""
    group = start()
    parts, whole = Block(True), Block(False)
    for number, (mine, all_) in enumerate(zip(parts.parameters(), whole.parameters(), strict=True)):
        value = drawn(all_.shape, number)
        all_.set_value(value)
        mine.set_value(own(mine, value, group))
    sequence.register_sequence_parallel_allreduce_hooks(parts, passes, False)
    differences = []
    for number in range(passes):
        x, given = (
            paddle.to_tensor(drawn([TIME, BATCH, WIDTH], 50 + number), stop_gradient=False) for _ in range(2)
        )
        y = sequence.GatherOp.apply(parts(sequence.ScatterOp.apply(x)))
        expected = whole(given)
        (y.tanh() ** 2).sum().backward()
        (expected.tanh() ** 2).sum().backward()
        differences += [np.abs(y.numpy() - expected.numpy()).max()]
        differences += [np.abs(x.grad.numpy() - given.grad.numpy()).max()]
    for mine, all_ in zip(parts.parameters(), whole.parameters(), strict=True):
        differences.append(np.abs(mine.grad.numpy() - own(mine, all_.grad.numpy(), group)).max())
    return max(differences)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("passes", [1, 2])
def test_values_and_gradients_are_those_of_one_process(workers, count, passes):
    assert max(workers(count)(trained, passes)) < 1e-12


def exchanged():
    """The functions and operators by themselves, and the gradient of the sum over the processes."""
    group = start()
    x = paddle.arange(8, dtype="float64").reshape([4, 2]) * (group.rank + 1)
    plain = [f(x).tolist() for f in (sequence.scatter, sequence.all_gather, sequence.reduce_scatter)]
    gradients = []
    for kind in (sequence.ScatterOp, sequence.GatherOp, sequence.AllGatherOp, sequence.ReduceScatterOp):
        leaf = x.clone().detach()
        leaf.stop_gradient = False
        value = kind.apply(leaf)
        (value * (group.rank + 1.0)).sum().backward()
        gradients.append(leaf.grad[:, 0].tolist())
    texts = []
    for call in (
        lambda: sequence.ScatterOp.apply(paddle.ones([3, 1])),
        lambda: sequence.ColumnSequenceParallelLinear(2, 2),
        lambda: sequence.RowSequenceParallelLinear(2, 2, input_is_parallel=False),
    ):
        with pytest.raises((AssertionError, InvalidArgument)) as caught:
            call()
        texts.append(str(caught.value))
    return plain, gradients, texts


def test_the_operators(workers):
    x = np.arange(8.0).reshape(4, 2)
    for rank, (plain, gradients, texts) in enumerate(workers(2)(exchanged)):
        mine = slice(2 * rank, 2 * rank + 2)
        assert plain == [
            (x * (rank + 1))[mine].tolist(),
            np.concatenate([x, 2 * x]).tolist(),
            (3 * x)[mine].tolist(),
        ]
        # rank r weights its value with r + 1
        assert gradients == [[1.0, 1.0, 2.0, 2.0], [rank + 1.0] * 4, [3.0] * 4, [1.0, 1.0, 2.0, 2.0]]
        assert "Input sequence length 3 can't be divided exactly by sequence parallelism 2" in texts[0]
        assert "gather_output: expected False" in texts[1]
        assert "input_is_parallel: expected True" in texts[2]


def sent():
    start()
    layer = sequence.ColumnSequenceParallelLinear(WIDTH, HIDDEN, has_bias=False, gather_output=False)
    x = paddle.ones([TIME // 2, BATCH, WIDTH])
    x.stop_gradient = False
    traffic.reset()
    layer(x).sum().backward()
    return {name: counted.payload for name, counted in traffic.totals().items()}


def test_bytes(workers):
    """A gather forward and a reduce_scatter backward (Korthikanti et al. 2022, section 4.2.2)."""
    part = TIME // 2 * BATCH * WIDTH * 8
    assert workers(2)(sent) == [{"all_gather": part, "reduce_scatter": 2 * part}] * 2
