"""Who may ask a warm process for forks, and how many."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field

MOST = 32  # forks and open requests of one account of a class
BURST, EACH_S = 30.0, 1.0  # starts of one account at once, and the seconds after which it may start one more
SPARE_FILES = 100  # of the warm process itself; a fork takes two


@dataclass
class Gate:
    """The account that runs the warm process. If that is root, also the members (uids) of a class, each within limits: one
    must not use up the warm process of all."""

    members: frozenset[int] = frozenset()
    most_together: int = 1 << 30
    _open: Counter[int] = field(default_factory=Counter)
    _starts: dict[int, tuple[float, float]] = field(default_factory=dict)  # (starts left, at that time)

    @property
    def serves_a_class(self) -> bool:
        return bool(self.members)

    def enter(self, uid: int) -> bool:
        """Whether a connection of that account is accepted; if so, `leave` must be called at its end."""
        if uid != os.geteuid():
            full = self._open[uid] >= MOST or self._open.total() >= self.most_together
            if uid not in self.members or full:
                return False
        self._open[uid] += 1
        return True

    def leave(self, uid: int) -> None:
        self._open[uid] -= 1

    def may_start(self, uid: int) -> bool:
        """Whether that account may start one more process now."""
        if uid == os.geteuid():
            return True
        now = time.monotonic()
        left, since = self._starts.get(uid, (BURST, now))
        left = min(BURST, left + (now - since) / EACH_S)
        self._starts[uid] = (left - 1, now) if left >= 1 else (left, now)
        return left >= 1
