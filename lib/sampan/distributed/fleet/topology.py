"""Which processes exchange what where several kinds of parallelism are mixed (Paddle's module
`fleet.base.topology`).

The processes are the cells of a grid with one axis for each kind, the last axis counted first. The cells that
differ in one coordinate alone form a group of that kind.
"""

from __future__ import annotations

import collections
import itertools
import math
import os
from collections.abc import Sequence
from typing import Any

from .. import environment
from ..arguments import check_kind
from ..collective import new_group
from ..environment import ParallelMode as ParallelMode
from ..group import Group, groups

__all__ = ["CommunicateTopology", "HybridCommunicateGroup"]

AXES = {"dp": "data", "pp": "pipe", "sharding": "sharding", "sep": "sep", "cp": "context", "mp": "model"}
_HYBRID_PARALLEL_GROUP: HybridCommunicateGroup | None = None  # of the last one made, Paddle's name


def _check(holds: bool, told: str) -> None:
    if not holds:
        raise AssertionError(told)


class CommunicateTopology:
    """The grid of processes: names of its axes, and how long each is.

    As in Paddle a wrong rank or coordinate is an AssertionError, an unknown axis a ValueError or an
    AssertionError.
    """

    def __init__(
        self,
        hybrid_group_names: Sequence[str] = ("data", "pipe", "sharding", "sep", "context", "model"),
        dims: Sequence[int] = (1, 1, 1, 1, 1, 1),
    ) -> None:
        self._parallel_names, self._dims = list(hybrid_group_names), list(dims)
        self.coordinate: Any = collections.namedtuple("Coordinate", self._parallel_names)  # type: ignore[misc]  # the axes are known when the grid is made
        cells = itertools.product(*map(range, self._dims))
        self._rank2coord = dict(enumerate(itertools.starmap(self.coordinate, cells)))
        self._coord2rank = {cell: rank for rank, cell in self._rank2coord.items()}
        self._world_size = math.prod(self._dims)

    def get_hybrid_group_names(self) -> list[str]:
        """The names of the axes."""
        return self._parallel_names

    def get_dim(self, axis_name: str) -> int:
        """How long an axis is."""
        return self._dims[self._parallel_names.index(axis_name)]

    def get_dim_size(self, axis_name: str) -> int:
        """`get_dim`, with an AssertionError for an unknown axis."""
        self._known(axis_name)
        return self.get_dim(axis_name)

    def world_size(self) -> int:
        """How many processes there are."""
        return self._world_size

    def get_rank(self, **args: int) -> int:
        """The process with these coordinates, one for each axis."""
        _check(len(args) == len(self._dims), f"get_rank: expected {self._parallel_names}, got {[*args]}")
        key = self.coordinate(**args)
        _check(key in self._coord2rank, f"get_rank: expected a cell of {self._told()}, got {key}")
        return self._coord2rank[key]

    def get_coord(self, rank: int) -> Any:
        """The coordinates of a process: a named tuple."""
        _check(rank in self._rank2coord, f"get_coord: rank: expected 0 to {self._world_size - 1}, got {rank}")
        return self._rank2coord[rank]

    def get_axis_list(self, axis_name: str, index: int) -> list[int]:
        """The processes whose coordinate on an axis is `index`."""
        axis = self._parallel_names.index(axis_name)
        return [rank for rank, cell in self._rank2coord.items() if cell[axis] == index]

    def get_comm_list(self, axis_name: str) -> list[list[int]]:
        """The groups of an axis: the processes of each differ in that coordinate alone."""
        self._known(axis_name)
        return self.get_fused_ranks([axis_name])

    def get_fused_ranks(self, fused_axis: Sequence[str]) -> list[list[int]]:
        """The groups of several axes: the processes of each differ in these coordinates alone. Within a group
        the last named axis is counted first."""
        found: dict[Any, list[tuple[Any, int]]] = {}
        for rank, cell in self._rank2coord.items():
            fixed = tuple(
                at for at, name in zip(cell, self._parallel_names, strict=True) if name not in fused_axis
            )
            place = tuple(getattr(cell, name) for name in fused_axis)
            found.setdefault(fixed, []).append((place, rank))
        return [[rank for _, rank in sorted(members)] for members in found.values()]

    def get_rank_from_stage(self, global_rank: int, **kwargs: int) -> int:
        """The process that has the coordinates of `global_rank`, except for those given."""
        return self.get_rank(**self.get_coord(global_rank)._replace(**kwargs)._asdict())

    def _known(self, axis_name: str) -> None:
        _check(
            axis_name in self._parallel_names, f"expected one of {self._parallel_names}, got {axis_name!r}"
        )

    def _told(self) -> str:
        return " x ".join(
            f"{name} {size}" for name, size in zip(self._parallel_names, self._dims, strict=True)
        )


class HybridCommunicateGroup:
    """The groups of this process, one for each kind of parallelism. Every process must make it.

    AssertionError where the grid has not as many cells as there are processes. nranks: how many there are;
    global_rank: this one's number; stage_id, is_first_stage, is_last_stage: its place in the pipeline;
    next_rank, prev_rank: its neighbours there, in a ring.
    """

    def __init__(self, topology: CommunicateTopology, hybrid_configs: Any = None) -> None:
        global _HYBRID_PARALLEL_GROUP
        check_kind(topology, CommunicateTopology, "topology")
        self.nranks, self.global_rank = environment.get_world_size(), environment.get_rank()
        self._topo = topology
        degrees = [topology.get_dim(name) for name in ("data", "model", "pipe", "sharding", "sep")]
        self._dp_degree, self._mp_degree, self._pp_degree, self._sharding_degree, self._sep_degree = degrees
        _check(
            topology.world_size() == self.nranks,
            f"HybridCommunicateGroup: {topology._told()}: expected {topology.world_size()} processes, "
            f"there are {self.nranks}",
        )
        self._coord = topology.get_coord(self.global_rank)
        self.stage_id: int = self._coord.pipe
        self.is_first_stage, self.is_last_stage = self.stage_id == 0, self.stage_id == self._pp_degree - 1
        self._groups = {
            name: self._made(topology.get_comm_list(name)) for name in ("pipe", "data", "model", "sharding")
        }
        self._checks = {"data": self._made_check("data")}
        if self._sharding_degree > 1:
            self._checks["sharding"] = self._made_check("sharding")
        if self._sep_degree > 1:
            self._groups["sep"] = self._made(topology.get_comm_list("sep"))
            self._groups["data sep"] = self.create_fuse_group(["data", "sep"])[1]
            self._groups["pipe model"] = self.create_fuse_group(["pipe", "model"])[1]
        self._directions: tuple[Group, ...] | None = None
        if self._pp_degree > 1:
            ring = self._groups["pipe"].ranks
            self.next_rank = ring[(self.stage_id + 1) % len(ring)]
            self.prev_rank = ring[(self.stage_id - 1) % len(ring)]
            if os.environ.get("PADDLE_USE_FOUR_DIRECTIONS_P2P"):
                self._directions = self._made_directions()
        _HYBRID_PARALLEL_GROUP = self

    def _made(self, listed: Sequence[Sequence[int]]) -> Group:
        """Make the groups of all processes; returns this one's."""
        made = [new_group(ranks) for ranks in listed]
        return next(group for group in made if group.is_member())

    def _made_check(self, axis: str) -> Group:
        size = self._topo.get_dim(axis)
        return self._made([self._topo.get_axis_list(axis, index) for index in range(size)])

    def _made_directions(self) -> tuple[Group, ...]:
        """Groups of two stages, one for each direction: send to the next, to the one before, receive from the
        next, from the one before."""
        found: dict[str, Group] = {}
        for ring in self._topo.get_comm_list("pipe"):
            for at, rank in enumerate(ring):
                for step, towards, back in ((1, "next", "prev"), (-1, "prev", "next")):
                    other = ring[(at + step) % len(ring)]
                    group = new_group([rank, other])
                    if self.global_rank == rank:
                        found[f"send {towards}"] = group
                    if self.global_rank == other:
                        found[f"receive {back}"] = group
        return tuple(found[name] for name in ("send next", "send prev", "receive next", "receive prev"))

    def create_fuse_group(
        self, fused_strategy_list: Sequence[str], nccl_config: Any = None
    ) -> tuple[list[int], Group]:
        """The processes that differ from this one on these axes alone: their ranks, and a new group of them.
        Every process must call it."""
        _check(
            len(fused_strategy_list) > 0, "create_fuse_group: fused_strategy_list: expected names, got none"
        )
        listed = sorted(self._topo.get_fused_ranks(fused_strategy_list))
        own = next(ranks for ranks in listed if self.global_rank in ranks)
        return own, self._made(listed)

    def get_parallel_mode(self) -> int | None:
        """The kind of ParallelMode that the network is wrapped for: the first of pipeline, tensor, segment,
        sharding and data parallelism that has several processes; None with one process."""
        for degree, mode in (
            (self._pp_degree, ParallelMode.PIPELINE_PARALLEL),
            (self._mp_degree, ParallelMode.TENSOR_PARALLEL),
            (self._sep_degree, ParallelMode.SEGMENT_PARALLEL),
            (self._sharding_degree, ParallelMode.SHARDING_PARALLEL),
            (self._dp_degree, ParallelMode.DATA_PARALLEL),
        ):
            if degree > 1:
                return mode
        return None

    def topology(self) -> CommunicateTopology:
        """The grid."""
        return self._topo

    def get_global_rank(self) -> int:
        """The number of this process among all."""
        return self.global_rank

    # --- data parallelism ---

    def get_data_parallel_rank(self) -> int:
        """This process's place in its group of data parallelism."""
        return int(self._coord.data)

    def get_data_parallel_world_size(self) -> int:
        """How many parts of the batch there are (without those of sharding)."""
        return self._dp_degree

    def get_data_parallel_group(self) -> Group:
        """The processes that have the same parameters and other parts of the batch."""
        return self._groups["data"]

    def get_data_parallel_group_src_rank(self) -> int:
        """The first process of the group, by its number among all."""
        return self._groups["data"].ranks[0]

    # --- tensor (model) parallelism ---

    def get_model_parallel_rank(self) -> int:
        """This process's place in its group of tensor parallelism."""
        return int(self._coord.model)

    def get_model_parallel_world_size(self) -> int:
        """Over how many processes layers are cut."""
        return self._mp_degree

    def get_model_parallel_group(self) -> Group:
        """The processes that have the other parts of the same layers."""
        return self._groups["model"]

    def get_model_parallel_group_src_rank(self) -> int:
        """The first process of the group, by its number among all."""
        return self._groups["model"].ranks[0]

    # --- pipeline parallelism ---

    def get_stage_id(self) -> int:
        """This process's stage of the pipeline."""
        return self.stage_id

    def get_pipe_parallel_world_size(self) -> int:
        """How many stages there are."""
        return self._pp_degree

    def get_pipe_parallel_group(self) -> Group:
        """The stages of this process's pipeline."""
        return self._groups["pipe"]

    def get_p2p_groups(self) -> tuple[Group, ...]:
        """Groups to send to the next stage and to the one before, to receive from the next and from the one
        before. AssertionError unless PADDLE_USE_FOUR_DIRECTIONS_P2P was set when the groups were made."""
        told = (
            "get_p2p_groups: expected several stages, and PADDLE_USE_FOUR_DIRECTIONS_P2P in the environment"
        )
        _check(self._directions is not None, told)
        return self._directions or ()

    def get_rank_from_stage(self, stage_id: int, **kwargs: int) -> int:
        """The process of another stage with this one's other coordinates, except for those given."""
        return self._topo.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    # --- sharding ---

    def get_sharding_parallel_rank(self) -> int:
        """This process's place in its group of sharding."""
        return int(self._coord.sharding)

    def get_sharding_parallel_world_size(self) -> int:
        """Over how many processes the state of the optimizer is cut; each has its own part of the batch."""
        return self._sharding_degree

    def get_sharding_parallel_group(self) -> Group:
        """The processes that have the other parts of the optimizer's state."""
        return self._groups["sharding"]

    def get_sharding_parallel_group_src_rank(self) -> int:
        """The first process of the group, by its number among all."""
        return self._groups["sharding"].ranks[0]

    def get_moe_sharding_parallel_world_size(self) -> int:
        """0: experts cannot be sharded."""
        return 0

    def copies(self) -> Group:
        """The processes that have the same parameters as this one and other parts of the batch: those of
        data parallelism and sharding together. Every process must call it the first time."""
        if "copies" not in self._groups:
            self._groups["copies"] = self.create_fuse_group(["data", "sharding"])[1]
        return self._groups["copies"]

    # --- segments of the sequence ---

    def get_sep_parallel_rank(self) -> int:
        """This process's place in its group of segment parallelism."""
        return int(self._coord.sep)

    def get_sep_parallel_world_size(self) -> int:
        """Over how many processes sequences are cut."""
        return self._sep_degree

    def get_sep_parallel_group(self) -> Group:
        """The processes that have the other segments. AssertionError where there are none."""
        return self._sep("sep")

    def get_sep_parallel_group_src_rank(self) -> int:
        """The first process of the group, by its number among all."""
        return self._sep("sep").ranks[0]

    def get_dp_sep_parallel_group(self) -> Group:
        """The processes with the same parameters: other parts of the batch, or other segments."""
        return self._sep("data sep")

    def get_pp_mp_parallel_group(self) -> Group:
        """The processes that have other stages, or other parts of the same layers."""
        return self._sep("pipe model")

    def _sep(self, name: str) -> Group:
        _check(self._sep_degree > 1, "sep not exist")
        return self._groups[name]

    # --- all that train one copy ---

    def get_check_parallel_group(self, sharding: bool = False) -> Group:
        """The processes with the same place in data parallelism (or in sharding): over them a norm is
        complete."""
        return self._checks["sharding" if sharding else "data"]


def current(what: str) -> HybridCommunicateGroup:
    """The groups that were made last. AssertionError, which names the caller `what`, where there are none."""
    if _HYBRID_PARALLEL_GROUP is None:
        raise AssertionError(f"{what}: call fleet.init(is_collective=True, strategy=strategy) first")
    return _HYBRID_PARALLEL_GROUP


def hybrid_group(strategy: Any, before: HybridCommunicateGroup | None) -> HybridCommunicateGroup:
    """The groups that `strategy.hybrid_configs` asks for; those made `before` if they are the same.

    dp_degree -1: all processes that the other degrees leave. AssertionError where the product of the degrees
    is not the number of processes, or an order names other axes than Paddle's.
    """
    configs, order = strategy.hybrid_configs, strategy.hybrid_parallel_order
    for name in ("cp_degree", "ep_degree", "moe_sharding_degree"):
        if configs[name] > 1:
            raise NotImplementedError(f"fleet.init: hybrid_configs: {name}: expected 1, got {configs[name]}")
    needed = {*AXES} - {"cp"}
    _check(
        needed <= {*order} <= {*AXES} and len(order) == len({*order}),
        f"fleet.init: hybrid_configs: order: expected {[*AXES]} in any order, got {order}",
    )
    degrees = {name: max(configs[f"{name}_degree"], 1) for name in order}
    if configs["dp_degree"] < 0:
        others = math.prod(degree for name, degree in degrees.items() if name != "dp")
        degrees["dp"] = max(environment.get_world_size() // others, 1)
    topology = CommunicateTopology([AXES[name] for name in order], [degrees[name] for name in order])
    if before is None or not _serves(before, topology):
        return HybridCommunicateGroup(topology)
    global _HYBRID_PARALLEL_GROUP
    _HYBRID_PARALLEL_GROUP = before  # also where the program has made others itself
    return before


def _serves(group: HybridCommunicateGroup, topology: CommunicateTopology) -> bool:
    """Whether these groups are for this grid, and still connected."""
    same = group._topo._rank2coord == topology._rank2coord
    return (
        same
        and group._topo._parallel_names == topology._parallel_names
        and all(groups.get(one.id) is one for one in (*group._groups.values(), *group._checks.values()))
    )
