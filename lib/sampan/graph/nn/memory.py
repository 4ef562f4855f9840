"""A memory for each node of a graph whose edges arrive as events in time."""

import copy
from typing import Any

import numpy as np
import torch

from ... import nn, ops
from ...autograd import no_grad
from ...engine.tensor import Tensor
from ..adjacency import ids
from ..drawing import host, whole
from ..k_hop import tensor
from ..messages import receive
from ..routes import Routes

__all__ = ["TGNMemory", "TimeEncoder"]


class TimeEncoder(nn.Layer):
    """cos(w t + b) [..., out_channels] of times t [...], with trained w and b.

    Source: Xu et al., Inductive Representation Learning on Temporal Graphs, 2020, (6), as used by TGN.
    """

    def __init__(self, out_channels: int) -> None:
        super().__init__()
        self.out_channels, self.lin = out_channels, nn.Linear(1, out_channels)

    def forward(self, times: Tensor) -> Tensor:
        made: Tensor = ops.cos(self.lin(times.unsqueeze(-1)))
        return made


class _Pending:
    """Events that the memory of a node does not yet contain.

    An event lies in a slot, and the slots of one node are a list: `newest` [nodes] is its last slot, `before`
    the slot before a slot, -1 at the end. Slots whose events were taken are used again.
    """

    def __init__(self, nodes: int, width: int, dtype: Any) -> None:
        self.newest = np.full(nodes, -1, np.int64)
        self.before, self.other = np.empty(0, np.int64), np.empty(0, np.int64)
        self.number, self.times = np.empty(0, np.int64), np.empty(0, np.float64)
        self.is_target, self.raw = np.empty(0, np.bool_), torch.empty((0, width), dtype=dtype)
        self.free, self.count = np.empty(0, np.int64), 0

    def _room(self, count: int) -> np.ndarray:
        """Slots for so many events."""
        if len(self.free) < count:
            old = len(self.before)
            more = max(count - len(self.free), old, 64)
            for name in ("before", "other", "number", "times", "is_target"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros(more, array.dtype)]))
            self.raw = torch.cat([self.raw, self.raw.new_zeros((more, self.raw.shape[1]))])
            self.free = np.append(np.arange(old, old + more), self.free)
        slots, self.free = self.free[-count:] if count else self.free[:0], self.free[: len(self.free) - count]
        return slots

    def add(
        self, nodes: np.ndarray, others: np.ndarray, times: np.ndarray, raw: torch.Tensor, target: bool
    ) -> None:
        """Events of `nodes`, in the order of time: first of the sources, then of their targets."""
        slots = self._room(len(nodes))
        self.other[slots], self.times[slots], self.is_target[slots] = others, times, target
        self.number[slots] = 2 * np.arange(self.count, self.count + len(nodes)) + target
        self.count += len(nodes) * target  # the targets of the same events come next
        self.raw[torch.from_numpy(slots)] = raw.detach().to(self.raw.device, self.raw.dtype)
        order = np.argsort(nodes, kind="stable")
        owners, chain = nodes[order], slots[order]
        first = np.append(True, owners[1:] != owners[:-1])[: len(owners)]
        self.before[chain[1:]] = chain[:-1]
        self.before[chain[first]] = self.newest[owners[first]]
        last = np.append(first[1:], True)[: len(owners)]
        self.newest[owners[last]] = chain[last]

    def of(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(place in `nodes`, slot) of each event of different nodes, by place, then as they came."""
        places, slots = np.arange(len(nodes)), self.newest[nodes]
        found = [(places[:0], slots[:0])]
        while len(places := places[slots >= 0]):
            slots = slots[slots >= 0]
            found.append((places, slots))
            slots = self.before[slots]
        place, slot = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((self.number[slot], self.times[slot], place))
        return place[order], slot[order]

    def remove(self, nodes: np.ndarray, slots: np.ndarray) -> None:
        self.newest[nodes] = -1
        self.free = np.append(self.free, slots)


class TGNMemory(nn.Layer):
    """A vector for each node, which a GRU changes with every event that the node takes part in.

    An event (source, target, time, message) gives both ends a message of their own memory, the other end's,
    the event's numbers and the time since the node's last event: by default these one after another, else
    what message_module(own, other, raw_msg, time) makes of them, a Layer with `out_channels` of which each
    side has a copy. aggregator: of the messages that wait for a node the "last" or their "mean" goes to the
    GRU.

    `memory(nodes)` returns (memory [nodes, memory_dim], time of the last event [nodes], float64), with the
    events of earlier calls of `update_state(src, dst, t, raw_msg)` and no others: predict a batch of events
    first, then pass it to `update_state`, and no prediction sees its own event or a later one. Messages wait
    until a node is asked for, so that the loss of the next batch trains what makes them; what is kept has
    no derivatives.
    num_nodes: how many nodes; raw_msg_dim, memory_dim, time_dim: sizes of the numbers of an event, of the
    memory, and of the TimeEncoder. `memory` and `last_update` are buffers; `flush` puts waiting messages into
    them, as before saving. Raises ValueError for ids outside, times that decrease, and other shapes.
    Source: Rossi et al., Temporal Graph Networks for Deep Learning on Dynamic Graphs, 2020, (1) to (4) and
    algorithm 2.
    """

    memory: Tensor
    last_update: Tensor

    def __init__(
        self,
        num_nodes: int,
        raw_msg_dim: int,
        memory_dim: int,
        time_dim: int,
        message_module: nn.Layer | None = None,
        aggregator: str = "last",
    ) -> None:
        super().__init__()
        if aggregator not in ("last", "mean"):
            raise ValueError(f"TGNMemory: aggregator: expected 'last' or 'mean', got {aggregator!r}")
        self.num_nodes = whole(num_nodes, 1, "TGNMemory: num_nodes: expected a whole number of at least 1")
        self.raw_msg_dim, self.memory_dim, self.aggregator = raw_msg_dim, memory_dim, aggregator
        self.time_enc = TimeEncoder(time_dim)
        self.message_src: Any = message_module
        self.message_dst: Any = copy.deepcopy(message_module)
        size = 2 * memory_dim + raw_msg_dim + time_dim
        if message_module is not None:
            size = message_module.out_channels  # type: ignore[attr-defined]  # such a layer has it
        self.gru = nn.GRUCell(size, memory_dim)
        weight = self.gru.weight_ih.data
        self.register_buffer("memory", Tensor(weight.new_zeros((num_nodes, memory_dim))))
        self.register_buffer("last_update", Tensor(weight.new_zeros(num_nodes, dtype=torch.float64)))
        self.reset_state()

    def reset_state(self) -> None:
        """Forget all events."""
        self.memory.data.zero_()
        self.last_update.data.zero_()
        self._pending = _Pending(self.num_nodes, self.raw_msg_dim, self.memory.data.dtype)
        self._latest = -np.inf

    def forward(self, nodes: Any) -> tuple[Tensor, Tensor]:
        given = ids(nodes, self.num_nodes, "TGNMemory: nodes").reshape(-1).astype(np.int64)
        own, inverse = np.unique(given, return_inverse=True)
        memory, times, _ = self._updated(own)
        found = torch.from_numpy(times[inverse]).to(self.last_update.data.device)
        return ops.gather(memory, tensor(inverse)), Tensor(found)

    def update_state(self, src: Any, dst: Any, t: Any, raw_msg: Any) -> None:
        """Take in events [events] in the order of time, with their numbers [events, raw_msg_dim]."""
        what = "TGNMemory.update_state"
        sources, targets = (
            ids(values, self.num_nodes, f"{what}: {name}").reshape(-1).astype(np.int64)
            for name, values in (("src", src), ("dst", dst))
        )
        times = np.array(host(t), np.float64).reshape(-1)
        raw = raw_msg.data if isinstance(raw_msg, Tensor) else torch.from_numpy(np.array(host(raw_msg)))
        count = len(sources)
        if len(targets) != count or len(times) != count or list(raw.shape) != [count, self.raw_msg_dim]:
            raise ValueError(
                f"{what}: expected {count} targets and times and a raw_msg [{count}, {self.raw_msg_dim}], "
                f"got {len(targets)}, {len(times)} and {list(raw.shape)}"
            )
        before = np.append(self._latest, times)
        if not (np.isfinite(times).all() and (before[1:] >= before[:-1]).all()):
            raise ValueError(f"{what}: t: expected finite times, none before the event before it, got {t}")
        self._keep(np.unique(np.concatenate([sources, targets])))
        self._latest = before[-1]
        self._pending.add(sources, targets, times, raw, False)
        self._pending.add(targets, sources, times, raw, True)

    def flush(self) -> None:
        """Put all waiting messages into `memory`."""
        self._keep(np.flatnonzero(self._pending.newest >= 0))

    def _keep(self, own: np.ndarray) -> None:
        """Put the waiting messages of these different nodes into the buffers."""
        with no_grad():
            memory, times, slots = self._updated(own)
        at = torch.from_numpy(own).to(memory.data.device)
        self.memory.data[at] = memory.data
        self.last_update.data[at] = torch.from_numpy(times).to(at.device)
        self._pending.remove(own, slots)

    def _updated(self, own: np.ndarray) -> tuple[Tensor, np.ndarray, np.ndarray]:
        """(memory, times, slots of the messages) of different nodes, with their waiting messages."""
        kept, times = ops.gather(self.memory, tensor(own)), host(self.last_update)[own]
        places, every = self._pending.of(own)
        if not len(places):
            return kept, times, every
        changed, starts = np.unique(places, return_index=True)
        ends = np.append(starts[1:], len(places))
        slots = every[ends - 1] if self.aggregator == "last" else every
        owners = changed if self.aggregator == "last" else places
        message = self._messages(own[owners], slots)
        if self.aggregator == "mean":
            bounds = np.append(starts, len(places)).astype(np.int32)
            message = receive(message, Routes.into_segments(bounds), "mean")
        state = self.gru(message, ops.gather(kept, tensor(changed)))[0]
        rows = np.arange(len(own))
        rows[changed] = len(own) + np.arange(len(changed))
        times[changed] = self._pending.times[every[ends - 1]]
        return ops.gather(ops.concat([kept, state], 0), tensor(rows)), times, every

    def _messages(self, nodes: np.ndarray, slots: np.ndarray) -> Tensor:
        """The message of each event in `slots` to the node that it waits for: [events, size]."""
        waiting, dtype = self._pending, self.memory.data.dtype
        passed = torch.from_numpy(waiting.times[slots] - host(self.last_update)[nodes])
        parts = [
            ops.gather(self.memory, tensor(nodes)),
            ops.gather(self.memory, tensor(waiting.other[slots])),
            Tensor(waiting.raw[torch.from_numpy(slots)].to(self.memory.data.device)),
            self.time_enc(Tensor(passed.to(self.memory.data.device, dtype))),
        ]
        if self.message_src is None:
            made: Tensor = ops.concat(parts, -1)
            return made
        sides = [np.flatnonzero(waiting.is_target[slots] == side) for side in (False, True)]
        made = ops.concat(
            [
                module(*(ops.gather(part, tensor(rows)) for part in parts))
                for module, rows in zip((self.message_src, self.message_dst), sides, strict=True)
                if len(rows)
            ],
            0,
        )
        return ops.gather(made, tensor(np.argsort(np.concatenate(sides))))
