"""Which steps of which workers a table has: what is applied once, what waits, and who must wait."""

from __future__ import annotations

from typing import Any

from .push_log import Push


class Turns:
    """workers: how many push; they number their pushes 1, 2, 3 ... staleness: see TableSettings.

    A worker that has left is waited for no more.
    """

    def __init__(self, workers: int, staleness: int | None) -> None:
        self.workers, self.staleness = workers, staleness
        self.applied = dict.fromkeys(range(workers), 0)  # the last step of each worker
        self.left: set[int] = set()
        self.waiting: dict[int, Push] = {}  # of a step that some workers have not pushed yet

    def is_known(self, worker: int, step: int) -> bool:
        """Whether this push was taken before."""
        return step <= self.applied.get(worker, 0)

    def take(self, push: Push) -> list[Push]:
        """The pushes to apply now, by worker: this one, or all of the step that it completes, or none yet."""
        self.applied[push.worker] = push.step
        if self.staleness != 0 or self.workers == 1:
            return [push]
        self.waiting[push.worker] = push
        return self._completed()

    def leave(self, worker: int) -> list[Push]:
        """A worker pushes no more: what the others' step was waiting with."""
        self.left.add(worker)
        return self._completed()

    def awaited(self, step: int) -> int | None:
        """The worker whose push must come before one may pull for `step`, of several the slowest; None: now.

        A step is numbered as its push will be: 1 is the first. Of workers with the same last step it is the
        first.
        """
        if self.staleness is None or self.workers == 1:
            return None
        if self.staleness == 0 and self.waiting:
            behind = [w for w in self._active() if w not in self.waiting]
            if step <= min(push.step for push in self.waiting.values()):
                return None
        else:
            behind = [w for w in self._active() if self.applied[w] < step - 1 - self.staleness]
        return min(behind, key=self.applied.__getitem__, default=None)

    def notes(self) -> dict[str, Any]:
        """For a snapshot, which has all pushes but the waiting ones."""
        steps = {w: step - (w in self.waiting) for w, step in self.applied.items()}
        return {"applied": sorted(steps.items()), "left": sorted(self.left)}

    def restore(self, notes: dict[str, Any]) -> None:
        """As it was when `notes` were taken."""
        self.applied |= {int(worker): int(step) for worker, step in notes.get("applied", ())}
        self.left = set(notes.get("left", ()))

    def _active(self) -> list[int]:
        return [worker for worker in range(self.workers) if worker not in self.left]

    def _completed(self) -> list[Push]:
        if not self.waiting or any(worker not in self.waiting for worker in self._active()):
            return []
        pushes = [push for _, push in sorted(self.waiting.items())]
        self.waiting = {}
        return pushes
