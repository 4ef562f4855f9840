"""Layers whose rows lie on shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from ... import nn
from ...embedding import DynamicEmbedding
from ...embedding.operators import integers
from ...engine.backward import is_grad_enabled
from ...engine.tensor import InvalidArgument, Tensor
from ...nn.functional import embedding
from ...row_sparse import RowGradient, check_ids
from .client import Client, Rows
from .settings import TableSettings

MOST_WAITING = 1000  # look-ups without a step, after which the program is asked for one


class RemoteEmbedding(nn.Layer):
    """Rows [dim] of ids on shards: `forward` pulls those of a batch, each once, and `gradients` is what the
    optimizer pushes (`ServedOptimizer`, which `fleet.distributed_optimizer` returns).

    connect: the client, when it is first needed. padding_idx: this id reads as zeros and gets no gradient.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        name: str,
        settings: TableSettings,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        self._connect, self.table_name, self.settings = connect, name, settings
        self.padding_idx = padding_idx
        self.is_made = False
        self.remote_prefetch = True
        self._ahead: list[_Ahead] = []  # rows of the next batches
        self._later: list[np.ndarray] = []  # ids of them, to be asked for after the push
        self._leaves: list[tuple[Rows, Tensor]] = []

    @property
    def client(self) -> Client:
        """Its table is made, or found, when it is first used: by then the rule is known."""
        client = self._connect()
        if not self.is_made:
            client.table(self.table_name, self.settings)
            self.is_made = True
        return client

    def forward(self, ids: Tensor) -> Tensor:
        """ids: int32 or int64 of any shape; returns [*ids.shape, dim], on the device of the ids."""
        places = integers(ids)
        flat = places.reshape(-1).long().cpu().numpy()
        different, inverse = np.unique(flat, return_inverse=True)
        train = self.training and is_grad_enabled()
        asked, values = self._rows(different, train)
        rows = Tensor(torch.from_numpy(values))
        if train:
            rows.stop_gradient = False
            self._leaves.append((asked, rows))
            if len(self._leaves) > MOST_WAITING:
                raise RuntimeError(
                    f"{self.table_name}: {MOST_WAITING} look-ups in training without a step; step with what "
                    "fleet.distributed_optimizer returns"
                )
        at = Tensor(torch.from_numpy(inverse.reshape(places.shape)))
        out = embedding(at, rows)
        return out if places.device.type == "cpu" else out.to(ids.place)

    def prefetch(self, ids: Tensor) -> None:
        """Ask for the rows of a batch to come while others are computed. Those that a push changes meanwhile
        are asked for again where workers take each step together; there, with several workers, rows are asked
        for when this worker has pushed. Nothing without `remote_prefetch`."""
        different = np.unique(integers(ids).reshape(-1).long().cpu().numpy())
        if not self.remote_prefetch:
            return
        if self.settings.staleness == 0 and self.settings.workers > 1:
            self._later.append(different)
        else:
            self._ask(different)

    def pushed(self) -> None:
        """The push of this step is on its way: ask for what was put off."""
        for different in self._later:
            self._ask(different)
        self._later.clear()

    def _ask(self, different: np.ndarray) -> None:
        asked = self.client.ask_rows(self.table_name, self._without_padding(different))
        self._ahead.append(_Ahead(asked, different, []))

    def gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """What is to be pushed of all look-ups since the last time: ids [n], each once; float32 [n, dim]."""
        parts: list[Any] = []
        for asked, rows in self._leaves:
            gradient = rows.grad
            if gradient is not None:
                known = asked.known
                ids, values = asked.ids[known], gradient.data.float().numpy()[: len(asked.ids)][known]
                parts.append((torch.from_numpy(ids), torch.from_numpy(values), None, None))
        self._leaves.clear()
        dim = self.settings.dim
        if not parts:
            return np.empty(0, np.int64), np.empty((0, dim), np.float32)
        every = torch.cat([part[0] for part in parts]).numpy()
        different, inverse = np.unique(every, return_inverse=True)
        if len(parts) == 1:
            return self._noted(parts[0][0].numpy()), parts[0][1].numpy()
        merged = RowGradient(
            [(torch.from_numpy(inverse), torch.cat([p[1] for p in parts]), None, None)],
            (len(different), dim),
        )
        return self._noted(different), merged.dense().numpy()

    def _noted(self, pushed: np.ndarray) -> np.ndarray:
        """What is pushed changes rows that were asked for."""
        for one in self._ahead:
            one.pushed.append(pushed)
        return pushed

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Forget the gradients of all look-ups."""
        self._leaves.clear()

    def _without_padding(self, ids: np.ndarray) -> np.ndarray:
        if self.settings.rows is not None and len(ids):
            check_ids(torch.from_numpy(ids), self.settings.rows, f"{self.table_name}: ids")
        return ids if self.padding_idx is None else ids[ids != self.padding_idx]

    def _rows(self, different: np.ndarray, train: bool) -> tuple[Rows, np.ndarray]:
        """What was asked for and its rows; zeros for the padding, which is put in its place."""
        client, mine = self.client, self._without_padding(different)
        self._later = [ids for ids in self._later if not np.array_equal(ids, different)]
        found = [n for n, one in enumerate(self._ahead) if train and np.array_equal(one.ids, different)]
        if found:
            ready, self._ahead = self._ahead[found[0]], self._ahead[found[0] + 1 :]
            asked = ready.asked
            values = asked.wait()
            if self.settings.staleness == 0 and asked.step < client.step and ready.pushed:
                changed = np.isin(mine, np.concatenate(ready.pushed))
                again = client.ask_rows(self.table_name, mine[changed])
                values[changed] = again.wait()
                asked.known[changed] = again.known
        else:
            asked = client.ask_rows(self.table_name, mine, train)
            values = asked.wait()
        if self.padding_idx is not None and len(mine) != len(different):
            values = np.insert(values, int(np.searchsorted(mine, self.padding_idx)), 0.0, axis=0)
            place = int(np.searchsorted(mine, self.padding_idx))
            asked.ids, asked.known = different, np.insert(asked.known, place, False)
        return asked, values

    def extra_repr(self) -> str:
        return f"{self.table_name}, {self.settings.rows or 'any'} ids, {self.settings.dim}"


class _Ahead(NamedTuple):
    """Rows that were asked for, of which ids, and what was pushed since."""

    asked: Rows
    ids: np.ndarray
    pushed: list[np.ndarray]


class GeoEmbedding(DynamicEmbedding):
    """Rows of its own for the ids that this worker has seen; every `k_steps` steps the shards get what the
    worker changed since, and it gets theirs (geo-SGD, as Paddle calls it).

    Any optimizer steps `weight` here. The shards add up the mean of the workers' changes.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        name: str,
        settings: TableSettings,
        k_steps: int,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__(
            settings.rows,
            settings.dim,
            padding_idx,
            capacity=settings.capacity,
            initializer=settings.initializer,
            seed=settings.seed,
        )
        if k_steps < 1:
            raise InvalidArgument(f"k_steps: expected 1 or more, got {k_steps}")
        self._connect, self.table_name, self.settings = connect, name, settings
        self.k_steps, self._steps = k_steps, 0
        self.is_made = False
        self._base: dict[int, np.ndarray] = {}  # the shards' row of each id when it was pulled
        self._touched: list[np.ndarray] = []
        self.remote_prefetch = True
        self._coming: list[Rows] = []  # rows of new ids that were asked for

    @property
    def client(self) -> Client:
        """Its table is made, or found, when it is first used."""
        client = self._connect()
        if not self.is_made:
            client.table(self.table_name, self.settings)
            self.is_made = True
        return client

    def forward(self, ids: Tensor) -> Tensor:
        """As DynamicEmbedding, with rows of ids that are new here from the shards."""
        different = self._different(ids)
        if self._coming and self.training:
            coming = self._coming.pop(0)
            rows, unknown = coming.wait(), self.rows_of(coming.ids) < 0
            self._put(coming.ids[unknown], rows[unknown])
        new = different[self.rows_of(different) < 0]
        if len(new):
            self._put(new, self.client.pull(self.table_name, new, self.training))
        if self.training:
            self._touched.append(different)
        return super().forward(ids)

    def prefetch(self, ids: Tensor) -> None:
        """Ask the shards for the rows of ids of a batch to come that are new here. Nothing without
        `remote_prefetch`."""
        if self.remote_prefetch:
            different = self._different(ids)
            asked = self.client.ask_rows(self.table_name, different[self.rows_of(different) < 0])
            self._coming.append(asked)

    def _different(self, ids: Tensor) -> np.ndarray:
        different = np.unique(integers(ids).reshape(-1).long().cpu().numpy())
        if self.num_embeddings is not None:
            check_ids(torch.from_numpy(different), self.num_embeddings, "ids")
        return different if self.padding_idx is None else different[different != self.padding_idx]

    def stepped(self) -> tuple[np.ndarray, np.ndarray] | None:
        """After a step: minus the changes to push, [n] and [n, dim], if it is time."""
        self._steps += 1
        if self._steps % self.k_steps or not self._touched:
            return None
        ids = np.unique(np.concatenate(self._touched))
        self._touched.clear()
        here = self.weight.data.numpy()[self.rows_of(ids)]
        before = np.stack([self._base[one] for one in ids.tolist()])
        return ids, (before - here) / np.float32(self.settings.workers)

    def refresh(self, ids: np.ndarray) -> None:
        """Take the shards' rows of these ids."""
        self._put(ids, self.client.pull(self.table_name, ids))

    def _put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self.lookups += 1
        moment = np.full(len(ids), self.lookups)
        self.take(ids, rows, np.ones(len(ids), np.int64), moment)
        self._base.update(zip(ids.tolist(), rows.copy(), strict=True))
