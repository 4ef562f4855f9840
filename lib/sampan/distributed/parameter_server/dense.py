"""The parameters of a network that several workers train, as one table on the shards."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...engine.errors import InvalidArgument
from ...row_sparse import rows_of
from .client import Client
from .settings import TableSettings

NAME, WIDTH, POLL = "dense-parameters", 1024, 0.01  # table, numbers in a row, seconds between two questions


class DenseParameters:
    """Float32 parameters, one after another, cut into rows [WIDTH]: the last row ends with zeros.

    connect: the client, when it is first needed. settings: of the table; its width and initializer are set
    here. k_steps: 0: shards step the parameters, with the rule of the settings; otherwise each worker does,
    and every k_steps steps the shards get the mean of what the workers changed (geo-SGD). Worker 0's first
    values are those of all.
    """

    def __init__(self, connect: Callable[[], Client], settings: TableSettings, k_steps: int = 0) -> None:
        self._connect, self.k_steps, self._steps = connect, k_steps, 0
        self.settings = replace(settings, dim=WIDTH, initializer=("constant", 0.0))
        self.parameters: list[Any] = []
        self.ids = np.empty(0, np.int64)
        self._before = np.empty((0, WIDTH), np.float32)  # the shards' rows when they were pulled

    @property
    def is_made(self) -> bool:
        """Whether the table is there, and the parameters have its values."""
        return len(self.ids) > 0

    def make(self, parameters: Sequence[Any]) -> None:
        """Make the table, or find it, and take its values. Raises TimeoutError where worker 0 makes none."""
        self.parameters = list(parameters)
        for one in self.parameters:
            if one.data.dtype is not torch.float32:
                raise InvalidArgument(
                    f"distributed_optimizer: {one.name}: expected float32 with several workers, got "
                    f"{one.data.dtype}"
                )
        count = -(-sum(one.data.numel() for one in self.parameters) // WIDTH)
        client = self._connect()
        client.table(NAME, self.settings)
        ids = np.arange(count)
        if client.worker == 0:
            client.place(NAME, ids, self._rows([one.data for one in self.parameters]))
        until = time.monotonic() + client.timeout
        while (there := client.statistics(NAME)["rows"]) < count:
            if time.monotonic() > until:
                raise TimeoutError(
                    f"distributed_optimizer: worker 0 has not set the parameters for {client.timeout:g} s"
                )
            time.sleep(POLL)
        if there > count:
            raise InvalidArgument(
                f"distributed_optimizer: the shards have {there} rows of parameters, and this network {count}"
            )
        self.ids = ids
        self.pull()

    def to_push(self, rate: float) -> tuple[np.ndarray, np.ndarray, float] | None:
        """(ids, rows, rate) of this step, before the optimizer's: the gradients, which are then forgotten
        here; None in geo mode."""
        if self.k_steps:
            return None
        found = []
        for one in self.parameters:
            sparse = rows_of(one._grad)
            if sparse is not None:
                found.append(sparse.dense())
            else:
                found.append(torch.zeros_like(one.data) if one.grad is None else one.grad.data)
            one.clear_gradient(False)
        return self.ids, self._rows(found), rate

    def changes(self) -> tuple[np.ndarray, np.ndarray, float] | None:
        """(ids, rows, 1.0) after the optimizer's step in geo mode: minus the changes, if it is time."""
        self._steps += 1
        if not self.k_steps or self._steps % self.k_steps:
            return None
        here = self._rows([one.data for one in self.parameters])
        return self.ids, (self._before - here) / np.float32(self.settings.workers), 1.0

    def pull(self) -> None:
        """Take the values of the shards."""
        self._before = self._connect().pull(NAME, self.ids)
        values, place = torch.from_numpy(self._before).reshape(-1), 0
        for one in self.parameters:
            one.set_value(values[place : place + one.data.numel()].reshape(one.data.shape).numpy())
            place += one.data.numel()

    def _rows(self, values: Sequence[torch.Tensor]) -> np.ndarray:
        flat = torch.cat([one.reshape(-1).float().cpu() for one in values])
        rows = np.zeros((-(-len(flat) // WIDTH), WIDTH), np.float32)
        rows.reshape(-1)[: len(flat)] = flat.numpy()
        return rows
