import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sampan.graph import Graph, k_hop
from sampan.graph.distributed import ShardedGraph, ShardError
from sampan.transport.lines import limit
from tests.graph.distributed.whole import EDGES, GRAPH, NODES, same


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(pids: list[int]) -> bool:
    for _ in range(1200):
        if not any(map(alive, pids)):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.servers
def test_workers_answer_as_one_process_and_a_killed_one_is_named(tmp_path: Path) -> None:
    ShardedGraph.partition(GRAPH, 3, tmp_path / "g").close()
    with ShardedGraph.open(tmp_path / "g", workers=2, timeout=120) as shards:
        found = shards.k_hop([5, 9], [3, -1], seed=3, features=["x"])
        same(found, k_hop(GRAPH, [5, 9], [3, -1], seed=3))
        np.testing.assert_array_equal(found.node_feat["x"].numpy(), GRAPH.node_feat["x"][found.nodes.numpy()])
        with pytest.raises(ValueError, match=r"shard .: sample: .w.: expected finite weights"):
            shards.update([(0, 1)], {"w": [-1.0], "time": [0]})
            shards.k_hop([1], [1], weights="w")
        whole = Graph(np.concatenate([GRAPH.edges, [(0, 1)]]), NODES)
        same(shards.k_hop([1], [3], seed=3), k_hop(whole, [1], [3], seed=3))  # the error has broken nothing
        processes = shards._home.processes
        processes[1].kill()
        for text in (
            "shard 1: its worker process .* ended with exit code -9",
            "shard 1: .* open it again",
        ):
            with pytest.raises(ShardError, match=text):
                shards.k_hop(range(NODES), [3])
        assert ended([process.pid for process in processes])
    assert ShardedGraph.open(tmp_path / "g").num_edges == EDGES  # the last save


@pytest.mark.servers
def test_a_worker_that_hangs_is_named_in_time(tmp_path: Path) -> None:
    ShardedGraph.partition(GRAPH, 1, tmp_path / "g").close()
    with ShardedGraph.open(tmp_path / "g", workers=1, timeout=90) as shards:
        home = shards._home
        home.timeout = 1.0
        limit(home._lines.lines[0].connection, 1.0)
        os.kill(home.processes[0].pid, 19)  # SIGSTOP
        began = time.monotonic()
        with pytest.raises(ShardError, match=r"shard 0: .* did not answer within 1 s"):
            shards.update(nodes=range(NODES), node_feat={"x": np.ones((NODES, 3))})
        assert time.monotonic() - began < 30
        assert ended([home.processes[0].pid])


PARENT = """
import os, sys, time
from sampan.graph.distributed import ShardedGraph
if __name__ == "__main__":
    shards = ShardedGraph.open(sys.argv[1], workers=1, timeout=120)
    print(shards._home.processes[0].pid, flush=True)
    time.sleep(300)
"""


@pytest.mark.servers
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    ShardedGraph.partition(GRAPH, 1, tmp_path / "g").close()
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "g")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert alive(worker)
        parent.kill()
    assert ended([worker])
