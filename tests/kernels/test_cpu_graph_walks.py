import numpy as np

from sampan.kernels import cpu_graph_walks as kernels
from tests.graph.chances import fits, with_threads

STARTS = np.array([0, 3, 4, 4, 6], np.int32)
NEIGHBOURS = np.array([1, 3, 3, 0, 2, 3], np.int32)  # 0 -> 3 twice, 3 -> 3, and nothing from 2


def test_each_edge_is_equally_likely_and_ends_stay_ended() -> None:
    found = kernels.walks(
        [(STARTS, NEIGHBOURS)], np.zeros(2, np.int64), np.zeros(20_000, np.int64), 1, np.int64
    )
    expected = {(0, 1, 0): 1 / 3, (0, 3, 2): 1 / 3, (0, 3, 3): 1 / 3}
    fits(map(tuple, found.tolist()), expected)
    ended = kernels.walks([(STARTS, NEIGHBOURS)], np.zeros(3, np.int64), np.array([2]), 1, np.int32)
    assert ended.tolist() == [[2, -1, -1, -1]]


def test_steps_take_their_relations_in_order() -> None:
    relations = [  # relation r leads from 0 to r + 1 and from r to 0
        (np.array([0, *[1] * (r + 1), *[1] * (9 - r)], np.int32)[:10], np.array([r + 1], np.int32))
        for r in range(6)
    ]
    back = np.arange(10, dtype=np.int32), np.zeros(9, np.int32)
    order = np.array([0, 6, 5, 6, 3], np.int64)
    found = kernels.walks([*relations, back], order, np.zeros(700, np.int64), 1, np.int64)
    assert (found == [0, 1, 0, 6, 0, 4]).all()


def test_a_relation_without_rows_ends_the_walk() -> None:
    nothing = np.zeros(1, np.int32), np.empty(0, np.int32)
    leads = np.array([0, 0], np.int32), np.empty(0, np.int32)
    found = kernels.walks([leads, nothing], np.array([0, 1, 1]), np.zeros(3, np.int64), 0, np.int64)
    assert found.tolist() == [[0, -1, -1, -1]] * 3


def test_walks_do_not_depend_on_the_number_of_threads() -> None:
    nodes = np.resize([0, 1, 3], 2_000)
    plain = [(STARTS, NEIGHBOURS)]
    ascending = kernels.sorted_rows(STARTS, NEIGHBOURS)
    for made in (
        lambda: kernels.walks(plain, np.zeros(9, np.int64), nodes, 5, np.int64),
        lambda: kernels.biased_walks(STARTS, NEIGHBOURS, ascending, nodes, 9, 0.5, 2.0, 5),
    ):
        assert (with_threads(1, made) == with_threads(2, made)).all()


def test_sorted_rows() -> None:
    rng = np.random.default_rng(0)
    starts = np.append(0, np.cumsum(rng.integers(0, 9, 300))).astype(np.int32)
    neighbours = rng.integers(0, 300, starts[-1]).astype(np.int32)
    rows = np.repeat(np.arange(300), np.diff(starts))
    assert (kernels.sorted_rows(starts, neighbours) == neighbours[np.lexsort((neighbours, rows))]).all()


def test_biased_steps_have_the_stated_chances() -> None:
    for p, q in ((0.5, 2.0), (4.0, 0.25), (1.0, 1.0), (1e-4, 1.0), (1e4, 1e4)):
        ascending = kernels.sorted_rows(STARTS, NEIGHBOURS)
        found = kernels.biased_walks(STARTS, NEIGHBOURS, ascending, np.zeros(20_000, np.int64), 2, p, q, 7)
        expected: dict[tuple[int, int, int], float] = {(0, 1, 0): 1 / 3}  # the only edge of 1
        edges = {0: [1, 3, 3], 3: [2, 3]}
        weights = [1 / p if x == 0 else 1.0 if x in edges[0] else 1 / q for x in edges[3]]
        for x, weight in zip(edges[3], weights, strict=True):
            expected[0, 3, x] = 2 / 3 * weight / sum(weights)
        likely = {walk: share for walk, share in expected.items() if share * 20_000 > 5}
        walks = [walk for walk in map(tuple, found.tolist()) if walk in likely]
        assert len(walks) > 19_900
        fits(walks, likely)


def test_a_biased_step_that_keeps_nothing_reads_the_row() -> None:
    # 0 -> 1 and 1 -> 0..39: going back has the weight 1e-3, the others 1, but q makes them rarer still
    starts = np.array([0, 1, 41, *[41] * 38], np.int32)
    neighbours = np.array([1, *range(40)], np.int32)
    found = kernels.biased_walks(
        starts,
        neighbours,
        kernels.sorted_rows(starts, neighbours),
        np.zeros(20_000, np.int64),
        2,
        0.01,
        1e3,
        3,
    )
    weights = {0: 100.0, 1: 1.0} | dict.fromkeys(range(2, 40), 1e-3)
    seen = {0, 1}
    fits([w for w in found[:, 2].tolist() if w in seen], {k: weights[k] for k in seen})
    others = sum(w not in seen for w in found[:, 2].tolist())
    assert others <= 30  # 20,000 times 0.038 / 101.038 is 7.5


def test_warm_up_leaves_the_choice_of_form_alone() -> None:
    kernels.warm_up()
    assert kernels._walks_loop.parallel_from == kernels.PARALLEL_FROM
