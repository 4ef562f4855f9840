import itertools
import threading

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from sampan.kernels import cpu_graph_sampling as kernels
from tests.graph.chances import LEAST, fits, with_threads

MANY = 20_000


def one_row(degree: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of `nodes` nodes, each the same `degree` places."""
    return np.zeros(nodes, np.int64), np.full(nodes, degree, np.int64)


def places(degree: int, size: int, replace: bool = False, nodes: int = MANY, seed: int = 1) -> np.ndarray:
    counts = np.full(nodes, size, np.int64)
    neighbours = np.arange(degree, dtype=np.int32)
    found, values, targets = kernels.drawn(
        one_row(degree, nodes), counts, neighbours, replace, seed, 5, np.int64
    )
    assert (values == found).all()
    assert (targets == np.repeat(np.arange(5, 5 + nodes), size)).all()
    return found.reshape(nodes, size)


def by_weight(weights: list[float], size: int, nodes: int = MANY) -> tuple[np.ndarray, np.ndarray]:
    neighbours, values = np.arange(len(weights), dtype=np.int64), np.array(weights)
    answer = kernels.drawn_by_weight(
        one_row(len(weights), nodes), size, neighbours, (values, np.empty(0, np.int32)), 3, 0, np.int64
    )
    return answer[0], answer[3]


@pytest.mark.parametrize(("degree", "size"), [(5, 2), (6, 3), (4, 3), (7, 1)])
def test_every_subset_is_equally_likely(degree: int, size: int) -> None:
    drawn = [tuple(sorted(row)) for row in places(degree, size).tolist()]
    fits(drawn, dict.fromkeys(itertools.combinations(range(degree), size), 1.0))


@pytest.mark.parametrize(("degree", "size"), [(60, 30), (100, 25), (40, 39)])
def test_many_draws_take_each_place_equally_often_and_none_twice(degree: int, size: int) -> None:
    drawn = places(degree, size, nodes=4_000)
    assert all(len(set(row)) == size for row in drawn.tolist())
    counts = np.bincount(drawn.ravel(), minlength=degree)
    variance = 4_000 * (size / degree) * (1 - size / degree)  # of one place; places are nearly independent
    statistic = ((counts - 4_000 * size / degree) ** 2).sum() / variance * (degree - 1) / degree
    assert abs(statistic - (degree - 1)) < 5 * np.sqrt(2 * (degree - 1))


def test_pairs_among_many_draws_are_equally_likely() -> None:
    drawn = places(30, 26, nodes=MANY)
    left = [tuple(sorted(set(range(30)) - set(row))) for row in drawn.tolist()]
    fits([four[:2] for four in left], pairs_that_lead(30, 4))


def pairs_that_lead(degree: int, size: int) -> dict[tuple[int, int], float]:
    """How often two places are the first two of a subset."""
    found: dict[tuple[int, int], float] = {}
    for subset in itertools.combinations(range(degree), size):
        found[subset[:2]] = found.get(subset[:2], 0.0) + 1
    return found


def test_with_replacement_each_draw_is_independent() -> None:
    drawn = places(3, 2, replace=True)
    fits(map(tuple, drawn.tolist()), dict.fromkeys(itertools.product(range(3), repeat=2), 1.0))


def test_all_places_come_in_their_order() -> None:
    assert (places(7, 7, nodes=3) == np.arange(7)).all()


def test_weights_are_the_chances_of_the_next_draw() -> None:
    weights = [1.0, 0.0, 2.0, 5.0]
    drawn, counts = by_weight(weights, 1)
    assert (counts == 1).all()
    fits(drawn.tolist(), dict(enumerate(weights)))


def test_weights_without_putting_back() -> None:
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    drawn, _ = by_weight(weights.tolist(), 2)
    expected: dict[tuple[int, int], float] = {}
    for first, second in itertools.permutations(range(4), 2):
        chance = weights[first] / 10 * weights[second] / (10 - weights[first])
        pair = min(first, second), max(first, second)
        expected[pair] = expected.get(pair, 0.0) + chance
    fits([tuple(sorted(pair)) for pair in drawn.reshape(-1, 2).tolist()], expected)


def test_edges_without_weight_never_come() -> None:
    drawn, counts = by_weight([0.0, 1.0, 0.0], 2, nodes=100)
    assert (counts == 1).all()
    assert (drawn == 1).all()


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_a_wrong_weight_is_found(wrong: float) -> None:
    weights = np.array([1.0, wrong, 1.0])
    rows, order = one_row(3, 2), np.empty(0, np.int32)
    assert kernels.drawn_by_weight(rows, 1, np.arange(3), (weights, order), 0, 0, np.int64) == 1


@pytest.mark.parametrize("size", [2, 30])
def test_a_sample_does_not_depend_on_the_number_of_threads(size: int) -> None:
    one, two = (with_threads(n, lambda: places(50, size, nodes=3_000)) for n in (1, 2))
    assert (one == two).all()
    assert (one != places(50, size, nodes=3_000, seed=2)).any()


def test_random_numbers_are_even_and_neighbouring_seeds_differ() -> None:
    seeds = [int(kernels.child(np.uint64(s), n)) for s in range(100) for n in range(100)]
    assert len(set(seeds)) == 10_000
    assert kstest([s / 2**64 for s in seeds], "uniform").pvalue > LEAST
    bits = np.unpackbits(np.array(seeds, np.uint64).view(np.uint8).reshape(-1, 8), axis=1).sum(0)
    assert chisquare(np.stack([bits, 10_000 - bits]), 5_000, axis=0).pvalue.min() > LEAST / 64


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_rows_that_do_not_lie_inside_are_found(kind: type) -> None:
    starts = np.array([0, 2, 3, 3], kind)
    begins, degrees, wrong = kernels.rows_found(starts, 3, np.array([2, 0, 1], kind))
    assert (begins.tolist(), degrees.tolist(), wrong) == ([3, 0, 2], [0, 2, 1], -1)
    for bad, nodes in (
        (starts, [0, 3]), (starts, [0, -1]), ([0, 2, 1, 3], [0, 1]), ([0, 2, 3, 4], [0, 2]), ([-1, 2, 3, 3], [1, 0])
    ):  # fmt: skip
        assert kernels.rows_found(np.array(bad, kind), 3, np.array(nodes, kind))[2] == 1


def test_rows_between_two_times() -> None:
    starts, times = np.array([0, 5, 5], np.int32), np.array([1, 2, 2, 3, 9])
    nodes = np.array([0, 0, 0, 1, 0])
    after, before = np.array([2, 0, 3, 0, 9]), np.array([3, 1, 3, 9, 99])
    begins, degrees = kernels.rows_between(starts, times, nodes, after, before)
    assert begins.tolist()[:1] + begins.tolist()[4:] == [1, 4]
    assert degrees.tolist() == [2, 0, 0, 0, 1]


def test_numbers_follow_the_first_coming_and_the_table_is_empty_again() -> None:
    for _ in range(3):
        with kernels.Numbers(10) as numbers:
            assert numbers.of(np.array([7, 3, 7]))[0].tolist() == [0, 1, 0]
            assert numbers.of(np.array([9, 3, 0]))[0].tolist() == [2, 1, 3]
            assert numbers.nodes[: numbers.count].tolist() == [7, 3, 9, 0]
            table = numbers.table
        assert (table == -1).all()


def test_numbers_tell_of_a_node_outside() -> None:
    with pytest.raises(KeyError), kernels.Numbers(5) as numbers:
        assert numbers.of(np.array([1, 5]))[1] == 1
        assert numbers.of(np.array([-1, 5]))[1] == 0
        raise KeyError
    with kernels.Numbers(5) as numbers:  # the table of the failed block is not lent again
        assert numbers.of(np.array([1]))[0].tolist() == [0]


def test_numbers_in_threads_do_not_mix() -> None:
    wrong: list[int] = []

    def use(number: int) -> None:
        nodes = np.random.default_rng(number).permutation(1_000)
        for _ in range(50):
            with kernels.Numbers(1_000) as numbers:
                if (numbers.of(nodes)[0] != np.arange(1_000)).any():
                    wrong.append(number)

    threads = [threading.Thread(target=use, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_reindexed_beside_a_dictionary() -> None:
    rng = np.random.default_rng(0)
    x, neighbours = rng.permutation(2**40 + np.arange(50)), rng.integers(-(2**62), 2**62, 300)
    neighbours[::3] = rng.choice(x, 100)
    neighbours[1::3] = neighbours[::3]
    counts = np.full(50, 6)
    sources, targets, nodes = kernels.reindexed(x, neighbours, counts)
    places = {int(node): place for place, node in enumerate(x)}
    expected = [places.setdefault(int(node), len(places)) for node in neighbours]
    assert sources.tolist() == expected
    assert nodes.tolist() == list(places)
    assert targets.tolist() == np.repeat(np.arange(50), 6).tolist()


def test_places_inside_a_set_of_nodes() -> None:
    starts, neighbours = np.array([0, 2, 4], np.int32), np.array([0, 1, 1, 1], np.int32)
    table = np.array([-1, 0], np.int32)
    found, counts = kernels.inside(starts, neighbours, np.array([1, 0]), table)
    assert (found.tolist(), counts.tolist()) == ([2, 3, 1], [2, 1])


@pytest.mark.parametrize("width", [5, 400])  # of 400 columns few are free: the row is read in full
def test_unjoined_columns_are_equally_likely(width: int) -> None:
    free = [0, 2, width - 1]
    neighbours = np.array([c for c in range(width) if c not in free], np.int32)
    starts = np.array([0, neighbours.size], np.int32)
    rows = np.zeros(3_000, np.int64)
    found = kernels.unjoined(starts, neighbours, rows, width, False, 4)
    fits(found.tolist(), dict.fromkeys(free, 1.0))
    own = kernels.unjoined(starts, neighbours, rows, width, True, 4)
    fits(own.tolist(), dict.fromkeys(free[1:], 1.0))
    full = np.arange(width, dtype=np.int32)
    assert (kernels.unjoined(np.array([0, width]), full, rows[:2], width, False, 4) == -1).all()


def test_unjoined_pairs_are_equally_likely() -> None:
    starts, neighbours = np.array([0, 2, 2, 3], np.int32), np.array([1, 2, 0], np.int32)
    rows, columns = kernels.unjoined_pairs(starts, neighbours, 3, True, MANY, 8)
    fits(zip(rows.tolist(), columns.tolist(), strict=True), {(1, 0): 1, (1, 2): 1, (2, 1): 1})


def test_warm_up_runs_every_loop() -> None:
    kept = kernels.PARALLEL_FROM
    kernels.warm_up()
    assert kernels._drawn_loop.parallel_from == kept
