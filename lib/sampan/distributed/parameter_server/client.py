"""A worker's side: its requests to all shards."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engine.errors import InvalidArgument
from ...kernels.cpu_embedding_shards import divided
from ...transport import Asked, Call, Transport
from .settings import TableSettings
from .wire import narrow, wide

POLL = 0.0005, 0.02  # seconds between two requests for rows that wait for another worker: first, longest


class Client:
    """Tables on the shards of a transport, for one worker.

    worker: its number, from 0. half: rows and gradients travel as bfloat16. timeout: seconds to wait for
    the push of another worker. The shards must be open. A step has one push to each shard, for all tables
    at once; at most one is on its way while the next is computed.
    """

    def __init__(
        self, transport: Transport, worker: int = 0, half: bool = False, timeout: float = 60.0
    ) -> None:
        self.transport, self.worker, self.half, self.timeout = transport, worker, half, timeout
        self.tables: dict[str, TableSettings] = {}
        self.step = 1  # of the push that comes next
        self._pushing: Asked | None = None

    def table(self, name: str, settings: TableSettings) -> None:
        """Make a table on all shards, or find it there. Raises ValueError for other settings than it has."""
        if not 0 <= self.worker < settings.workers:
            raise InvalidArgument(
                f"table: expected a worker below {settings.workers} for {name!r}, got {self.worker}"
            )
        calls = self._all("table", name, settings.described())
        steps = [last[self.worker] for last in self.transport.request(calls)]
        self.tables[name] = settings
        self.step = max(self.step, max(steps) + 1)  # of a worker that was started again: it goes on numbering

    def ask_rows(self, name: str, ids: np.ndarray, train: bool = True) -> Rows:
        """Ask for the rows of ids, each once, int64 [n], and go on; `wait` gives them."""
        order, bounds = divided(ids, self.transport.parts)
        return Rows(self, name, ids, order, bounds, train)

    def pull(self, name: str, ids: np.ndarray, train: bool = True) -> np.ndarray:
        """The rows of ids, each once: float32 [n, dim].

        Raises TimeoutError, which names the worker that was waited for."""
        return self.ask_rows(name, ids, train).wait()

    def push(self, gradients: Mapping[str, tuple[np.ndarray, np.ndarray, float]]) -> None:
        """The gradients of a step by table: ids [n] int64, each once; float32 [n, dim]; the rate.

        Tables that are not named have none. Returns when the push before this one was answered. Raises
        ValueError, before anything is sent, for gradients that are not finite, and what the push before it
        raised.
        """
        calls: list[Call] = []
        for name, settings in self.tables.items():
            none = np.empty(0, np.int64), np.empty((0, settings.dim), np.float32), 0.0
            ids, rows, rate = gradients.get(name, none)
            if rows.shape != (len(ids), settings.dim):
                raise InvalidArgument(
                    f"push: {name!r}: expected rows [{len(ids)}, {settings.dim}], got {list(rows.shape)}"
                )
            if not np.isfinite(rows).all():
                wrong = ids[~np.isfinite(rows).all(1)][0]
                raise InvalidArgument(
                    f"push: worker {self.worker}, step {self.step}: {name!r}: the gradient of id {wrong} "
                    "is not finite"
                )
            order, bounds = divided(ids, self.transport.parts)
            ids, rows = ids[order], rows[order]  # copies: what is sent must stay as it is
            rows = narrow(rows) if self.half else rows
            for shard in range(self.transport.parts):
                mine = slice(bounds[shard], bounds[shard + 1])
                given = (name, ids[mine], rows[mine], rate, self.worker, self.step)
                calls.append((shard, "push", given))
        self.settle()
        self._pushing = self.transport.ask(calls)
        self.step += 1

    def place(self, name: str, ids: np.ndarray, rows: np.ndarray) -> None:
        """Set the rows [n, dim] of those ids that have none; others stay as they are."""
        order, bounds = divided(ids, self.transport.parts)
        ids, rows = ids[order], rows[order]
        cuts = [slice(bounds[shard], bounds[shard + 1]) for shard in range(self.transport.parts)]
        self.transport.request(
            [(shard, "place", (name, ids[cut], rows[cut])) for shard, cut in enumerate(cuts)]
        )

    def settle(self) -> None:
        """Wait until the last push was answered. Raises what a shard raised."""
        if self._pushing is not None:
            pushing, self._pushing = self._pushing, None
            pushing.wait()

    def save(self, folder: str = "") -> None:
        """Snapshots of all shards, or a copy of all tables in another folder."""
        self.settle()
        self.transport.request(self._all("save", folder))

    def load(self, name: str, folder: str) -> None:
        """The rows of a table from what `save` copied to a folder. Raises FileNotFoundError, ValueError."""
        self.settle()
        self.transport.request(self._all("load", name, folder))

    def shrink(self, max_age: int) -> int:
        """Remove rows that the last `max_age` look-ups of their shard did not name; how many."""
        self.settle()
        return sum(self.transport.request(self._all("shrink", max_age)))

    def leave(self) -> None:
        """This worker pushes no more."""
        self.settle()
        self.transport.request(self._all("leave", self.worker))

    def statistics(self, name: str) -> dict[str, int]:
        """Sums over the shards; see Part.statistics."""
        self.settle()
        found = self.transport.request(self._all("statistics", name))
        return {key: sum(one[key] for one in found) for key in found[0]}

    def _all(self, method: str, *given: Any) -> list[Call]:
        return [(shard, method, given) for shard in range(self.transport.parts)]


class Rows:
    """A pull that was asked for."""

    def __init__(
        self, client: Client, name: str, ids: np.ndarray, order: np.ndarray, bounds: np.ndarray, train: bool
    ) -> None:
        self.ids, self.step = ids, client.step
        self.known = np.ones(len(ids), bool)  # after `wait`: which ids have a row; others get no gradient
        self._client, self._name, self._train = client, name, train
        self._places = {
            shard: order[bounds[shard] : bounds[shard + 1]]
            for shard in range(len(bounds) - 1)
            if bounds[shard] < bounds[shard + 1]
        }
        self._shards = list(self._places)
        self._asked = self._ask(self._shards)

    def wait(self) -> np.ndarray:
        """float32 [n, dim]. Raises TimeoutError, which names the worker that was waited for."""
        rows = np.empty((len(self.ids), self._client.tables[self._name].dim), np.float32)
        until, pause = time.monotonic() + self._client.timeout, POLL[0]
        while True:
            late = {}
            for shard, answer in zip(self._shards, self._asked.wait(), strict=True):
                if "rows" in answer:
                    found = answer["rows"]  # read only where the transport maps memory
                    rows[self._places[shard]] = found if found.dtype == rows.dtype else wide(found)
                    self.known[self._places[shard]] = answer.get("known", True)
                else:
                    late[shard] = answer["pushed"], answer["waits_for"]
            if not late:
                return rows
            if time.monotonic() > until:
                step = self.step - 1 - (self._client.tables[self._name].staleness or 0)
                raise TimeoutError(
                    f"pull: {self._name!r}: worker {min(late.values())[1]} has not pushed step "
                    f"{step} for {self._client.timeout:g} s; worker {self._client.worker} waits"
                )
            time.sleep(pause)
            pause = min(2 * pause, POLL[1])
            self._shards = list(late)
            self._asked = self._ask(self._shards)

    def _ask(self, shards: Sequence[int]) -> Asked:
        half = self._client.half
        return self._client.transport.ask(
            [
                (shard, "pull", (self._name, self.ids[self._places[shard]], self.step, self._train, half))
                for shard in shards
            ]
        )
