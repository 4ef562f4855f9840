"""Collectives as operators: gradients to second order are those of the one-process program.

Each case has two forms. In the first, two processes call the collective on their own x; the loss of each is a
nonlinear function of what it gets. In the second, one process computes both values from both x with slices and sums,
and the sum of both losses.
"""

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import differentiable

pytestmark = pytest.mark.servers


def inputs():
    generator = np.random.default_rng(3)
    return [generator.normal(size=(4, 3)) for _ in range(2)]


def zeros(x):
    return paddle.zeros(x.shape, dtype=x.dtype)


def swapped_unevenly(x):
    sizes = ([1, 3], [1, 2]) if dist.get_rank() == 0 else ([2, 2], [3, 2])
    return differentiable.alltoall(x, *sizes)


OPS = dist.ReduceOp
CASES = {
    "all_reduce": (lambda x: differentiable.all_reduce(x), lambda a, b: (a + b, a + b)),
    "average": (lambda x: differentiable.all_reduce(x, OPS.AVG), lambda a, b: ((a + b) / 2, (a + b) / 2)),
    "maximum": (lambda x: differentiable.all_reduce(x, OPS.MAX), lambda a, b: (paddle.maximum(a, b),) * 2),
    "minimum": (lambda x: differentiable.all_reduce(x, OPS.MIN), lambda a, b: (paddle.minimum(a, b),) * 2),
    "product": (lambda x: differentiable.all_reduce(x, OPS.PROD), lambda a, b: (a * b, a * b)),
    "all_gather": (lambda x: differentiable.all_gather(x), lambda a, b: (paddle.concat([a, b]),) * 2),
    "reduce_scatter": (lambda x: differentiable.reduce_scatter(x), lambda a, b: ((a + b)[:2], (a + b)[2:])),
    "broadcast": (lambda x: differentiable.broadcast(x, 1), lambda a, b: (b, b)),
    "reduce": (lambda x: differentiable.reduce(x, 1), lambda a, b: (zeros(a), a + b)),
    "gather": (
        lambda x: differentiable.gather(x, 0),
        lambda a, b: (paddle.concat([a, b]), paddle.zeros([8, 3], dtype="float64")),
    ),
    "scatter": (lambda x: differentiable.scatter(x, 1), lambda a, b: (b[:2], b[2:])),
    "alltoall": (
        lambda x: differentiable.alltoall(x),
        lambda a, b: (paddle.concat([a[:2], b[:2]]), paddle.concat([a[2:], b[2:]])),
    ),
    "uneven alltoall": (
        swapped_unevenly,
        lambda a, b: (paddle.concat([a[:1], b[:2]]), paddle.concat([a[1:], b[2:]])),
    ),
}


def loss_of(value):
    return (value.sin() * value).sum()


def derivatives(name):
    """Value, gradient of the sum of both losses by this rank's x, and its derivative along a direction."""
    x = paddle.to_tensor(inputs()[dist.get_rank()], stop_gradient=False)
    value = CASES[name][0](x)
    (first,) = paddle.grad(loss_of(value), [x], create_graph=True)
    (second,) = paddle.grad((first * first.cos()).sum(), [x])
    return value.numpy(), first.numpy(), second.numpy()


@pytest.mark.parametrize("name", CASES)
def test_to_second_order(workers, name):
    both = [paddle.to_tensor(array, stop_gradient=False) for array in inputs()]
    values = CASES[name][1](*both)
    unread = sum(
        0 * (x * x * x).sum() for x in both
    )  # a process whose x has no effect has zeros as its gradient
    first = paddle.grad(loss_of(values[0]) + loss_of(values[1]) + unread, both, create_graph=True)
    second = paddle.grad(sum((g * g.cos()).sum() for g in first), both)
    for rank, answers in enumerate(workers(2)(derivatives, name)):
        for answer, expected in zip(answers, (values[rank], first[rank], second[rank]), strict=True):
            np.testing.assert_allclose(answer, expected.numpy(), rtol=1e-12, atol=1e-12)


def ties():
    x = paddle.to_tensor([1.0, dist.get_rank()], stop_gradient=False)
    differentiable.all_reduce(x, OPS.MAX).sum().backward()
    return x.grad.tolist()


def test_a_maximum_that_both_have_is_shared(workers):
    assert workers(2)(ties) == [[1, 0], [1, 2]]  # two losses of gradient 1 each


def test_one_process(ready):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    differentiable.all_gather(differentiable.all_reduce(x * x)).sum().backward()
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(ValueError, match="reduce_scatter: expected rows for 1 processes"):
        differentiable.reduce_scatter(paddle.to_tensor(1.0))
    with pytest.raises(ValueError, match="all_reduce: expected a Tensor as x"):
        differentiable.all_reduce(3)
