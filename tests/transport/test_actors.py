"""Shards in actors of Ray."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
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
    home = Actors(Counting, 2, [(1, "note", ("opened",))], preload=Counting.__module__)
    large = np.arange(100_000)
    assert home.request([(1, "note", (1,)), (0, "note", (2,))]) == [2, 1]
    assert home.request([(0, "doubled", (large,))])[0][-1] == 199_998
    with pytest.raises(ValueError, match=r"^no$"):
        home.request([(0, "fail", ("ValueError",))])
    spare = home.spare()
    os.kill(home.processes()[1], signal.SIGKILL)
    assert home.request([(1, "all", ())]) == [["opened"]]
    assert home.processes()[1] == spare  # which another takes the place of
    assert home.spare() not in (spare, *home.processes())
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


def test_clients_that_see_the_end_of_an_actor_agree_on_the_next() -> None:
    homes = [Actors(Counting, 2, name="agreed", preload=Counting.__module__) for _ in range(3)]
    calls = [(0, "note", (0,)), (1, "note", (1,))]
    for home in homes:
        home.request([(0, "all", ()), (1, "all", ())])
    for _ in range(2):
        for process in homes[0].processes():
            os.kill(process, signal.SIGKILL)  # both at once, and one waits
        with ThreadPoolExecutor() as threads:
            found = list(threads.map(lambda home: home.request(calls), homes))
        assert [sorted(answers) for answers in zip(*found, strict=True)] == [[1, 2, 3]] * 2
        assert homes[0].request([(0, "all", ()), (1, "all", ())]) == [[0] * 3, [1] * 3]
    spare = homes[0].spare()
    assert [home.spare() for home in homes] == [spare] * 3
    os.kill(spare, signal.SIGKILL)
    os.kill(homes[0].processes()[0], signal.SIGKILL)
    assert homes[1].request([(0, "all", ())]) == [[]]
    homes[0].close()


def test_an_actor_that_cannot_start_says_why() -> None:
    home = Actors(Counting, 1, preload="sampan.no_such_module")
    with pytest.raises(ShardError, match=r"No module named 'sampan\.no_such_module'"):
        home.request([(0, "all", ())])
    home.close()


def test_a_graph_in_actors_is_sampled_as_one_in_one_piece(tmp_path: Path) -> None:
    ShardedGraph.partition(GRAPH, 2, tmp_path / "g").close()
    with ShardedGraph.open(tmp_path / "g", workers="actors") as shards:
        found = shards.k_hop([5, 9], [3, -1], seed=3, features=["x"])
        same(found, k_hop(GRAPH, [5, 9], [3, -1], seed=3))
        assert min(shards.bytes_moved) > 0
