import numpy as np
import pytest

from sampan.graph import Graph, HeteroGraph, Timeline
from tests.graph.chances import fits, with_threads

PAIRS = [(1, 0), (2, 0), (3, 0), (1, 0), (4, 2), (5, 2), (2, 2), (6, 5)]
TIMES = [40, 10, 30, 20, 5, 9, 10, 8]
GRAPH = Graph(PAIRS, num_nodes=7)


def test_the_last_edges_before_a_time() -> None:
    past = Timeline(GRAPH, TIMES)
    for before, last in (
        (41, [2, 0]),
        (40, [3, 2]),
        (31, [3, 2]),
        (30, [1, 3]),
        (20, [1]),
        (10, []),
        (99, [2, 0]),
    ):
        sample = past.sample([0], [before], [2])
        assert sample.edges.tolist() == last
        assert sample.times.tolist() == [before, *(TIMES[e] for e in last)]
        assert sample.nodes.tolist() == [0, *(PAIRS[e][0] for e in last)]


def test_windows() -> None:
    past = Timeline(GRAPH, TIMES)
    assert past.sample([0], [40], [-1], window=20).edges.tolist() == [3, 2]
    assert past.sample([0], [40], [-1], window=19.5).edges.tolist() == [2]
    assert past.sample([0], [40.5], [-1], window=0.5).edges.tolist() == [0]
    assert past.sample([0], [40], [-1], window=0).edges.tolist() == []
    fine = Timeline(GRAPH, np.array(TIMES) / 10)
    assert fine.sample([0], [4.0], [-1], window=2.0).edges.tolist() == [3, 2]
    assert fine.sample([0], 4, [-1]).edges.tolist() == [1, 3, 2]


def test_later_hops_end_at_the_seed_or_at_the_edge_before() -> None:
    past = Timeline(GRAPH, TIMES)
    sample = past.sample([0, 2], [15, 10], [-1, -1])
    assert sample.nodes.tolist() == [0, 2, 2, 4, 5, 4, 5, 2, 6]
    assert sample.trees.tolist() == [0, 1, 0, 1, 1, 0, 0, 0, 1]
    assert sample.targets.tolist() == [0, 1, 1, 2, 2, 2, 4]
    assert sample.sources.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert sample.edges.tolist() == [1, 4, 5, 4, 5, 6, 7]
    assert sample.node_counts == [2, 3, 4]
    narrower = past.sample([0], [15], [-1, -1], until="edge")
    assert narrower.edges.tolist() == [1, 4, 5]  # the loop at 10 is not before the edge at 10


def test_nothing_comes_from_the_future() -> None:
    rng = np.random.default_rng(0)
    times = rng.integers(0, 50, 4_000)
    graph = Graph((rng.integers(0, 60, 4_000), rng.integers(0, 60, 4_000)), num_nodes=60)
    past = Timeline(graph, times)
    seeds, before = rng.integers(0, 60, 300), rng.integers(0, 55, 300)
    for pick in ("last", "uniform"):
        for until in ("seed", "edge"):
            sample = past.sample(seeds, before, [4, 3], window=20, pick=pick, until=until, seed=1)
            edges, trees = sample.edges.numpy(), sample.trees.numpy()
            sources, targets = sample.sources.numpy(), sample.targets.numpy()
            limit = before[trees[sources]] if until == "seed" else sample.times.numpy()[targets]
            assert (times[edges] < limit).all()
            assert (times[edges] >= limit - 20).all()
            assert (times[edges] == sample.times.numpy()[sources]).all()
            assert (graph.sources[edges] == sample.nodes.numpy()[sources]).all()
            assert (graph.targets[edges] == sample.nodes.numpy()[targets]).all()
            assert (trees[sources] == trees[targets]).all()
            again = with_threads(1, lambda p=pick, u=until: past.sample(seeds, before, [4, 3], 20, p, u, 1))
            assert again.edges.tolist() == edges.tolist()
    for node, moment in zip(seeds[:40], before[:40], strict=True):  # the last ones, by hand
        into = [e for e in range(4_000) if graph.targets[e] == node and times[e] < moment]
        expected = sorted(into, key=lambda e: (times[e], e))[-4:]
        assert past.sample([node], [moment], [4]).edges.tolist() == expected


def test_uniform_draws_are_equally_likely() -> None:
    past = Timeline(GRAPH, TIMES)
    sample = past.sample(np.zeros(20_000, np.int64), 35, [1], pick="uniform", seed=3)
    fits(sample.edges.tolist(), {1: 1.0, 2: 1.0, 3: 1.0})


def test_types_and_subgraphs() -> None:
    pays, owns = ("person", "pays", "person"), ("account", "of", "person")
    graph = HeteroGraph({"person": 3, "account": 2}, {pays: [(1, 0), (2, 1)], owns: [(0, 0), (1, 1)]})
    past = Timeline(graph, {pays: [4, 2], owns: [1, 3]})
    sample = past.sample({"person": [0]}, {"person": [5]}, [-1, -1])
    assert sample.nodes["person"].tolist() == [0, 1, 2]
    assert sample.nodes["account"].tolist() == [0, 1]
    assert sample.times["account"].tolist() == [1, 3]
    assert sample.trees["account"].tolist() == [0, 0]
    assert sample.targets[owns].tolist() == [0, 1]
    assert sample.edge_counts == {pays: [1, 1], owns: [1, 1]}
    spanned = past.induced({"person": [0, 1, 2], "account": [1]}, before=4)
    assert spanned.edges[pays].tolist() == [1]
    assert spanned.edges[owns].tolist() == [1]
    assert past.induced({"person": [0, 1, 2]}, before=9, window=5).edges[pays].tolist() == [0]


def test_arrays_may_be_overwritten_afterwards() -> None:
    times = np.array(TIMES)
    past = Timeline(GRAPH, times)
    times[:] = -1
    assert past.sample([0], [41], [2]).times.tolist() == [41, 30, 40]


@pytest.mark.parametrize(
    ("times", "text"),
    [
        ([1, 2], "one for each of 8 edges, got 2"),
        ([1.0, float("nan"), *[2.0] * 6], "finite times, got nan"),
        ([1.0, float("inf"), *[2.0] * 6], "finite times, got inf"),
    ],
)
def test_wrong_times(times: list[float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Timeline(GRAPH, times)


@pytest.mark.parametrize("window", [10**30, float("inf")])
def test_a_window_longer_than_all_times_takes_the_whole_past(window: float) -> None:
    past = Timeline(Graph([(1, 0), (2, 0)], 3), [-(2**63), 5])
    assert past.sample([0], [7], [-1], window=window).times.tolist() == [7, -(2**63), 5]
    assert past.sample([0], [-(2**63) + 5], [-1], window=10).times.tolist() == [-(2**63) + 5, -(2**63)]


def test_wrong_questions() -> None:
    past = Timeline(GRAPH, TIMES)
    with pytest.raises(ValueError, match="one for each of 2 seeds, got 3"):
        past.sample([0, 1], [1, 2, 3], [1])
    with pytest.raises(ValueError, match="for pick"):
        past.sample([0], [1], [1], pick="first")
    with pytest.raises(ValueError, match="for until"):
        past.sample([0], [1], [1], until="never")
    with pytest.raises(ValueError, match="window of at least 0"):
        past.sample([0], [1], [1], window=-1)
    with pytest.raises(ValueError, match="from 0 to 6, got 7"):
        past.sample([7], [1], [1])
    with pytest.raises(TypeError, match="expected numbers"):
        Timeline(GRAPH, ["a"] * 8)
