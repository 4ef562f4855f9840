"""Message passing on whole graphs. The operators have samples in tests/ops/samples/graph.py, and Paddle's functions are
compared with PaddlePaddle's answers in tests/parity."""

import numba
import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.graph import Adjacency, Graph
from sampan.graph.messages import receive, receive_joined, send_to_edges

NODES, EDGES = 50, 400
REDUCERS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}
# What divides is never quite 0 in Paddle.
JOINS = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": lambda x, y: x * (1 / (y + 1e-12))}


def ends():
    rng = np.random.default_rng(0)
    return rng.integers(0, NODES - 5, EDGES), rng.integers(3, NODES, EDGES)


def drawn(*shape, low=-1.0, dtype="float64"):
    return np.random.default_rng(shape).uniform(low, 2.0, shape).astype(dtype)


def reduced(messages, targets, reduce_op):
    places = torch.from_numpy(targets).reshape(-1, *[1] * (messages.ndim - 1)).expand_as(messages)
    zeros = messages.new_zeros(NODES, *messages.shape[1:])
    return zeros.scatter_reduce(0, places, messages, REDUCERS[reduce_op], include_self=False)


def same(ours, theirs, leaves, torch_leaves):
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-12)
    way = np.random.default_rng(5).normal(size=ours.shape)
    ours.backward(paddle.to_tensor(way))
    theirs.backward(torch.from_numpy(way))
    for a, b in zip(leaves, torch_leaves, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("shape", [(), (3,), (64,), (2, 5)])
@pytest.mark.parametrize("reduce_op", REDUCERS)
def test_receive(reduce_op, shape):
    sources, targets = ends()
    if reduce_op in (
        "max",
        "min",
    ):  # where an edge comes twice torch splits the gradient, and Paddle does not
        sources, targets = np.unique(np.stack([sources, targets]), axis=1)
    graph, values = Graph((sources, targets), NODES), drawn(NODES, *shape)
    x, t = paddle.to_tensor(values, stop_gradient=False), torch.tensor(values, requires_grad=True)
    same(receive(x, graph, reduce_op), reduced(t[sources], targets, reduce_op), [x], [t])
    adjacency = Adjacency.from_edges(targets.astype(np.int32), sources.astype(np.int32), NODES, NODES)
    for edges in (graph.routes, adjacency):
        assert (receive(x, edges, reduce_op) == receive(x, graph, reduce_op)).all()


@pytest.mark.parametrize(
    ("x_shape", "y_shape"),
    [((3,), (3,)), ((4, 6), (4, 1)), ((4, 6), (1, 1)), ((4, 6), (6,)), ((4, 1), (4, 6)), ((), ())],
)
@pytest.mark.parametrize("message_op", JOINS)
@pytest.mark.parametrize("reduce_op", REDUCERS)
def test_receive_joined(reduce_op, message_op, x_shape, y_shape):
    sources, targets = ends()
    values, others = drawn(NODES, *x_shape), drawn(EDGES, *y_shape, low=0.5)
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in (values, others))
    t, u = (torch.tensor(v, requires_grad=True) for v in (values, others))
    axes = max(len(x_shape), len(y_shape), 1)
    a, b = ((v if v.ndim > 1 else v[:, None]) for v in (t, u))
    a, b = (v.reshape(len(v), *[1] * (axes + 1 - v.ndim), *v.shape[1:]) if v.ndim > 2 or axes == 1 or v.shape[1] != 1 else v.reshape(len(v), *[1] * axes) for v in (a, b))  # fmt: skip
    theirs = reduced(JOINS[message_op](a[sources], b), targets, reduce_op)
    ours = receive_joined(x, y, Graph((sources, targets), NODES), message_op, reduce_op)
    same(ours, theirs, [x, y], [t, u])


@pytest.mark.parametrize("message_op", JOINS)
def test_send_to_edges(message_op):
    sources, targets = ends()
    values, others = drawn(NODES, 4, 3), drawn(NODES, 4, 1, low=0.5)
    x, y = (paddle.to_tensor(v, stop_gradient=False) for v in (values, others))
    t, u = (torch.tensor(v, requires_grad=True) for v in (values, others))
    ours = send_to_edges(x, y, Graph((sources, targets), NODES), message_op)
    same(ours, JOINS[message_op](t[sources], u[targets]), [x, y], [t, u])


@pytest.mark.parametrize("reduce_op", ["max", "min"])
def test_all_that_sent_the_extreme_get_its_gradient(reduce_op):
    x = paddle.to_tensor([[2.0], [2.0], [3.0]], stop_gradient=False)
    receive(x, Graph([(0, 2), (1, 2), (1, 2), (2, 0)], 3), reduce_op).sum().backward()
    assert x.grad.tolist() == [
        [1.0],
        [2.0],
        [1.0],
    ]  # recorded of PaddlePaddle: geometric.send_u_recv with TIES


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("reduce_op", REDUCERS)
def test_half_precision_adds_up_in_float32(reduce_op, dtype):
    x = paddle.to_tensor(drawn(NODES, 4)).astype(dtype).detach()
    x.stop_gradient = False
    made = receive(x, Graph(ends(), NODES), reduce_op)
    wide = receive(x.astype("float32"), Graph(ends(), NODES), reduce_op)
    assert str(made.dtype).endswith(dtype) and (made == wide.astype(dtype)).all()
    made.sum().backward()
    assert x.grad.dtype == x.dtype


@pytest.mark.parametrize("reduce_op", REDUCERS)
def test_no_sum_depends_on_the_number_of_threads(reduce_op):
    rng, found = np.random.default_rng(2), []
    graph = Graph((rng.integers(0, 2000, 40_000), rng.integers(0, 2000, 40_000)), 2000)
    before = numba.get_num_threads()
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            x = paddle.to_tensor(drawn(2000, 16, dtype="float32"), stop_gradient=False)
            y = paddle.to_tensor(drawn(40_000, 16, dtype="float32"), stop_gradient=False)
            made = receive_joined(x, y, graph, "mul", reduce_op) + receive(x, graph, reduce_op)
            (made * made).sum().backward()
            found.append((made.numpy(), x.grad.numpy(), y.grad.numpy()))
    finally:
        numba.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_messages_of_whole_numbers_and_none():
    graph = Graph([(0, 1), (1, 1), (2, 1)], 3)
    x = paddle.to_tensor([[-1], [-4], [-5]], dtype="int32")
    answers = {"sum": -10, "mean": -3, "max": -1, "min": -5}  # PaddlePaddle's, which truncates
    for reduce_op, answer in answers.items():
        made = receive(x, graph, reduce_op)
        assert made.dtype == x.dtype and made.tolist() == [[0], [answer], [0]]
        assert receive(x, Graph([], 3), reduce_op).tolist() == [[0]] * 3


def test_a_mean_of_joined_whole_numbers_is_truncated_once():
    x, y = paddle.to_tensor([[3], [0]]), paddle.to_tensor([[1], [1], [0]])
    ends = paddle.to_tensor([0, 0, 1]), paddle.to_tensor([0, 0, 0])
    made = paddle.geometric.send_ue_recv(x, y, *ends, "add", "mean")
    assert made.tolist() == [
        [2],
        [0],
    ]  # PaddlePaddle 3.3.1: (4 + 4 + 0) / 3; not 6 / 3 + 2 / 3, each truncated


def test_wrong_arguments_are_refused():
    graph, x = Graph(ends(), NODES), paddle.ones([NODES, 3])
    with pytest.raises(
        ValueError, match="receive: expected one of sum, mean, max, min for reduce_op, got 'prod'"
    ):
        receive(x, graph, "prod")
    with pytest.raises(ValueError, match=r"expected 50 rows, one for each node or edge, got shape \[4, 3\]"):
        receive(paddle.ones([4, 3]), graph)
    with pytest.raises(TypeError, match="expected floating or whole numbers"):
        receive(x > 0, graph)
    with pytest.raises(
        ValueError, match="receive_joined: expected 400 rows, one for each edge, for y, got 7"
    ):
        receive_joined(x, paddle.ones([7, 3]), graph)
    with pytest.raises(ValueError, match="expected a shape that broadcasts with"):
        receive_joined(x, paddle.ones([EDGES, 2]), graph)
    with pytest.raises(ValueError, match="for y, got"):
        receive_joined(x, paddle.ones([EDGES, 3], dtype="float64"), graph)
    with pytest.raises(ValueError, match="send_to_edges: expected one of add, sub, mul, div for message_op"):
        send_to_edges(x, x, graph, "pow")
    with pytest.raises(ValueError, match="expected floating numbers to divide"):
        send_to_edges(x.astype("int64"), x.astype("int64"), graph, "div")
