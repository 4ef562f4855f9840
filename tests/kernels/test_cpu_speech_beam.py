import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.kernels import cpu_speech_beam as kernels


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 50), st.integers(0, 10**6), st.sampled_from([-np.inf, -2.0, -0.5]))
def test_the_best_tokens(size: int, most: int, seed: int, floor: float) -> None:
    """The order of a stable sort, above the floor."""
    row = -np.random.default_rng(seed).integers(0, 40, size).astype(np.float32) / 8
    tokens, scores = np.empty(most, np.int64), np.empty(most)
    count = kernels.best_tokens(row, floor, tokens, scores)
    expected = [k for k in np.argsort(-row, kind="stable") if row[k] > np.float32(floor)][:most]
    assert tokens[:count].tolist() == expected and scores[:count].tolist() == row[expected].tolist()


def test_rows_that_hold_no_log_probabilities() -> None:
    tokens, scores = np.empty(2, np.int64), np.empty(2)
    for bad in (np.nan, 0.5, np.inf):
        for place in (0, 17, 39):
            row = np.full(40, -3.0)
            row[place] = bad
            assert kernels.best_tokens(row, -1.0, tokens, scores) == -1
    assert kernels.best_tokens(np.full(40, -np.inf), -np.inf, tokens, scores) == 0


def test_log_sum() -> None:
    for a, b in ((0.0, 0.0), (-1.0, -800.0), (-900.0, -901.0), (-np.inf, -2.0)):
        assert np.isclose(kernels.log_sum(a, b), np.logaddexp(a, b)) and kernels.log_sum(
            a, b
        ) == kernels.log_sum(b, a)
    assert kernels.log_sum(-np.inf, -np.inf) == -np.inf


def tree_of(parents: list[int]) -> kernels.Tree:
    tree = kernels.Tree(*(np.full(16, -1, np.int32) for _ in range(8)), np.zeros(16))
    for node, parent in enumerate(parents):
        tree.parent[node], tree.token[node], tree.frame[node] = parent, 10 + node, node
        tree.bonus[node] = node
        if parent >= 0:
            tree.next_sibling[node], tree.first_child[parent] = tree.first_child[parent], node
    return tree


def beam_of(nodes: list[int], count: int) -> kernels.Beam:
    made = np.array(nodes, np.int32)
    return kernels.Beam(made, np.zeros(made.size), np.zeros(made.size), np.array([made.size, count, 0]))


def test_shared_node_path_and_collect() -> None:
    """0 - 1 - 2 - (3 - 5, 4 - (6, 7)), 8 under 0."""
    tree, beam = tree_of([-1, 0, 1, 2, 2, 3, 4, 4, 0]), beam_of([7, 5], 9)
    assert kernels.shared_node(beam, tree) == 2
    tokens, frames = kernels.path(tree, 7)
    assert tokens.tolist() == [11, 12, 14, 17] and frames.tolist() == [1, 2, 4, 7]
    kernels.collect(beam, tree, 2)
    assert beam.counts[1] == 5 and tree.parent[:5].tolist() == [-1, 0, 0, 1, 2]
    assert tree.token[:5].tolist() == [12, 13, 14, 15, 17] and beam.node.tolist() == [4, 3]
    assert kernels.path(tree, 4)[0].tolist() == [14, 17] and tree.bonus[:5].tolist() == [2, 3, 4, 5, 7]
    children, at = [], tree.first_child[0]
    while at >= 0:
        children.append(int(at))
        at = tree.next_sibling[at]
    assert sorted(children) == [1, 2] and tree.next_sibling[0] == -1
