"""Paddle's modules `fleet.base.strategy_group` and `fleet.base.orthogonal_strategy`: groups of processes for
ways of training in parallel that are arranged as a grid by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..collective import new_group
from ..environment import get_rank, get_world_size, is_initialized
from ..group import Group
from .parallel_random import RNGStatesTracker

__all__ = ["DPGroup", "MPGroup", "OrthogonalStrategy", "PPGroup", "ShardingGroup", "StrategyGroupBase"]


class StrategyGroupBase:
    """The groups of one way of training in parallel.

    list_of_ranks: the processes of each group; all processes must make all groups. AssertionError before
    `init_parallel_env`, or without groups.
    """

    _one = ""  # the kind's name where a process may be in one group only

    def __init__(self, list_of_ranks: Sequence[Sequence[int]]) -> None:
        assert is_initialized(), "The global communication group need to be initialized."
        assert len(list_of_ranks), "The list_of_ranks can not be empty."
        self._rank, self._list_of_ranks = get_rank(), list_of_ranks
        made = [new_group([*ranks]) for ranks in list_of_ranks]
        self.list_of_group: list[Group] = [
            group for group, ranks in zip(made, list_of_ranks, strict=True) if self._rank in ranks
        ]
        self.random_states_tracker = RNGStatesTracker()
        assert not (self._one and len(self.list_of_group) > 1), (
            f"Rank {self._rank} belongs to multi {self._one} groups"
        )

    def add_random_seed(self, name: str, seed: int) -> None:
        """Add a random state to this process's tracker."""
        self.random_states_tracker.add(name, seed)

    def get_random_states_tracker(self) -> RNGStatesTracker:
        """The tracker."""
        return self.random_states_tracker

    @property
    def world_size(self) -> int | list[int]:
        """How many processes a group has; a list where the groups differ."""
        sizes = [len(ranks) for ranks in self._list_of_ranks]
        return sizes[0] if len(set(sizes)) == 1 else sizes

    @property
    def group(self) -> Any:
        """This process's group; a list where there are several, None where there is none."""
        return self.list_of_group if len(self.list_of_group) > 1 else next(iter(self.list_of_group), None)

    def __repr__(self) -> str:
        each = (f"Group[{at}]: {group}; " for at, group in enumerate(self.list_of_group))
        return "".join(each) or "No group."


class DPGroup(StrategyGroupBase):
    """Groups of data parallelism, of which a process is in one."""

    _one = "dp"


class MPGroup(StrategyGroupBase):
    """Groups of tensor parallelism, of which a process is in one."""

    _one = "mp"


class ShardingGroup(StrategyGroupBase):
    """Groups of sharded training, of which a process is in one."""

    _one = "sharding"


class PPGroup(StrategyGroupBase):
    """Pipelines, of which a process is in one, with a group for each two stages that follow one another, in
    a circle.

    rank_of_next_stage, rank_of_prev_stage: processes; None with one stage. p2p_groups: for sending to the
    next and the previous stage, and for receiving from them.
    """

    _one = "pp"

    def __init__(self, list_of_ranks: Sequence[Sequence[int]]) -> None:
        super().__init__(list_of_ranks)
        self.rank_of_next_stage: int | None = None
        self.rank_of_prev_stage: int | None = None
        found: dict[str, Group | None] = dict.fromkeys(
            ("to next", "to previous", "from next", "from previous")
        )
        for ranks in list_of_ranks if self.world_size != 1 else ():
            for at, rank in enumerate(ranks):
                after, before = ranks[(at + 1) % len(ranks)], ranks[at - 1]
                if self._rank == rank:
                    self.rank_of_next_stage, self.rank_of_prev_stage = after, before
                forth, back = new_group([rank, after]), new_group([before, rank])
                if self._rank == rank:
                    found["to next"], found["to previous"] = forth, back
                if self._rank == after:
                    found["from previous"] = forth
                if self._rank == before:
                    found["from next"] = back
        self.p2p_groups = tuple(found.values())


class OrthogonalStrategy:
    """Several ways of training in parallel at once: the processes are a grid with an axis for each.

    list_of_strategy: (name, degree, class of its groups) for each axis, the last of which changes fastest.
    fused_strategy_dict: names of further groups, each over several axes together. strategy_rank_list: the
    processes of the grid, in order; all by default. AssertionError where the degrees do not multiply to their
    number.
    """

    def __init__(
        self,
        list_of_strategy: Sequence[tuple[str, int, Any]],
        fused_strategy_dict: Mapping[str, Sequence[str]] | None = None,
        strategy_rank_list: Sequence[int] | None = None,
    ) -> None:
        ranks = [*range(get_world_size())] if strategy_rank_list is None else [*strategy_rank_list]
        names = [name for name, _, _ in list_of_strategy]
        degrees = [degree for _, degree, _ in list_of_strategy]
        assert len(names) == len({*names}), f"Defined duplicated strategies: {names}"
        assert math.prod(degrees) == len(ranks), (
            f"There are total {len(ranks)} ranks, but need {math.prod(degrees)} ranks in this strategy."
        )
        fused = fused_strategy_dict or {}
        for axes in fused.values():
            for name in axes:
                assert name in names, f"Can not fuse strategy {name} without defined previous."
        places = [*itertools.product(*map(range, degrees))]
        self._degrees, self._ranks = (
            dict(zip(names, degrees, strict=True)),
            dict(zip(places, ranks, strict=True)),
        )
        self._groups = {name: kind(self._along([name])) for name, _, kind in list_of_strategy}
        self._fused = {name: StrategyGroupBase(self._along(axes)) for name, axes in fused.items()}

    def _along(self, axes: Sequence[str]) -> list[list[int]]:
        """The processes of each group over these axes: the grid's other axes stay the same in a group."""
        names = [*self._degrees]
        others = [name for name in names if name not in axes]
        found = []
        for fixed in itertools.product(*(range(self._degrees[name]) for name in others)):
            at = dict(zip(others, fixed, strict=True))
            group = []
            for moved in itertools.product(*(range(self._degrees[name]) for name in axes)):
                at.update(zip(axes, moved, strict=True))
                group.append(self._ranks[tuple(at[name] for name in names)])
            found.append(group)
        return found

    def strategy_group(self, name: str) -> Any:
        """The groups of an axis. AssertionError for an unknown one."""
        assert name in self._groups, f"Strategy group {name} is not created."
        return self._groups[name]

    def fused_strategy_group(self, name: str) -> StrategyGroupBase:
        """The groups over several axes. AssertionError for an unknown one."""
        assert name in self._fused, f"Fused strategy group {name} is not created."
        return self._fused[name]

    def rank_in_strategy(self, name: str) -> int:
        """This process's number in its group of an axis."""
        rank: int = self.strategy_group(name).group.rank
        return rank
