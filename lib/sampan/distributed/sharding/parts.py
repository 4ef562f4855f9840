"""Optimizers whose state is cut over the processes of a group: each steps its own part of every parameter,
then all parts are gathered (ZeRO 1: Rajbhandari et al. 2020, section 5.1).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as c10d

from ...engine import tape
from ...engine.errors import InvalidArgument, InvalidType
from ...optimizer.optimizer import Group as Parameters
from ...optimizer.optimizer import Optimizer, Slot
from ...row_sparse import RowGradient
from .. import traffic
from ..arguments import check_kind
from ..group import Group
from .norms import Clipping

WHOLE = frozenset(("Lamb", "LarsMomentum", "Lars", "LBFGS", "Muon"))  # their rules read norms or matrices
MESSAGE = 32 * 2**20  # bytes of parameters that are gathered as one message


class Cut:
    """How a parameter is cut into `count` equal parts, but for the last: along its first axis where that is
    long enough, otherwise as a flat vector."""

    def __init__(self, shape: Sequence[int], count: int) -> None:
        self.shape, self.count = list(shape), count
        rows = self.shape[0] if self.shape else 0
        self.by_rows = rows > 0 and (rows % count == 0 or rows >= 16 * count)
        self.inner = self.shape[1:] if self.by_rows else []
        size = rows if self.by_rows else torch.Size(self.shape).numel()
        self.size, self.step = size, -(-size // count)

    def bounds(self, rank: int) -> tuple[int, int]:
        """The rows, or elements, of a process."""
        return min(rank * self.step, self.size), min((rank + 1) * self.step, self.size)

    def of(self, buffer: torch.Tensor, rank: int) -> torch.Tensor:
        """The part of a contiguous buffer: a view."""
        start, stop = self.bounds(rank)
        return (buffer if self.by_rows else buffer.view(-1))[start:stop]

    def rows_of(self, gradient: RowGradient, rank: int) -> Any:
        """The part of a gradient of rows."""
        start, stop = self.bounds(rank)
        if not self.by_rows:
            return self.of(gradient.dense(), rank)
        ids, rows = gradient.coalesced()
        chosen = ((ids >= start) & (ids < stop)).nonzero().flatten()
        part = (ids[chosen] - start, rows[chosen], None, None)
        return RowGradient([part], torch.Size([stop - start, *self.inner]), merged=True)

    def length(self) -> int:
        """The elements of a part in a message: those of the first process."""
        return self.step * torch.Size(self.inner).numel()


def gather(held: Sequence[tuple[torch.Tensor, Cut]], group: Group) -> None:
    """Complete whole buffers, of which each process has its part, in messages of about MESSAGE bytes."""
    open_: dict[Any, list[tuple[torch.Tensor, Cut]]] = {}
    for buffer, cut in held:
        listed = open_.setdefault((buffer.dtype, buffer.device), [])
        listed.append((buffer, cut))
        if sum(b.nbytes for b, _ in listed) >= MESSAGE:
            _exchange(open_.pop((buffer.dtype, buffer.device)), group)
    for listed in open_.values():
        _exchange(listed, group)


def _exchange(held: Sequence[tuple[torch.Tensor, Cut]], group: Group) -> None:
    starts = [0]
    for _, cut in held:
        starts.append(starts[-1] + cut.length())

    def copy_parts(message: torch.Tensor, rank: int, out: bool) -> None:
        for (buffer, cut), start in zip(held, starts, strict=False):
            part = cut.of(buffer, rank)
            place = message[start : start + part.numel()].view(part.shape)
            part.copy_(place) if out else place.copy_(part)

    own = held[0][0].new_zeros(starts[-1])
    copy_parts(own, group.rank, False)
    messages = own.new_empty((group.nranks, starts[-1]))
    traffic.count("all_gather", own.nbytes, own.nbytes * (group.nranks - 1))
    c10d.all_gather(list(messages), own, group=group.torch_group)
    for rank in range(group.nranks):
        if rank != group.rank:
            copy_parts(messages[rank], rank, True)


class ShardedOptimizer:
    """An optimizer that steps parts (`PartedSteps`). Everything else is the optimizer's own, `_inner_opt`.

    `state_dict` and `set_state_dict` have the whole state; all processes of the group must call them.
    """

    def __init__(self, optimizer: Optimizer, group: Group | None, clipping: Clipping) -> None:
        check_kind(optimizer, Optimizer, "optimizer")
        self._inner_opt = self._optim = optimizer
        self._steps = PartedSteps(optimizer, group, clipping)

    def __getattr__(self, name: str) -> Any:
        """The optimizer's own attributes and methods."""
        if name.startswith("__") or name == "_inner_opt":
            raise AttributeError(name)
        return getattr(self._inner_opt, name)


class PartedSteps:
    """Lets an optimizer step parts. It takes the place of the optimizer's own step, and completes its
    `state_dict`.

    group: of sharding; None where only clipping goes over several processes. `parts` has the parameters of
    which a process keeps its part alone (ZeRO 3), by their ids.
    InvalidArgument for rules that read whole parameters.
    """

    def __init__(self, optimizer: Optimizer, group: Group | None, clipping: Clipping) -> None:
        self.optimizer, self.clipping = optimizer, clipping
        self.parts: dict[int, torch.Tensor] = {}
        self.group = group if group is not None and group.nranks > 1 else None
        if self.group is not None and any(kind.__name__ in WHOLE for kind in type(optimizer).__mro__):
            raise InvalidArgument(
                f"sharding: optimizer: {type(optimizer).__name__} reads whole parameters; use one whose rule "
                "goes by elements, such as AdamW"
            )
        own: Any = optimizer  # methods of this one optimizer
        if self.group is not None or clipping.spans:
            own._step_group = self.step_group
        if self.group is not None:
            count = self.group.nranks
            self.cuts = {id(s.parameter): Cut(s.parameter.data.shape, count) for s in self._slots()}
            own.state_dict = self.state_dict
            own.set_state_dict = own.load_state_dict = own.set_dict = self.set_state_dict

    def _slots(self) -> Iterator[Slot]:
        return (slot for group in self.optimizer._groups for slot in group.slots)

    def part(self, slot: Slot) -> torch.Tensor:
        """The memory of this process's part of a parameter."""
        assert self.group is not None  # asked for with sharding alone
        parameter = slot.parameter
        if id(parameter) in self.parts:
            return self.parts[id(parameter)]
        if not parameter.data.is_contiguous():
            parameter.data = parameter.data.contiguous()
        return self.cuts[id(slot.parameter)].of(parameter.data, self.group.rank)

    # --- the step ---

    def step_group(self, group: Parameters, slots: list[Slot], gradients: list[Any], lr: float) -> None:
        """`Optimizer._step_group`, on parts."""
        clip, group = group.clip, copy.copy(group)
        group.clip = None
        sharded = self.group is not None
        if sharded:
            gradients = [self._own_gradient(s, g) for s, g in zip(slots, gradients, strict=True)]
        if clip is not None:
            chosen = [at for at, slot in enumerate(slots) if getattr(slot.parameter, "need_clip", True)]
            parameters = [slots[at].parameter for at in chosen]
            given = [gradients[at] for at in chosen]
            clipped = self.clipping(clip, parameters, given, [sharded] * len(chosen))
            for at, gradient in zip(chosen, clipped, strict=True):
                gradients[at] = gradient
        usual = type(self.optimizer)._step_group
        if not sharded:
            usual(self.optimizer, group, slots, gradients, lr)
            return
        whole = [slot.parameter.data for slot in slots]
        try:
            for slot in slots:
                slot.parameter.data = self.part(slot)
            usual(self.optimizer, group, slots, gradients, lr)
        finally:
            for slot, data in zip(slots, whole, strict=True):
                slot.parameter.data = data
        stepped = [slot.parameter for slot in slots if id(slot.parameter) not in self.parts]
        self.gather([(parameter.data, self.cuts[id(parameter)]) for parameter in stepped])

    def _own_gradient(self, slot: Slot, gradient: Any) -> Any:
        assert self.group is not None  # called with sharding alone
        cut, rank = self.cuts[id(slot.parameter)], self.group.rank
        if getattr(slot.parameter, "growth", None) is not None:
            name = slot.parameter.name
            raise InvalidType(f"sharding: {name!r} is a table that grows; leave it out of the optimizer")
        if isinstance(gradient, RowGradient):
            return cut.rows_of(gradient, rank)
        if gradient.numel() == torch.Size(cut.shape).numel():
            return cut.of(gradient.contiguous().view(cut.shape), rank)
        return gradient  # a part already

    def gather(self, held: Sequence[tuple[torch.Tensor, Cut]]) -> None:
        """Let whole buffers, of which each process has its part, be complete in all of them."""
        assert self.group is not None  # called with sharding alone
        gather(held, self.group)
        for buffer, _ in held:
            tape.written(buffer)

    # --- state ---

    @contextmanager
    def _whole_state(self) -> Iterator[None]:
        """Within it the state consists of whole buffers."""
        for slot in self._slots():
            slot.state, slot.master = self._completed(slot)
        try:
            yield
        finally:
            for slot in self._slots():
                slot.state, slot.master = self._reduced(slot)

    def _completed(self, slot: Slot) -> tuple[tuple[torch.Tensor, ...], torch.Tensor | None]:
        assert self.group is not None  # called with sharding alone
        cut, found = self.cuts[id(slot.parameter)], []
        parts = [*slot.state, *([] if slot.master is None else [slot.master])]
        for part in parts:
            whole = part.new_zeros(cut.shape)
            cut.of(whole, self.group.rank).copy_(part)
            found.append(whole)
        self.gather([(whole, cut) for whole in found])
        count = len(slot.state)
        return tuple(found[:count]), found[count] if len(found) > count else None

    def _reduced(self, slot: Slot) -> tuple[tuple[torch.Tensor, ...], torch.Tensor | None]:
        assert self.group is not None  # called with sharding alone
        cut, rank = self.cuts[id(slot.parameter)], self.group.rank
        master = None if slot.master is None else cut.of(slot.master, rank).clone()
        return tuple(cut.of(whole, rank).clone() for whole in slot.state), master

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's `state_dict`, whole. Every process must call it."""
        with self._whole_state():
            return type(self.optimizer).state_dict(self.optimizer)

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a whole `state_dict`, of any number of processes."""
        held = [(slot.parameter, slot.parameter.data) for slot in self._slots()]
        with self._whole_state():
            try:
                for parameter, data in held:  # its shape is compared, and its device is read
                    zero = data.new_zeros(())
                    parameter.data = zero.expand(self.cuts[id(parameter)].shape)
                type(self.optimizer).set_state_dict(self.optimizer, state_dict)
            finally:
                for parameter, data in held:
                    parameter.data = data


def held_bytes(optimizer: Any) -> int:
    """The bytes of an optimizer's state in this process."""
    inner = getattr(optimizer, "_inner_opt", optimizer)
    slots = [slot for group in inner._groups for slot in group.slots]
    buffers = [b for slot in slots for b in (*slot.state, slot.master) if b is not None]
    return sum(buffer.untyped_storage().nbytes() for buffer in buffers)
