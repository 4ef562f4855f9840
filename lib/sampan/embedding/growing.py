"""Tensors whose first axis grows in place: the rows of a table that is not known beforehand, and what belongs
to a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import nn
from ..engine.tensor import Tensor
from ..kernels.arena import reserved
from ..nn.parameter import Parameter

States = tuple[torch.Tensor, ...]


class Growth:
    """How many rows the tensors of one table have, where they lie, and which of them begin anew.

    Each tensor shows the first `rows` of memory reserved for `capacity`; nothing is copied when it grows.
    """

    partial = False  # all rows are in memory

    def __init__(self, capacity: int) -> None:
        self.capacity, self.rows = capacity, 0
        self._members: list[tuple[Any, np.ndarray]] = []
        self._begun: list[np.ndarray] = []
        self.states: dict[str, np.ndarray] = {}  # an optimizer's, by its names
        self.found: tuple[dict[str, np.ndarray], np.ndarray] | None = (
            None  # on disk: states, which rows have one
        )
        self._start: Callable[[torch.Tensor], States] | None = None
        self.moment = self.stepped_at = 0  # the last look-up, and the last one before a step
        self.steps = 0
        self.moved_all = False  # rows changed that were not looked up: by a step, or because all were set

    def add(self, tensor: Any, width: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Let `tensor` show memory of the table; returns all of it, [capacity, *width]."""
        whole = reserved((self.capacity, *width), dtype)
        tensor.growth = self
        self._members.append((tensor, whole))
        tensor.data = torch.from_numpy(whole[: self.rows])
        return whole

    def grow(self, rows: int) -> None:
        """Show at least `rows`. Raises MemoryError above the capacity."""
        if rows > self.capacity:
            raise MemoryError(f"rows: expected at most the capacity, {self.capacity}, got {rows}")
        if rows > self.rows:
            self.rows = rows
            for tensor, whole in self._members:
                tensor.data = torch.from_numpy(whole[:rows])

    def begin(self, rows: np.ndarray) -> None:
        """These rows are new, or belong to another id now: an optimizer's state of them starts again."""
        self._begun.append(rows)

    def settle(self) -> None:
        """Let the state of the rows that began since the last step begin too."""
        if self._begun and self.states and self._start is not None:
            begun = np.unique(np.concatenate(self._begun))
            values = self._start(self._members[0][0].data[torch.from_numpy(begun)])
            for whole, value in zip(self.states.values(), values, strict=True):
                whole[begun] = value.numpy()
            self._begun.clear()

    def state(self, slot: Any, optimizer: Any, rests: bool) -> None:
        """Give a slot its state of the rows there are now: `optimizer` is about to step it.

        rests: rows without a gradient stay as they are. A state that was loaded is taken over, the slot's own
        or the folder's.
        """
        table: torch.Tensor = self._members[0][0].data
        own = bool(slot.state) and all(
            k.data_ptr() == s.ctypes.data for k, s in zip(slot.state, self.states.values(), strict=False)
        )
        self._start = optimizer.start
        if not own or not self.states:
            first = optimizer.start(table)
            if any(s.shape != table.shape for s in first):
                raise TypeError("a table that grows: expected an optimizer whose state has the table's shape")
            names = optimizer.state_names if first else ()
            self.states = {
                name: reserved((self.capacity, *s.shape[1:]), s.numpy().dtype)
                for name, s in zip(names, first, strict=True)
            }
            for whole, values in zip(self.states.values(), first, strict=True):
                whole[: self.rows] = values.numpy()
            if slot.state:
                for whole, old in zip(self.states.values(), slot.state, strict=True):
                    whole[: len(old)] = old.numpy()
            elif self.found is not None and self.found[0].keys() == self.states.keys():
                kept, rows = self.found
                for name, whole in self.states.items():
                    whole[rows] = kept[name]
                slot.steps += self.steps
            self.found = None
        self.settle()
        slot.state = tuple(torch.from_numpy(whole[: self.rows]) for whole in self.states.values())
        self.steps, self.stepped_at = slot.steps, self.moment
        self.moved_all |= not rests


class GrowingLayer(nn.Layer):
    """A layer whose table lies in memory of its own, where more rows are to come."""

    def _convert(self, kind: Any, target: Any = None) -> None:
        """Nothing: the table stays on the CPU and in its dtype when the network is converted."""


class GrowingParameter(Parameter):
    """The weights of a table that grows."""

    __slots__ = ("growth",)

    growth: Growth

    def set_value(self, value: Any) -> None:
        super().set_value(_shown(self, value))
        self.growth.moved_all = True


class GrowingTensor(Tensor):
    """What a table that grows knows of each row."""

    __slots__ = ("changed", "growth")

    growth: Growth
    changed: Callable[[], None]  # called after its values were set

    def set_value(self, value: Any) -> None:
        super().set_value(_shown(self, value))
        self.changed()


def _shown(tensor: Any, value: Any) -> Tensor:
    """`value` with zeros below it where the table has more rows; the table grows where it has fewer."""
    rows = value.data if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))
    tensor.growth.grow(len(rows))
    return Tensor(torch.cat([rows, rows.new_zeros((len(tensor.data) - len(rows), *rows.shape[1:]))]))
