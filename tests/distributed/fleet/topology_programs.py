"""Programs of test_topology.py: each process tells its place."""

import json
import os

from sampan.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import fleet
from sampan.distributed.fleet.base import topology


def strategy(**configs):
    made = fleet.DistributedStrategy()
    made.hybrid_configs = configs
    return made


def places(configs):
    """What each getter says in this process."""
    fleet.init(is_collective=True, strategy=strategy(**configs))
    group = fleet.get_hybrid_communicate_group()
    assert topology._HYBRID_PARALLEL_GROUP is group
    said = {}
    for kind in ("data", "model", "sharding"):
        for what in ("rank", "world_size", "group_src_rank", "group"):
            value = getattr(group, f"get_{kind}_parallel_{what}")()
            said[f"{kind} {what}"] = value.ranks if what == "group" else value
    said["stage"] = group.get_stage_id(), group.is_first_stage, group.is_last_stage
    said["pipe"] = group.get_pipe_parallel_world_size(), group.get_pipe_parallel_group().ranks
    said["check"] = group.get_check_parallel_group().ranks
    said["mode"] = group.get_parallel_mode()
    if group.get_pipe_parallel_world_size() > 1:
        said["neighbours"] = group.prev_rank, group.next_rank
        last = group.get_pipe_parallel_world_size() - 1
        said["last"] = group.get_rank_from_stage(last), group.get_rank_from_stage(last, data=0)
    if group.get_sep_parallel_world_size() > 1:
        said["segments"] = (
            group.get_sep_parallel_rank(),
            group.get_sep_parallel_group().ranks,
            group.get_dp_sep_parallel_group().ranks,
            group.get_pp_mp_parallel_group().ranks,
        )
    if group.get_sharding_parallel_world_size() > 1:
        said["check sharding"] = group.get_check_parallel_group(True).ranks
    return json.loads(json.dumps(said))


def exchanged(configs):
    """Sums over each group of the numbers of its processes, and whether a second init keeps the groups, also after the
    program has made others."""
    fleet.init(is_collective=True, strategy=strategy(**configs))
    group = fleet.get_hybrid_communicate_group()
    rank = group.get_global_rank()
    values = []
    for one in (
        group.get_data_parallel_group(),
        group.get_model_parallel_group(),
        group.get_pipe_parallel_group(),
        group.get_check_parallel_group(),
    ):
        x = paddle.to_tensor(rank)
        dist.all_reduce(x, group=one)
        values.append(int(x) == sum(one.ranks))
    HybridCommunicateGroup(CommunicateTopology(dims=[1, 4, 1, 1, 1, 1]))
    fleet.init(is_collective=True, strategy=strategy(**configs))
    return values, fleet.get_hybrid_communicate_group() is topology._HYBRID_PARALLEL_GROUP is group


def refused(configs):
    """Degrees or orders that do not fit."""
    fleet.init(is_collective=True, strategy=strategy(**configs))


def directions():
    """Groups of two neighbouring stages, and what is said without the environment's variable."""
    os.environ["PADDLE_USE_FOUR_DIRECTIONS_P2P"] = "1"
    try:
        group = HybridCommunicateGroup(CommunicateTopology(dims=[1, 4, 1, 1, 1, 1]))
    finally:
        del os.environ["PADDLE_USE_FOUR_DIRECTIONS_P2P"]
    return [one.ranks for one in group.get_p2p_groups()]
