"""Segments and softmax over edges. `segment_sum` and its like are compared with PaddlePaddle's answers in
tests/parity."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import geometric
from sampan.graph import Graph
from sampan.graph.segments import segment_softmax, softmax_of_received

IDS = [0, 0, 2, 2, 2, 5]


@pytest.mark.parametrize("reduce_op", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("rows", [0, 1, 50_000])
def test_segments_beside_torch(rows, reduce_op):
    rng = np.random.default_rng(rows)
    ids, values = np.sort(rng.integers(0, rows // 4 + 1, rows)), rng.normal(size=(rows, 5))
    x, t = paddle.to_tensor(values, stop_gradient=False), torch.tensor(values, requires_grad=True)
    made = getattr(geometric, f"segment_{reduce_op}")(x, paddle.to_tensor(ids))
    zeros, places = (
        t.new_zeros(int(ids[-1]) + 1 if rows else 0, 5),
        torch.from_numpy(ids)[:, None].expand(rows, 5),
    )
    kind = {"max": "amax", "min": "amin"}.get(reduce_op, reduce_op)
    expected = zeros.scatter_reduce(0, places, t, kind, include_self=False)
    np.testing.assert_allclose(made.numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    (made * made).sum().backward()
    (expected * expected).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_softmax_of_segments_adds_up_to_one():
    data = paddle.randn([6, 3])
    weights = segment_softmax(data, paddle.to_tensor(IDS))
    sums = geometric.segment_sum(weights, paddle.to_tensor(IDS))
    np.testing.assert_allclose(sums.numpy()[[0, 2, 5]], 1, rtol=1e-6)
    for segment in (slice(0, 2), slice(2, 5), slice(5, 6)):
        expected = paddle.nn.functional.softmax(data[segment], axis=0)
        np.testing.assert_allclose(weights[segment].numpy(), expected.numpy(), rtol=1e-5)


def test_softmax_over_the_edges_of_a_graph_in_any_order():
    rng = np.random.default_rng(0)
    graph = Graph((rng.integers(0, 30, 500), rng.integers(0, 30, 500)), 30)
    scores = paddle.to_tensor(rng.normal(size=(500, 4)).astype(np.float32) * 20)
    weights = softmax_of_received(scores, graph).numpy()
    for node in range(30):
        into = graph.targets == node
        np.testing.assert_allclose(
            weights[into],
            torch.softmax(torch.from_numpy(scores.numpy()[into]), 0).numpy(),
            rtol=2e-5,
            atol=1e-9,
        )


def test_ids_may_be_a_column():
    data, ids = paddle.to_tensor([[1.0], [2.0], [4.0]]), paddle.to_tensor([[0], [0], [1]])
    assert geometric.segment_sum(data, ids).tolist() == [[3.0], [4.0]]
    with pytest.raises(ValueError, match=r"got \[3, 2\]"):
        geometric.segment_sum(data, paddle.to_tensor([[0, 0], [0, 0], [1, 1]]))


@pytest.mark.parametrize(
    ("ids", "error", "text"),
    [
        (
            [0, 1, 0],
            ValueError,
            "segment_sum: expected ascending numbers for segment_ids, got 0 after 1 at place 2",
        ),
        ([-1, 0, 0], IndexError, "segment_sum: expected segment_ids from 0 to 2147483646, got -1 to 0"),
        ([0, 0, 2**40], IndexError, "got 0 to 1099511627776"),
        ([0, 1], ValueError, r"expected \[rows\] for segment_ids, for data of shape \[3, 2\], got \[2\]"),
        ([0.0, 1.0, 2.0], ValueError, "segment_sum: expected int32 or int64 for segment_ids"),
    ],
)
def test_wrong_ids_are_refused(ids, error, text):
    with pytest.raises(error, match=text):
        geometric.segment_sum(paddle.ones([3, 2]), paddle.to_tensor(ids))
