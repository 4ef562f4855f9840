import numpy as np

from sampan.kernels import cpu_graph_partition as loops


def plain(pairs: np.ndarray, nodes: int, parts: int, capacity: int, passes: int) -> list[int]:
    """The rule, one node after another."""
    owner = [-1] * nodes
    for _ in range(passes):
        sizes = [0] * parts
        for node in range(nodes):
            others = [b if a == node else a for a, b in pairs if node in (a, b) and a != b]
            near = [sum(owner[other] == part for other in others) for part in range(parts)]
            free = [part for part in range(parts) if sizes[part] < capacity]
            owner[node] = min(free, key=lambda p: (-near[p] * (1 - sizes[p] / capacity), sizes[p], p))
            sizes[owner[node]] += 1
    return owner


def rows(keys: np.ndarray, values: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    starts = np.append(0, np.cumsum(np.bincount(keys, minlength=nodes))).astype(np.int32)
    return starts, values[np.argsort(keys, kind="stable")].astype(np.int32)


def test_the_stream_follows_the_rule() -> None:
    rng = np.random.default_rng(0)
    for nodes, parts, passes in ((1, 3, 1), (30, 4, 1), (30, 4, 4), (40, 2, 3)):
        pairs = rng.integers(0, nodes, (80, 2))
        capacity = -(-nodes // parts) + 1
        sides = rows(pairs[:, 1], pairs[:, 0], nodes), rows(pairs[:, 0], pairs[:, 1], nodes)
        found = loops.streamed(*sides, parts, capacity, passes)
        assert found.tolist() == plain(pairs, nodes, parts, capacity, passes)


def test_a_hash_gives_about_equal_shares_whatever_the_numbers_are() -> None:
    found = loops.hashed(60_000, 6)
    for some in (found, found[::2], found[::6]):
        counts = np.bincount(some, minlength=6)
        assert abs(counts / some.size - 1 / 6).max() < 0.01
    np.testing.assert_array_equal(loops.hashed(10, 6), found[:10])
