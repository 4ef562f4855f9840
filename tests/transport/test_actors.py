"""Shards in actors of Ray."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sampan.graph import k_hop
from sampan.graph.distributed import ShardedGraph
from sampan.transport import Actors, ShardError
from tests.graph.distributed.whole import GRAPH, same
from tests.transport.counting import Counting

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed (extra cluster)"),
]


def test_actors_answer_and_a_killed_one_opens_again() -> None:
    home = Actors(Counting, 2, [(1, "note", ("opened",))])
    large = np.arange(100_000)
    assert home.request([(1, "note", (1,)), (0, "note", (2,))]) == [2, 1]
    assert home.request([(0, "doubled", (large,))])[0][-1] == 199_998
    with pytest.raises(ValueError, match=r"^no$"):
        home.request([(0, "fail", ("ValueError",))])
    os.kill(home.processes()[1], signal.SIGKILL)
    assert home.request([(1, "all", ())]) == [["opened"]]
    for line in home._lines.lines:
        line.timeout = 0.2
        line.close()
        line.connection = None
    with pytest.raises(ShardError, match="shard 0: its actor does not answer"):
        home.request([(0, "sleep", (1.0,))])
    home.close()


def test_clients_share_actors_and_a_shard_that_cannot_be_opened_says_so() -> None:
    homes = [Actors(Counting, 1, name="shared") for _ in range(2)]
    assert [home.request([(0, "note", (n,))]) for n, home in enumerate(homes)] == [[1], [2]]
    homes[0].close()
    home = Actors(Counting, 1, [(0, "fail", ("ValueError",))])
    with pytest.raises(ValueError, match=r"^no$"):
        home.request([(0, "all", ())])
    home.close()


def test_a_graph_in_actors_is_sampled_as_one_in_one_piece(tmp_path: Path) -> None:
    ShardedGraph.partition(GRAPH, 2, tmp_path / "g").close()
    with ShardedGraph.open(tmp_path / "g", workers="actors") as shards:
        found = shards.k_hop([5, 9], [3, -1], seed=3, features=["x"])
        same(found, k_hop(GRAPH, [5, 9], [3, -1], seed=3))
        assert min(shards.bytes_moved) > 0
