"""Groups of processes that exchange values."""

from collections import deque
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..engine.errors import InvalidType

__all__ = ["Group"]


class Group:
    """Processes that exchange values.

    rank: this process's number in the group, -1 if it is not a member. ranks: the members' numbers among all
    processes. torch_group: torch's ProcessGroup; None for a group of one, and for processes that are not
    members.
    """

    def __init__(
        self,
        rank_in_group: int = 0,
        id: int = 0,
        ranks: Sequence[int] = (0,),
        pg: Any = None,
        name: str | None = None,
    ) -> None:
        self.rank, self.id, self.ranks, self.torch_group = rank_in_group, id, list(ranks), pg
        self._process_group: Any = None
        self.name = name or f"_default_pg{id or ''}"
        self.nranks = self.world_size = len(self.ranks)
        # How the members' calls are compared, see agreement.py: torch's ProcessGroup for it, the number of
        # calls and of comparisons so far, pairs of calls that followed one another, the last call.
        self.checks: Any = None
        self.calls = self.compared = 0
        self.seen: set[Any] = set()
        self.previous: Any = None
        self.inside: Any = None  # (thread, name of the call) where a thread is in one
        self.recent: deque[Any] = deque(maxlen=16)  # the last calls, for errors

    @property
    def process_group(self) -> Any:
        """Its exchanges as Paddle's own code calls them: see `process_group.ProcessGroup`; None where there
        is no `torch_group`."""
        if self._process_group is None and self.torch_group is not None:
            self._process_group = import_module(f"{__package__}.process_group").ProcessGroup(self)
        return None if self.torch_group is None else self._process_group

    @property
    def backend(self) -> str:
        """GLOO, or NCCL where the group's tensors are on GPUs."""
        device_types = getattr(self.torch_group, "_device_types", ())
        return "NCCL" if any(d.type == "cuda" for d in device_types) and _uses_nccl() else "GLOO"

    def is_member(self) -> bool:
        return self.rank >= 0

    def get_group_rank(self, rank: int) -> int:
        """The number in the group of a process, -1 if it is not a member."""
        return self.ranks.index(rank) if self.is_member() and rank in self.ranks else -1

    def get_global_rank(self, rank: int) -> int:
        """The number among all processes of a member, -1 if this process is not one."""
        return self.ranks[rank] if self.is_member() else -1

    def __repr__(self) -> str:
        ranks = ", ".join(map(str, self.ranks))
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {ranks}; name: {self.name}"


def _uses_nccl() -> bool:
    from torch.distributed import get_backend_config

    return "nccl" in str(get_backend_config())


groups: dict[int, Group] = {}  # by id; 0 is the group of all processes


def group_of(given: Any, what: str) -> Group:
    """The Group, also where its `process_group` is given, as in PaddlePaddle's example of `spawn`.

    InvalidType for anything else; what: the argument's name in the error.
    """
    if isinstance(given, Group):
        return given
    for group in groups.values() if given is not None else ():
        if given is group.process_group or given is group.torch_group:
            return group
    raise InvalidType(f"{what}: expected a Group, got {type(given).__name__}")


def new_id() -> int:
    """The id of the next group: Paddle's first is 10."""
    return max([9, *groups]) + 1
