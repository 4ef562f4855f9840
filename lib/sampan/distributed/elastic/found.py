"""Which copies of a run there are, in all processes together, and which of them a restart takes.

A copy belongs to ALL, where the state is the same in all processes, or to one of them: "rank-2-of-4". The
newest step is taken of which there is a copy of each that is needed. A process that lacks one gets the file
of another that has it.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...engine.errors import InvalidArgument
from ...serialization import load
from ..objects import all_gather_object, broadcast_object_list, recv_object_list, send_object_list
from .kept import Copies

ALL = "all"


def of_rank(rank: int, world: int) -> str:
    """The name of a process whose state is its own."""
    return f"rank-{rank}-of-{world}"


class Places:
    """The folders of a run's copies that a process can read: in memory, then on the disk."""

    def __init__(self, memory: Path, disk: Path | None) -> None:
        self.memory, self.disk = memory, disk

    def copies(self, name: str) -> list[Copies]:
        """In memory, and on the disk if there is one."""
        roots = [root for root in (self.memory, self.disk) if root is not None]
        return [Copies(root if name == ALL else root / name) for root in roots]

    def held(self) -> set[tuple[str, int]]:
        """(name, step) of each copy."""
        roots = [root for root in (self.memory, self.disk) if root is not None]
        names = {ALL, *(folder.name for root in roots for folder in root.glob("rank-*-of-*"))}
        return {(name, step) for name in names for copies in self.copies(name) for step in copies.steps()}

    def read(self, name: str, step: int) -> tuple[Path, Any] | None:
        """The file of a copy and its state; None, with a warning, where it cannot be read."""
        for copies in self.copies(name):
            path = copies.path(step)
            if not path.exists():
                continue
            try:
                return path, load(path)
            except (OSError, ValueError, RuntimeError) as error:
                text = f"elastic: {path} cannot be read and is passed over: {error}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
        return None


class Restart:
    """What a restart takes. step: 0 where there is nothing. states: by name, of those that this process
    needs. moved: whether a process got a copy of another one.

    own: whether processes have state of their own. Raises ValueError where that was made by another number
    of processes, RuntimeError where that of a process is lost.
    """

    def __init__(self, places: Places, own: bool, rank: int, world: int) -> None:
        self.places, self.rank, self.world = places, rank, world
        self.names = [ALL, *(of_rank(r, world) for r in range(world))] if own else [ALL]
        self.states: dict[str, Any] = {}
        self.moved = False
        held = places.held()
        while True:
            everyones = self._gathered(sorted(held))
            self.step = self._newest([{(name, step) for name, step in one} for one in everyones])
            if self.step == 0:
                return
            holders = {
                name: [r for r, one in enumerate(everyones) if (name, self.step) in one]
                for name in self.names
            }
            read = {name: places.read(name, self.step) for name in self._to_read(holders)}
            held -= {(name, self.step) for name, copy in read.items() if copy is None}
            if not any(self._gathered(None in read.values())):
                break
        for name, copy in read.items():
            if copy is not None and rank in self._takers(name):
                self.states[name] = copy[1]
        for name in self.names:
            self._move(name, holders[name], read.get(name))

    def _gathered(self, value: Any) -> list[Any]:
        heard: list[Any] = []
        if self.world == 1:
            return [value]
        all_gather_object(heard, value)
        return heard

    def _newest(self, everyones: Sequence[set[tuple[str, int]]]) -> int:
        """The newest step of which nothing is missing."""
        there = set().union(*everyones)
        shared = sorted({step for name, step in there if name == ALL}, reverse=True)
        for step in shared:
            if all((name, step) in there for name in self.names):
                return step
        if not shared:
            return 0
        # A step is shared after each process has kept its own state of it: see `Run`.
        others = sorted({name for name, step in there if step == shared[0] and name != ALL})
        worlds = {int(name.split("-")[-1]) for name in others}
        if worlds and self.world not in worlds:
            raise InvalidArgument(
                f"own: the state of step {shared[0]} is that of {max(worlds)} processes; expected as many, "
                f"got {self.world}"
            )
        lost = [name for name in self.names if (name, shared[0]) not in there]
        raise RuntimeError(
            f"elastic: of step {shared[0]} the state of {', '.join(lost)} is lost: neither its machine nor "
            "the next one has a copy, nor the disk"
        )

    def _takers(self, name: str) -> list[int]:
        """The processes that need a copy."""
        return list(range(self.world)) if name == ALL else [self.names.index(name) - 1]

    def _to_read(self, holders: dict[str, list[int]]) -> list[str]:
        """What this process needs, and what it has and another one needs."""
        return [
            name
            for name, ranks in holders.items()
            if self.rank in ranks
            and (
                self.rank in self._takers(name)
                or (self.rank == ranks[0] and any(r not in ranks for r in self._takers(name)))
            )
        ]

    def _move(self, name: str, holders: list[int], copy: tuple[Path, Any] | None) -> None:
        """Send a copy from its first holder to those that lack it. All processes call it."""
        lacking = [r for r in self._takers(name) if r not in holders]
        if not lacking:
            return
        self.moved = True
        content: list[Any] = [copy[0].read_bytes() if copy is not None and self.rank == holders[0] else None]
        if name == ALL:
            broadcast_object_list(content, holders[0])
        elif self.rank == holders[0]:
            send_object_list(content, lacking[0])
        elif self.rank in lacking:
            recv_object_list(content, holders[0])
        if self.rank in lacking:
            self.states[name] = load(io.BytesIO(content[0]))
