from pathlib import Path

import numpy as np
import pytest

from sampan.graph.distributed import Shard, ShardedGraph
from tests.graph.distributed.whole import EDGES, GRAPH, NODES


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    ShardedGraph.partition(GRAPH, 1, tmp_path / "g")
    made = Shard()
    assert made.open(str(tmp_path / "g"), 0).tolist() == [NODES, EDGES]
    return made


def int32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_a_node_draws_by_its_place_alone(shard: Shard) -> None:
    both = shard.sample(int32(3, 4), int32(0, 5), 6, 2, seed=1, features=["time"])
    one = shard.sample(int32(4), int32(5), 6, 2, seed=1)
    assert both["counts"].tolist() == [2, 2]
    assert both["sources"][2:].tolist() == one["sources"].tolist()
    assert both["edge:time"].tolist() == both["numbers"].tolist()
    assert set(GRAPH.targets[both["numbers"]].tolist()) == {3, 4}


def test_what_is_not_there_is_refused(shard: Shard) -> None:
    with pytest.raises(ValueError, match="shard 0: sample: expected rows from 0 to 299, got 300"):
        shard.sample(int32(300), int32(0), 1, 2)
    for positions in (int32(1, 0), int32(0, 6), int32(-1, 0), int32(0)):
        with pytest.raises(ValueError, match="shard 0: sample: expected a place for each row"):
            shard.sample(int32(1, 2), positions, 6, 2)
    with pytest.raises(ValueError, match=r"features: expected one of the node features \['x', 'label'\]"):
        shard.features(["y"], int32(1))
    with pytest.raises(ValueError, match="features: expected rows from 0 to 299, got -1 to 1"):
        shard.features(["x"], int32(-1, 1))
    edge = {"rows": int32(1), "sources": int32(2), "numbers": np.array([EDGES])}
    with pytest.raises(ValueError, match=r"update: edge:w: expected shape \(1,\), got None"):
        shard.update(edge)
    assert shard.sample(int32(1), int32(0), 1, -1)["counts"].sum() == (GRAPH.targets == 1).sum()
