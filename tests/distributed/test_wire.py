"""Collectives between real processes: values against NumPy, bytes against their formulas."""

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import traffic

pytestmark = pytest.mark.servers

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
    "complex64",
    "complex128",
]
SHAPES = [(3, 4), (), (0, 2), (5,)]


def values(rank, shape, dtype):
    """Small integers that differ from rank to rank."""
    numbers = (np.arange(np.prod(shape, dtype=int)).reshape(shape) * (rank + 1) + rank) % 5
    return paddle.to_tensor(numbers + (1j * rank if "complex" in dtype else 0)).astype(dtype)


def as_numpy(tensor):
    return tensor.astype("float32").numpy() if tensor.dtype == paddle.bfloat16 else tensor.numpy()


REDUCED = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum, "PROD": np.multiply}


def reduced(op, dtype, shape):
    tensor = values(dist.get_rank(), shape, dtype)
    task = dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
    assert task.wait()
    return as_numpy(tensor), str(tensor.dtype)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("op", REDUCED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_reduce(workers, count, op, dtype):
    if "complex" in dtype and op != "SUM":
        for outcome in workers(count).outcomes(reduced, op, dtype, (2,)):
            assert isinstance(outcome, ValueError)
        return
    for shape in SHAPES if op == "SUM" else SHAPES[:1]:
        expected = as_numpy(values(0, shape, dtype))
        for rank in range(1, count):
            expected = REDUCED[op](expected, as_numpy(values(rank, shape, dtype)))
        for answer, name in workers(count)(reduced, op, dtype, shape):
            assert name == f"paddle.{dtype}"
            np.testing.assert_array_equal(answer, expected)


def averaged(dtype):
    tensor = values(dist.get_rank(), (3, 4), dtype)
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    return as_numpy(tensor)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_the_average_of_whole_numbers_is_cut(workers, dtype):
    total = sum(as_numpy(values(rank, (3, 4), dtype)) for rank in range(2))
    for answer in workers(2)(averaged, dtype):
        np.testing.assert_array_equal(answer, total // 2 if dtype == "int32" else total / 2)


def moved(dtype, shape):
    """What each rank has after every collective that moves values."""
    rank, count = dist.get_rank(), dist.get_world_size()
    own, last = values(rank, shape, dtype), count - 1
    gathered, at_last, exchanged = [], [], []
    dist.all_gather(gathered, own)
    dist.gather(own, at_last if rank == last else None, dst=last)
    dist.alltoall(exchanged, [values(10 * rank + other, shape, dtype) for other in range(count)])
    sent, part = own.clone(), paddle.zeros(shape, dtype=dtype)
    dist.broadcast(sent, src=last)
    dist.scatter(part, [values(20 + r, shape, dtype) for r in range(count)] if rank == 0 else None, src=0)
    lists = [gathered, at_last, exchanged, [sent], [part]]
    return [[(as_numpy(t), str(t.dtype)) for t in tensors] for tensors in lists]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_moves_values(workers, count, dtype):
    for shape in SHAPES[:3]:
        everyone = list(range(count))
        for rank, answers in enumerate(workers(count)(moved, dtype, shape)):
            sources = [
                everyone,
                everyone if rank == count - 1 else [],
                [10 * other + rank for other in everyone],
                [count - 1],
                [20 + rank],
            ]
            for answer, source in zip(answers, sources, strict=True):
                assert len(answer) == len(source)
                for (array, name), origin in zip(answer, source, strict=True):
                    assert name == f"paddle.{dtype}"
                    np.testing.assert_array_equal(array, as_numpy(values(origin, shape, dtype)))


def reductions_to_one():
    rank = dist.get_rank()
    at_one, part = values(rank, (4,), "float32"), paddle.zeros([2])
    dist.reduce(at_one, dst=1)
    dist.reduce_scatter(part, [values(rank + 5 * r, (2,), "float32") for r in range(dist.get_world_size())])
    return at_one.numpy(), part.numpy()


@pytest.mark.parametrize("count", [2, 3])
def test_reduce_and_reduce_scatter(workers, count):
    for rank, (at_one, part) in enumerate(workers(count)(reductions_to_one)):
        own = [values(r, (4,), "float32").numpy() for r in range(count)]
        np.testing.assert_array_equal(at_one, sum(own) if rank == 1 else own[rank])  # the others keep theirs
        np.testing.assert_array_equal(
            part, sum(values(r + 5 * rank, (2,), "float32").numpy() for r in range(count))
        )


def own_parts(dtype, op):
    part = paddle.zeros([3], dtype=dtype)
    parts = [values(dist.get_rank() + 5 * r, (3,), dtype) for r in range(dist.get_world_size())]
    dist.reduce_scatter(part, parts, getattr(dist.ReduceOp, op))
    return as_numpy(part)


@pytest.mark.parametrize("op", [*REDUCED, "AVG"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int16", "bool"])
def test_reduce_scatter_of_each_dtype(workers, dtype, op):
    if (dtype, op) == ("bool", "AVG"):
        assert all(isinstance(one, ValueError) for one in workers(2).outcomes(own_parts, dtype, op))
        return
    for rank, answer in enumerate(workers(2)(own_parts, dtype, op)):
        own = [as_numpy(values(r + 5 * rank, (3,), dtype)) for r in range(2)]
        if op == "AVG":
            expected = (own[0] + own[1]) // 2 if dtype == "int16" else (own[0] + own[1]) / 2
        else:
            expected = REDUCED[op](*own)
        np.testing.assert_array_equal(answer, expected)


def strided():
    """Exchanges of transposed tensors, which share their memory with others."""
    base = values(dist.get_rank(), (3, 4), "float32")
    turned = paddle.Tensor(base.data.t())
    dist.all_reduce(turned)
    into = [paddle.Tensor(paddle.zeros([3, 4]).data.t()) for _ in range(2)]
    dist.all_gather(into, turned)
    received = paddle.Tensor(paddle.zeros([3, 4]).data.t())
    dist.broadcast(received if dist.get_rank() else turned, 0)
    return base.numpy(), [one.numpy() for one in into], received.numpy()


def test_any_strides(workers):
    total = values(0, (3, 4), "float32").numpy() + values(1, (3, 4), "float32").numpy()
    for rank, (base, into, received) in enumerate(workers(2)(strided)):
        np.testing.assert_array_equal(base, total)
        np.testing.assert_array_equal(into, [total.T, total.T])
        np.testing.assert_array_equal(received, total.T if rank else np.zeros((4, 3)))


def counted():
    count = dist.get_world_size()
    traffic.reset()
    tensor = paddle.ones([6, 4])  # 96 bytes
    dist.all_reduce(tensor)
    first = traffic.step()
    dist.all_gather([], tensor)
    dist.broadcast(tensor, 0)
    dist.reduce_scatter(paddle.ones([4]), [paddle.ones([4])] * count)
    dist.alltoall([], [paddle.ones([2])] * count)
    return first, traffic.step(), traffic.totals()


@pytest.mark.parametrize("count", [2, 3])
def test_bytes_are_counted(workers, count):
    answers = workers(count)(counted)
    for first, second, totals in answers:
        assert first == {"all_reduce": (1, 96, 2 * (count - 1) * 96 // count)}
        assert second["all_gather"] == (1, 96, (count - 1) * 96)
        assert second["reduce_scatter"] == (1, 16 * count, (count - 1) * 16)
        assert second["alltoall"] == (1, 8 * count, 8 * (count - 1))
        assert totals == {**first, **second}
    assert sum(second["broadcast"].wire for _, second, _ in answers) == (count - 1) * 96  # over all processes


def uneven():
    rank = dist.get_rank()
    rows = paddle.to_tensor(np.arange(6, dtype=np.float32).reshape(3, 2) + 10 * rank)
    out = paddle.zeros([2, 2] if rank == 0 else [4, 2])
    dist.alltoall_single(out, rows, [1, 2], [1, 1] if rank == 0 else [2, 2])
    nothing = paddle.zeros([0 if rank else 3, 2])
    sent, sizes = (paddle.zeros([0, 2]), [0, 0]) if rank else (rows, [3, 0])
    dist.alltoall_single(nothing, sent, sizes, sizes)
    return out.numpy(), nothing.numpy()


def test_alltoall_of_uneven_parts(workers):
    rows = [np.arange(6, dtype=np.float32).reshape(3, 2) + 10 * r for r in range(2)]
    (first, all_of_0), (second, none) = workers(2)(uneven)
    np.testing.assert_array_equal(first, [rows[0][0], rows[1][0]])
    np.testing.assert_array_equal(second, [*rows[0][1:], *rows[1][1:]])
    np.testing.assert_array_equal(all_of_0, rows[0])
    assert none.shape == (0, 2)


def not_waited_for():
    tensors = [paddle.full([1000], dist.get_rank() + n) for n in range(5)]
    tasks = [dist.all_reduce(tensor, sync_op=False) for tensor in tensors]
    assert [task.is_sync() for task in tasks] == [False] * 5
    for task in tasks:
        task.wait()
        assert task.is_completed()
    return [float(tensor[0]) for tensor in tensors]


def test_tasks(workers):
    assert workers(2)(not_waited_for) == [[1, 3, 5, 7, 9]] * 2


def on_the_tape():
    """As in PaddlePaddle 3.3.1: a leaf may be written, exchanges are not recorded and count as no version."""
    leaf = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    dist.all_reduce(leaf)
    other = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    square = other * other
    dist.all_reduce(square)
    square.sum().backward()
    gathered = []
    dist.all_gather(gathered, other)
    facts = leaf.stop_gradient, leaf.inplace_version, gathered[0].stop_gradient, gathered[0].is_leaf
    return leaf.tolist(), square.tolist(), other.grad.tolist(), facts


def test_paddles_collectives_are_not_recorded(workers):
    for leaf, square, gradient, facts in workers(2)(on_the_tape):
        assert (leaf, square, gradient) == ([2, 4], [2, 8], [2, 4])
        assert facts == (False, 0, True, True)


def overwritten():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x.exp()  # its derivative reads y
    dist.all_reduce(y)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    return str(caught.value)


def test_a_value_that_backward_reads_is_not_silently_exchanged(workers):
    for text in workers(2)(overwritten):
        assert "exp" in text
