"""Collectives of buffers (torch tensors): the one place that calls torch.distributed for them.

Each function checks that the processes agree (agreement.py), counts bytes (traffic.py), starts the exchange
and returns a Task. With a group of one process it copies. Buffers may have any strides; values are moved as
bytes, so that any dtype can be, and sums of dtypes that gloo lacks are computed in a wider one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as c10d

from . import outbox, traffic, waiting
from .agreement import Call, enter, failed, leave, until_done
from .group import Group


class ReduceOp:
    """How values are combined."""

    SUM, MAX, MIN, PROD, AVG = range(5)


NAMES = ("SUM", "MAX", "MIN", "PROD", "AVG")
_OF_TORCH = (
    c10d.ReduceOp.SUM,
    c10d.ReduceOp.MAX,
    c10d.ReduceOp.MIN,
    c10d.ReduceOp.PRODUCT,
    c10d.ReduceOp.SUM,
)


class Task:
    """An exchange that may still run. Its results are there after `wait`."""

    def __init__(
        self,
        call: Call | None = None,
        works: Sequence[Any] = (),
        finish: Callable[[], None] | None = None,
        sync: bool = True,
    ) -> None:
        self._call, self._works, self._finish, self._sync = call, works, finish, sync
        try:
            if sync:
                self.wait()
        finally:
            if call is not None:
                leave(call.group)

    def wait(self, timeout: Any = None) -> bool:
        """Wait until the results are there. Raises CommunicationError where the exchange failed."""
        works, self._works = self._works, ()
        for work in works:
            assert self._call is not None  # a Task with works has a call
            if hasattr(work, "blocking"):
                work.wait_for(self._call)
            else:
                until_done(work, self._call)
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def is_sync(self) -> bool:
        return self._sync

    def synchronize(self) -> None:
        """The same as `wait`."""
        self.wait()


class Blocking:
    """Torch's work of a message: it says that it is completed only after its `wait`. size: its bytes."""

    blocking = True

    def __init__(self, work: Any, call: Call, size: int) -> None:
        self.work, self.call, self.size, self.done = work, call, size, False

    def is_completed(self) -> bool:
        return self.done

    def wait_for(self, call: Call) -> None:
        try:
            with waiting.for_others(call.name):
                self.work.wait()
        except RuntimeError as error:
            raise failed(call, error) from error
        finally:
            outbox.ended(self)
        self.done = True


class Message(Task):
    """A message that may still be on its way. It arrives too where the program drops this Task."""

    def __del__(self) -> None:
        if self._works:
            outbox.leave(self._works, self._finish)

    def give_up(self) -> None:
        """The message need not arrive: the end of the connection does not wait for it."""
        for work in self._works:
            outbox.ended(work)


def _bytes_of(buffer: torch.Tensor) -> torch.Tensor:
    """The values as a vector of bytes: the buffer's own memory where it is contiguous."""
    return buffer.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _receiver(buffer: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None] | None]:
    """A vector of bytes to receive into, and what puts it into the buffer if that has other strides."""
    if buffer.is_contiguous() and not buffer.is_conj():
        return buffer.reshape(-1).view(torch.uint8), None
    copy = torch.empty(buffer.shape, dtype=buffer.dtype, device=buffer.device)
    return copy.view(-1).view(torch.uint8), lambda: _assign(buffer, copy)


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two vectors of bytes share memory."""
    return a.data_ptr() < b.data_ptr() + b.numel() and b.data_ptr() < a.data_ptr() + a.numel()


def _assign(buffer: torch.Tensor, value: torch.Tensor) -> None:
    buffer.copy_(value)


def _on_the_wire(message: torch.Tensor, group: Group) -> torch.Tensor:
    """A vector that can be sent: on a GPU without NCCL its copy on the CPU, since gloo reads the address of a
    message as one of the CPU, which ends the process. gloo's other collectives copy by themselves."""
    return message.cpu() if message.is_cuda and group.backend != "NCCL" else message


def _check_defined(dtype: torch.dtype, op: int) -> None:
    """ValueError where values of a dtype have no such combination."""
    if dtype.is_complex and op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise ValueError(f"{NAMES[op]} of {dtype} is not defined; expected SUM or AVG")
    if dtype is torch.bool and op == ReduceOp.AVG:
        raise ValueError("AVG of bool is not defined; expected SUM, MAX, MIN or PROD")


def _combined(values: torch.Tensor, op: int) -> torch.Tensor:
    """The combination along the first axis, in the order of the members."""
    if values.dtype is torch.bool:
        return values.any(0) if op in (ReduceOp.SUM, ReduceOp.MAX) else values.all(0)
    if op in (ReduceOp.MAX, ReduceOp.MIN):
        return values.amax(0) if op == ReduceOp.MAX else values.amin(0)
    if op == ReduceOp.PROD:
        return values.prod(0, dtype=values.dtype)
    total = values.sum(0, dtype=values.dtype)
    if op == ReduceOp.AVG:
        fractions = values.dtype.is_floating_point or values.dtype.is_complex
        total = total.div(len(values)) if fractions else total.div(len(values), rounding_mode="trunc")
    return total


def _reducible(
    buffer: torch.Tensor, op: int, count: int
) -> tuple[torch.Tensor, Any, Callable[[], None] | None]:
    """What to reduce in place of a buffer, with which operation of torch, and what then puts it there."""
    dtype = buffer.dtype
    _check_defined(dtype, op)
    if dtype is torch.bool:
        torch_op = c10d.ReduceOp.MAX if op in (ReduceOp.SUM, ReduceOp.MAX) else c10d.ReduceOp.MIN
        used = buffer.to(torch.uint8).contiguous()
        return used, torch_op, lambda: _assign(buffer, used.to(torch.bool))
    torch_op = _OF_TORCH[op]  # AVG: the sum, which is divided afterwards
    wider = torch.int32 if dtype in (torch.int16, torch.uint16) else dtype
    used = buffer.resolve_conj().to(wider).contiguous()
    if dtype.is_complex:
        used = torch.view_as_real(used)
    whole = not (dtype.is_floating_point or dtype.is_complex)

    def finish() -> None:
        value = torch.view_as_complex(used) if dtype.is_complex else used
        if op == ReduceOp.AVG:
            value.div_(count, rounding_mode="trunc") if whole else value.div_(count)
        if value.data_ptr() != buffer.data_ptr() or value.dtype is not dtype:
            _assign(buffer, value)

    same = used.data_ptr() == buffer.data_ptr() and op != ReduceOp.AVG
    return used, torch_op, None if same else finish


def _size(buffer: torch.Tensor) -> int:
    return buffer.numel() * buffer.element_size()


def all_reduce(
    buffer: torch.Tensor, op: int, group: Group, sync: bool = True, label: str = "", checked: bool = True
) -> Task:
    """The combination of all members' buffers, in place.

    label: what the buffer is, for errors. checked: False where the caller has compared the calls of a step
    itself.
    """
    used, torch_op, finish = _reducible(buffer, op, group.nranks)
    call = enter("all_reduce", group, buffer, f"op {NAMES[op]}", label, compared=checked)
    traffic.count("all_reduce", _size(buffer), traffic.ring(_size(used), group.nranks))
    if group.nranks == 1 or not buffer.numel():
        return Task(call, (), finish, sync)
    return Task(call, [c10d.all_reduce(used, torch_op, group.torch_group, async_op=True)], finish, sync)


def reduce(buffer: torch.Tensor, root: int, op: int, group: Group, sync: bool = True) -> Task:
    """`all_reduce` for one member, `root` (its number in the group); the other buffers stay as they are."""
    if group.rank != root:
        buffer = buffer.clone()  # gloo uses it for partial sums
    used, torch_op, finish = _reducible(buffer, op, group.nranks)
    call = enter("reduce", group, buffer, f"op {NAMES[op]} to rank {group.ranks[root]}")
    traffic.count("reduce", _size(buffer), _size(used) if group.nranks > 1 else 0)
    if group.nranks == 1 or not buffer.numel():
        return Task(call, (), finish, sync)
    work = c10d.reduce(used, group.ranks[root], torch_op, group.torch_group, async_op=True)
    return Task(call, [work], finish, sync)


def broadcast(buffer: torch.Tensor, root: int, group: Group, sync: bool = True) -> Task:
    """The buffer of member `root` (its number in the group), in place."""
    call = enter("broadcast", group, buffer, f"from rank {group.ranks[root]}")
    traffic.count(
        "broadcast",
        _size(buffer),
        traffic.tree(_size(buffer), group.nranks, (group.rank - root) % group.nranks),
    )
    if group.nranks == 1 or not buffer.numel():
        return Task(call, (), None, sync)
    used, finish = (_bytes_of(buffer), None) if group.rank == root else _receiver(buffer)
    work = c10d.broadcast(used, group.ranks[root], group.torch_group, async_op=True)
    return Task(call, [work], finish, sync)


def all_gather(outs: Sequence[torch.Tensor], buffer: torch.Tensor, group: Group, sync: bool = True) -> Task:
    """Every member's buffer, each into one of `outs`. All have the same shape and dtype."""
    call = enter("all_gather", group, buffer)
    traffic.count("all_gather", _size(buffer), (group.nranks - 1) * _size(buffer))
    return _collect(
        call,
        outs,
        buffer,
        sync,
        lambda used, sent: c10d.all_gather(used, sent, group=call.group.torch_group, async_op=True),
    )


def gather(
    outs: Sequence[torch.Tensor], buffer: torch.Tensor, root: int, group: Group, sync: bool = True
) -> Task:
    """`all_gather` for one member, `root`; `outs` of the others is not read."""
    call = enter("gather", group, buffer, f"to rank {group.ranks[root]}")
    here = group.rank == root
    traffic.count("gather", _size(buffer), 0 if here else _size(buffer))
    return _collect(
        call,
        outs if here else [],
        buffer,
        sync,
        lambda used, sent: c10d.gather(
            sent, used if here else None, group.ranks[root], group.torch_group, async_op=True
        ),
    )


def _collect(call: Call, outs: Sequence[torch.Tensor], buffer: torch.Tensor, sync: bool, start: Any) -> Task:
    """Receive into `outs` by bytes."""
    if call.group.nranks == 1 or not buffer.numel():
        for out in outs:
            out.copy_(buffer)
        return Task(call, (), None, sync)
    pairs, sent = [_receiver(out) for out in outs], _bytes_of(buffer)
    if any(_overlap(used, sent) for used, _ in pairs):
        sent = sent.clone()  # gloo may write the others' values before it has read this
    work = start([used for used, _ in pairs], sent)
    return Task(call, [work], _all(finish for _, finish in pairs), sync)


def _all(finishes: Any) -> Callable[[], None] | None:
    kept = [finish for finish in finishes if finish is not None]

    def run() -> None:
        for finish in kept:
            finish()

    return run if kept else None


def scatter(
    buffer: torch.Tensor, parts: Sequence[torch.Tensor], root: int, group: Group, sync: bool = True
) -> Task:
    """This member's entry of the list of member `root`, into a buffer; `parts` of the others is not read."""
    call = enter("scatter", group, buffer, f"from rank {group.ranks[root]}")
    here = group.rank == root
    traffic.count("scatter", _size(buffer), (group.nranks - 1) * _size(buffer) if here else 0)
    if group.nranks == 1 or not buffer.numel():
        if parts:
            buffer.copy_(parts[0])
        return Task(call, (), None, sync)
    used, finish = _receiver(buffer)
    # gloo may write the own part before it has read those of the others
    sent = [_bytes_of(p).clone() if _overlap(_bytes_of(p), used) else _bytes_of(p) for p in parts if here]
    work = c10d.scatter(used, sent or None, group.ranks[root], group.torch_group, async_op=True)
    return Task(call, [work], finish, sync)


def reduce_scatter(
    buffer: torch.Tensor, parts: Sequence[torch.Tensor], op: int, group: Group, sync: bool = True
) -> Task:
    """This member's entry of the combined lists, into a buffer.

    On a CPU the parts are exchanged and combined here: gloo computes an all_reduce, which sends twice the
    bytes.
    """
    _check_defined(buffer.dtype, op)
    call = enter("reduce_scatter", group, buffer, f"op {NAMES[op]}")
    total = sum(map(_size, parts))
    traffic.count("reduce_scatter", total, (group.nranks - 1) * total // group.nranks)
    if group.nranks == 1 or not buffer.numel():
        buffer.copy_(parts[group.rank])
        return Task(call, (), None, sync)
    if buffer.is_cuda and group.backend == "NCCL":
        mine = torch.empty(buffer.shape, dtype=buffer.dtype, device=buffer.device)
        used, torch_op, finish = _reducible(mine, op, group.nranks)
        sent = [_reducible(part, op, group.nranks)[0] for part in parts]
        work = c10d.reduce_scatter(used, sent, torch_op, group.torch_group, async_op=True)
        return Task(call, [work], _all([finish, lambda: _assign(buffer, mine)]), sync)
    received = torch.empty((group.nranks, _size(buffer)), dtype=torch.uint8, device=buffer.device)
    bytes_sent = torch.cat([_bytes_of(part) for part in parts])
    work = c10d.all_to_all_single(received.view(-1), bytes_sent, group=group.torch_group, async_op=True)

    def combine() -> None:
        values = received.view(-1).view(buffer.dtype).view(group.nranks, *buffer.shape)
        buffer.copy_(_combined(values, op))

    return Task(call, [work], combine, sync)


def all_to_all(
    outs: Sequence[torch.Tensor],
    parts: Sequence[torch.Tensor],
    group: Group,
    sync: bool = True,
    name: str = "alltoall",
) -> Task:
    """Part j of member i becomes out i of member j. The sizes may differ.

    Raises CommunicationError where a member expects another number of bytes than is sent to it.
    """
    call = enter(name, group, None, str(parts[0].dtype).removeprefix("torch."))
    sizes = [_size(part) for part in parts]
    traffic.count(name, sum(sizes), sum(sizes) - sizes[group.rank])
    if group.nranks == 1:
        outs[0].copy_(parts[0])
        return Task(call, (), None, sync)
    expected = [_size(out) for out in outs]
    _refuse_sizes(call, sizes, expected)
    received = torch.empty(sum(expected), dtype=torch.uint8, device=parts[0].device)
    sent = torch.cat([_bytes_of(part) for part in parts])
    work = c10d.all_to_all_single(received, sent, expected, sizes, group=group.torch_group, async_op=True)

    def finish() -> None:
        for out, piece in zip(outs, received.split(expected), strict=True):
            # The copy begins at an address that is a multiple of the element's size.
            out.copy_(piece.clone().view(out.dtype).view(out.shape))

    return Task(call, [work], finish, sync)


def _refuse_sizes(call: Call, sizes: list[int], expected: list[int]) -> None:
    """gloo ends the process where the sizes differ, so they are exchanged first."""
    own = torch.tensor(list(zip(sizes, expected, strict=True)))
    others = torch.empty_like(own)
    until_done(c10d.all_to_all_single(others, own, group=call.group.checks, async_op=True), call)
    for rank, sent, waited, (its_sent, its_waited) in zip(
        call.group.ranks, sizes, expected, others.tolist(), strict=True
    ):
        if its_sent != waited or its_waited != sent:
            text = (
                f"rank {rank} sends {its_sent} bytes and expects {its_waited}, "
                f"this process expects {waited} from it and sends {sent}"
            )
            raise failed(call, RuntimeError(text))


def barrier(group: Group) -> None:
    """Wait until every member calls it."""
    call = enter("barrier", group)
    traffic.count("barrier", 0, 0)
    if group.nranks > 1:
        Task(call, [c10d.all_reduce(torch.zeros(1, dtype=torch.uint8), group=group.checks, async_op=True)])


def send(buffer: torch.Tensor, peer: int, group: Group, sync: bool = True) -> Message:
    """Send a buffer to member `peer` (its number in the group)."""
    call = enter("send", group, buffer, f"to rank {group.ranks[peer]}", compared=False)
    traffic.count("send", _size(buffer), _size(buffer))
    if not buffer.numel():
        return Message(call, [], None, sync)  # gloo gives one without a byte to whatever is received next
    sent = _on_the_wire(_bytes_of(buffer), group)
    outbox.make_room()
    try:
        work = c10d.isend(sent, group.ranks[peer], group.torch_group)
    except RuntimeError as error:
        raise failed(call, error) from error
    kept = Blocking(work, call, _size(buffer))
    if not sync:
        outbox.add(kept)
    return Message(call, [kept], None, sync)


def receive(buffer: torch.Tensor, peer: int, group: Group, sync: bool = True) -> Message:
    """Receive a buffer of the same size from member `peer` (its number in the group)."""
    call = enter("recv", group, buffer, f"from rank {group.ranks[peer]}", compared=False)
    traffic.count("recv", _size(buffer), 0)
    if not buffer.numel():
        return Message(call, [], None, sync)
    there, finish = _receiver(buffer)
    used = _on_the_wire(there, group)
    outbox.make_room()
    try:
        work = c10d.irecv(used, group.ranks[peer], group.torch_group)
    except RuntimeError as error:
        raise failed(call, error) from error
    back = None if used is there else lambda: _assign(there, used)
    return Message(call, [Blocking(work, call, _size(buffer))], _all([back, finish]), sync)
