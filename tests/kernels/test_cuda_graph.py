"""The graph kernels of a GPU on a GPU; on the CPU test_cpu_graph_messages compares them with the loops."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.graph import Graph
from sampan.graph.messages import receive, receive_joined, send_to_edges
from sampan.graph.segments import softmax_of_received

EDGES = np.random.default_rng(0).integers(0, 40, (300, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("reduce_op", ["sum", "mean", "max", "min"])
def test_messages_on_a_gpu_are_those_on_the_cpu(reduce_op):
    graph, answers = Graph(EDGES, 40), []
    for place in ("cpu", "gpu"):
        x, y = (paddle.to_tensor(v, place=place, stop_gradient=False) for v in drawn())
        weights = softmax_of_received(y, graph)
        made = receive_joined(x, weights, graph, "mul", reduce_op) + receive(x, graph, reduce_op)
        (made.sum() + (send_to_edges(x, x, graph, "mul") * weights).sum()).backward()
        answers.append([made.cpu().numpy(), x.grad.cpu().numpy(), y.grad.cpu().numpy()])
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def drawn():
    rng = np.random.default_rng(1)
    return rng.normal(size=(40, 4, 8)).astype(np.float32), rng.normal(size=(300, 4, 1)).astype(np.float32)
