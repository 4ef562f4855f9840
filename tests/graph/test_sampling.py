import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import geometric
from sampan.graph.sampling import graph_khop_sampler, graph_reindex, graph_sample_neighbors
from tests.graph.chances import fits, with_threads

ROW, COLPTR = [3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7], [0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]


def tensor(values: Any, dtype: str = "int64") -> paddle.Tensor:
    return paddle.to_tensor(np.array(values, dtype))


def graph(dtype: str = "int64") -> tuple[paddle.Tensor, paddle.Tensor]:
    return tensor(ROW, dtype), tensor(COLPTR, dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_all_neighbours_in_their_order(dtype: str) -> None:
    # PaddlePaddle 3.3.1 ends the process for sample_size=-1; its documents say that all are returned
    neighbours, counts, edges = geometric.sample_neighbors(
        *graph(dtype), tensor([0, 7, 8, 0], dtype), -1, tensor(range(13), dtype), True
    )
    assert neighbours.tolist() == [3, 7, 9, 7, 3, 7]
    assert counts.tolist() == [2, 0, 2, 2]
    assert edges.tolist() == [0, 1, 11, 12, 0, 1]
    assert str(neighbours.dtype) == str(edges.dtype) == f"paddle.{dtype}"
    assert str(counts.dtype) == "paddle.int32"


def test_each_neighbour_is_equally_likely_also_with_loops_and_repeated_edges() -> None:
    row, colptr = tensor([0, 1, 1, 2]), tensor([0, 4, 4, 4])
    paddle.seed(1)
    nodes = paddle.zeros([20_000], "int64")
    _, counts, edges = geometric.sample_neighbors(row, colptr, nodes, 2, tensor(range(4)), True)
    assert (counts.numpy() == 2).all()
    pairs = [tuple(sorted(pair)) for pair in edges.reshape([-1, 2]).tolist()]
    fits(pairs, {(a, b): 1.0 for a in range(4) for b in range(a + 1, 4)})
    paddle.seed(1)
    one = with_threads(
        1, lambda: geometric.sample_neighbors(row, colptr, nodes, 2, tensor(range(4)), True)[2]
    )
    assert (one == edges).all()


def test_weights() -> None:
    row, colptr, nodes = tensor([0, 1, 2]), tensor([0, 3, 3, 3]), paddle.zeros([20_000], "int64")
    weights = paddle.to_tensor([1.0, 0.0, 3.0])
    paddle.seed(2)
    neighbours, counts = geometric.weighted_sample_neighbors(row, colptr, weights, nodes, 1)
    fits(neighbours.tolist(), {0: 1, 1: 0, 2: 3})
    assert (counts.numpy() == 1).all()
    neighbours, counts = geometric.weighted_sample_neighbors(row, colptr, weights, nodes[:2], 3)
    assert counts.tolist() == [2, 2]  # never one of weight 0
    assert geometric.weighted_sample_neighbors(row, colptr, weights, nodes[:1])[0].tolist() == [0, 1, 2]
    longer = paddle.to_tensor([1.0, 1.0, 1.0, 1.0])  # as in the example of PaddlePaddle's documents
    assert geometric.weighted_sample_neighbors(row, colptr, longer, nodes[:1], 3)[1].tolist() == [3]


def test_hops_expand_what_the_hop_before_found_first() -> None:
    # a binary tree; PaddlePaddle 3.3.1 expands node 1 alone in the second hop
    row = tensor([1, 2, 3, 4, 5, 6])
    colptr = tensor([0, 2, 4, 6, 6, 6, 6, 6])
    sources, targets, nodes, own, edges = graph_khop_sampler(
        row, colptr, tensor([0]), [-1, -1, -1], tensor(range(0, 60, 10)), True
    )
    assert sources.squeeze(1).tolist() == [1, 2, 3, 4, 5, 6]
    assert targets.squeeze(1).tolist() == [0, 0, 1, 1, 2, 2]
    assert nodes.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert own.tolist() == [0]
    assert edges.tolist() == [0, 10, 20, 30, 40, 50]


def test_sampled_hops_are_edges_of_the_graph() -> None:
    row, colptr = graph()
    edges = {(r, c) for c in range(10) for r in ROW[COLPTR[c] : COLPTR[c + 1]]}
    for _ in range(20):
        sources, targets, nodes, own = graph_khop_sampler(row, colptr, tensor([8, 1, 8]), [1, 2, 1])
        ids = nodes.numpy()
        assert ids[own.numpy()].tolist() == [8, 1, 8]
        assert len(set(ids.tolist())) == len(ids)
        pairs = zip(ids[sources.numpy().ravel()].tolist(), ids[targets.numpy().ravel()].tolist(), strict=True)
        assert set(pairs) <= edges


def test_first_names() -> None:
    row, colptr = graph()
    assert graph_sample_neighbors(row, colptr, tensor([0]))[0].tolist() == [3, 7]
    assert graph_reindex(tensor([4]), tensor([9, 4]), tensor([2], "int32"))[2].tolist() == [4, 9]
    with pytest.raises(ValueError, match="perm_buffer"):
        graph_sample_neighbors(row, colptr, tensor([0]), flag_perm_buffer=True)
    with pytest.raises(ValueError, match="value_buffer"):
        graph_reindex(tensor([4]), tensor([9]), tensor([1], "int32"), flag_buffer_hashtable=True)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: geometric.sample_neighbors(*graph(), tensor([0, 10])), "from 0 to 9 .* got node 10 at place 1"),
    (lambda: geometric.sample_neighbors(*graph(), tensor([-1])), "got node -1"),
    (lambda: geometric.sample_neighbors(*graph(), tensor([0]), -2), "at least -1 for sample_size, got -2"),
    (lambda: geometric.sample_neighbors(tensor(ROW), tensor([0, 5, 3]), tensor([1])), "colptr that ascends"),
    (lambda: geometric.sample_neighbors(tensor(ROW), tensor([0, 99]), tensor([0])), "at most 13"),
    (lambda: geometric.sample_neighbors(tensor(ROW), tensor([]), tensor([0])), "at least one number for colptr"),
    (lambda: geometric.sample_neighbors(*graph(), tensor([0]), 1, tensor([1]), True), "for each of 13 edges"),
    (lambda: weighted([-1.0] * 13), "finite weights"),
    (lambda: weighted([float("nan")] * 13), "finite weights"),
    (lambda: weighted([1.0] * 3), "one for each of 13 edges for edge_weight, got 3"),
    (lambda: reindexed([2, 3, 3]), "add up to the 7 neighbors"),
    (lambda: reindexed([9, -2, 0]), "none negative"),
    (lambda: reindexed([7]), "3 counts"),
    (lambda: graph_khop_sampler(tensor([5]), tensor([0, 1]), tensor([0]), [1]), "from 0 to 0 .* got 5"),
    (lambda: graph_khop_sampler(*graph(), tensor([0]), [-3]), "at least -1 for sample_sizes"),
]  # fmt: skip


def weighted(weights: list[float]) -> Any:
    return geometric.weighted_sample_neighbors(*graph(), tensor(weights, "float32"), tensor([0]), 1)


def reindexed(counts: list[int]) -> Any:
    return geometric.reindex_graph(tensor([0, 1, 2]), tensor([8, 9, 0, 4, 7, 6, 7]), tensor(counts, "int32"))


@pytest.mark.parametrize(("made", "text"), WRONG)
def test_wrong_input(made: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        made()


def test_arrays_that_are_overwritten_meanwhile_do_no_harm() -> None:
    """Another thread writes numbers of any size into `row` and `colptr`: each call gives a sample or an error."""
    rng = np.random.default_rng(0)
    row, colptr = rng.integers(0, 1_000, 20_000), np.arange(0, 20_020, 20)
    weights = np.ones(20_000, np.float32)
    tensors = [paddle.to_tensor(values) for values in (row, colptr, weights)]
    good = [t.data.clone() for t in tensors]
    stop = threading.Event()

    def overwrite() -> None:
        chance = np.random.default_rng(1)
        while not stop.is_set():
            for tensor, values in zip(tensors, good, strict=True):
                place = int(chance.integers(values.numel()))
                tensor.data[place] = (
                    float("nan") if tensor is tensors[2] else int(chance.integers(-(2**62), 2**62))
                )
                tensor.data[: values.numel()] = values

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        nodes = tensor(range(1_000))
        for _ in range(60):
            for made in (
                lambda: geometric.sample_neighbors(tensors[0], tensors[1], nodes, 5),
                lambda: geometric.weighted_sample_neighbors(tensors[0], tensors[1], tensors[2], nodes, 5),
                lambda: graph_khop_sampler(tensors[0], tensors[1], nodes[:50], [5, 5]),
            ):
                try:
                    assert made()[0].shape[0] > 0
                except ValueError as error:
                    assert "expected" in str(error)
    finally:
        stop.set()
        writer.join()
