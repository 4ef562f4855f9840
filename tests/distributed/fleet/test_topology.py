"""Ranks and groups of hybrid parallelism. topology_records.json has PaddlePaddle 3.3.1's answers."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from sampan.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup

from sampan.distributed import fleet
from tests.distributed.fleet import topology_programs as programs

RECORDS = json.loads(Path(__file__).with_name("topology_records.json").read_text())
SIZES = {"data": 2, "pipe": 1, "sharding": 3, "sep": 1, "model": 2}


def test_ranks_of_every_order():
    """NumPy's axes are the oracle: the last is counted first."""
    for order in itertools.permutations(SIZES):
        dims = [SIZES[name] for name in order]
        topology = CommunicateTopology(list(order), dims)
        cells = np.arange(12).reshape(dims)
        assert topology.world_size() == 12
        assert topology.get_hybrid_group_names() == list(order)
        for rank in range(12):
            coordinate = topology.get_coord(rank)
            assert cells[coordinate] == rank
            assert topology.get_rank(**coordinate._asdict()) == rank
            first = topology.get_rank_from_stage(rank, data=0)
            assert topology.get_coord(first) == coordinate._replace(data=0)
        for axis, name in enumerate(order):
            groups = np.moveaxis(cells, axis, -1).reshape(-1, dims[axis])
            assert topology.get_comm_list(name) == groups.tolist()
            for index in range(dims[axis]):
                members = cells.take(index, axis).ravel()
                assert topology.get_axis_list(name, index) == sorted(members.tolist())
        fused = np.moveaxis(cells, [order.index("data"), order.index("model")], [-2, -1]).reshape(3, 4)
        assert sorted(topology.get_fused_ranks(["data", "model"])) == fused.tolist()


def test_topology_errors():
    topology = CommunicateTopology()
    assert topology.get_dim("context") == topology.get_dim_size("pipe") == 1
    with pytest.raises(AssertionError, match="get_coord: rank: expected 0 to 0, got 1"):
        topology.get_coord(1)
    with pytest.raises(AssertionError, match=r"expected a cell of data 1 x .*data=1"):
        topology.get_rank(data=1, pipe=0, sharding=0, sep=0, context=0, model=0)
    with pytest.raises(AssertionError, match=r"expected .*'pipe'.*, got .'data'."):
        topology.get_rank(data=0)
    with pytest.raises(AssertionError, match="got 'tensor'"):
        topology.get_comm_list("tensor")
    with pytest.raises(ValueError, match="tensor"):
        topology.get_dim("tensor")


def test_one_process():
    fleet.init(is_collective=True)
    group = fleet.get_hybrid_communicate_group()
    assert group.nranks == 1
    assert group.get_parallel_mode() is None
    assert group.get_data_parallel_group().ranks == group.get_check_parallel_group().ranks == [0]
    assert (group.is_first_stage, group.is_last_stage) == (True, True)
    assert fleet.get_hybrid_parallel_topology() is group.topology()
    assert isinstance(group, fleet.HybridCommunicateGroup)
    assert HybridCommunicateGroup(CommunicateTopology()).get_model_parallel_rank() == 0
    with pytest.raises(AssertionError, match="sep not exist"):
        group.get_sep_parallel_group()
    with pytest.raises(AssertionError, match="PADDLE_USE_FOUR_DIRECTIONS_P2P"):
        group.get_p2p_groups()
    with pytest.raises(AssertionError, match="first"):
        fleet.Fleet().get_hybrid_communicate_group()


@pytest.mark.servers
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: " ".join(record["configs"]))
def test_groups_are_paddles(workers, record):
    assert workers(4)(programs.places, record["configs"]) == record["processes"]


@pytest.mark.servers
def test_groups_exchange_values(workers):
    assert workers(4)(programs.exchanged, {"mp_degree": 2}) == [([True] * 4, True)] * 4


@pytest.mark.servers
def test_neighbours_in_the_pipeline(workers):
    first, _, _, last = workers(4)(programs.directions)
    assert first == [[0, 1], [0, 3], [0, 1], [0, 3]]
    assert last == [[0, 3], [2, 3], [0, 3], [2, 3]]


@pytest.mark.servers
@pytest.mark.parametrize(
    ("configs", "error", "told"),
    [
        ({"mp_degree": 3}, AssertionError, "model 3: expected 3 processes, there are 4"),
        ({"order": ["dp", "pp"]}, AssertionError, "order: expected"),
        ({"cp_degree": 2}, NotImplementedError, "cp_degree: expected 1, got 2"),
    ],
)
def test_degrees_that_do_not_fit(workers, configs, error, told):
    for outcome in workers(4).outcomes(programs.refused, configs):
        assert isinstance(outcome, error)
        assert told in str(outcome)
