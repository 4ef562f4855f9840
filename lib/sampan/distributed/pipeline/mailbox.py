"""Values that travel between the processes of a pipeline: activations, gradients, losses, errors.

A message is a block of bytes with a description as JSON, followed by the tensors. So tensors of any shape and
dtype can be sent, in lists, tuples and dictionaries, also different ones for each micro-batch. A message has
a key: the process that receives takes the one that it needs next, and keeps those that arrive before it. It
says to which step it belongs, so that what an earlier step left behind is not taken for a new value. In place
of a value it may hold the error of a process.
"""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch

from ...dtype import as_dtype, name_of
from ...engine.errors import InvalidType
from ...engine.tensor import Tensor
from .. import agreement, wire
from ..agreement import CommunicationError
from ..group import Group

__all__ = ["Mailbox", "mailbox_of"]

BLOCK = 1024  # bytes; a longer description follows in a message of its own
Key = tuple[str, int, int]  # what the value is: kind, stage that needs it, micro-batch


_of_groups: WeakKeyDictionary[Group, Mailbox] = WeakKeyDictionary()


def mailbox_of(group: Group) -> Mailbox:
    """The Mailbox of a group: all pipelines of a group share it, as they share its connections."""
    if group not in _of_groups:
        _of_groups[group] = Mailbox(group)
    return _of_groups[group]


class Mailbox:
    """The messages of this process with the others of a group. Members are named by their number in it."""

    def __init__(self, group: Group) -> None:
        self._group = ref(group)
        self._connect()

    def _connect(self) -> None:
        self._connection = self.group.torch_group
        self.step, self.failed = 0, -1  # the present step; the last one that ended with an error
        self._arrived: dict[tuple[int, Key], Any] = {}
        self._sends: dict[tuple[int, Key], list[wire.Message]] = {}
        # What a step with an error sent may never be received. Its memory must stay until it is.
        self._left: list[wire.Message] = []

    @property
    def group(self) -> Group:
        """The group, which has a Mailbox as long as it exists."""
        group = self._group()
        assert group is not None  # who calls holds it
        return group

    def begin(self) -> None:
        """Begin a step: the next training or evaluation of a batch."""
        if self.group.torch_group is not self._connection:  # `restart_process_group` was called
            self._connect()
        self.step += 1
        self._arrived.clear()

    def send(self, peer: int, key: Key, value: Any) -> None:
        """Send a value; returns at once. Its tensors must not change before `finish`.

        value: Tensors and None, numbers, texts, in any lists, tuples and dictionaries with texts as keys.
        Raises InvalidType for anything else.
        """
        tensors: list[torch.Tensor] = []
        told = {"key": key, "value": _described(value, tensors, key)}
        self._sends[peer, key] = self._send(peer, told, tensors)

    def received(self, peer: int, key: Key) -> None:
        """Forget a value that member `peer` must have received, since it has answered."""
        for task in self._sends.pop((peer, key)):
            task.wait()

    def _send(self, peer: int, told: dict[str, Any], tensors: list[torch.Tensor]) -> list[wire.Message]:
        text = json.dumps({"step": self.step, **told}).encode()
        block = text if len(text) <= BLOCK else json.dumps({"bytes": len(text)}).encode()
        parts = [block.ljust(BLOCK)] if block is text else [block.ljust(BLOCK), text]
        buffers = [torch.frombuffer(bytearray(part), dtype=torch.uint8) for part in parts]
        sent = [*buffers, *(tensor for tensor in tensors if tensor.numel())]
        return [wire.send(buffer, peer, self.group, sync=False) for buffer in sent]

    def receive(self, peer: int, key: Key) -> Any:
        """The value with this key that member `peer` sends in this step.

        Tensors are new ones, with `stop_gradient` as they had it there. Raises CommunicationError with the
        text of `fail` where a process failed, and where none arrives within the time-out.
        """
        while (peer, key) not in self._arrived:
            self._take(peer)
        return self._arrived.pop((peer, key))

    def _take(self, peer: int) -> None:
        """Receive the next message of a member."""
        told = self._description(peer, BLOCK)
        if "bytes" in told:
            told = self._description(peer, told["bytes"])
        if "error" in told:
            if told["step"] > self.failed:
                raise CommunicationError(told["error"])
            return
        value = _made(told["value"], lambda *described: self._tensor(peer, *described))
        if told["step"] > self.step:
            raise CommunicationError(
                f"rank {self.group.ranks[peer]} is in step {told['step']} of the pipeline, this process in "
                f"step {self.step}: every process must call train_batch and eval_batch equally often"
            )
        if told["step"] == self.step:
            kind, stage, micro = told["key"]
            self._arrived[peer, (kind, stage, micro)] = value

    def _description(self, peer: int, size: int) -> Any:
        block = torch.empty(size, dtype=torch.uint8)
        wire.receive(block, peer, self.group)
        return json.loads(block.numpy().tobytes())

    def _note(self) -> str:
        """Where a process that fails in this step writes why, in the key-value store."""
        return f"pipeline/{self.group.checks.group_name}/{self.step}"

    def reason(self) -> str | None:
        """Why a process failed in this step that had ended, or was disconnected, before it could send it."""
        return agreement._read([self._note()])[0] if self.group.nranks > 1 else None

    def _tensor(self, peer: int, dtype: str, shape: list[int], device: str, stop_gradient: bool) -> Tensor:
        buffer = torch.empty(shape, dtype=as_dtype(dtype), device=device)
        if buffer.numel():
            wire.receive(buffer, peer, self.group)
        return Tensor(buffer, stop_gradient=stop_gradient)

    def fail(self, text: str) -> None:
        """End the step, and tell all members why: they raise a CommunicationError with this text."""
        if self.group.nranks > 1:
            agreement._write(self._note(), text)
        for peer in range(self.group.nranks):
            if peer != self.group.rank:
                try:
                    self._left += self._send(peer, {"error": text}, [])
                except CommunicationError:
                    continue  # it has ended, and its connection with it; the others are still told
        self.failed = self.step
        for tasks in self._sends.values():
            self._left += tasks
        for task in self._left:
            task.give_up()  # the others may never read what this step has sent
        self._sends = {}

    def finish(self) -> None:
        """End a step that every member has ended: wait until all is sent."""
        for peer, key in [*self._sends]:
            self.received(peer, key)


def _described(value: Any, tensors: list[torch.Tensor], key: Key) -> Any:
    """A value as JSON; its tensors are appended to a list."""
    if isinstance(value, Tensor) and not value.is_sparse():
        buffer = value.data
        tensors.append(buffer)
        return {"tensor": [name_of(buffer.dtype), [*buffer.shape], buffer.device.type, value.stop_gradient]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_described(part, tensors, key) for part in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: _described(part, tensors, key) for name, part in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    raise InvalidType(
        f"stage {key[1]} of the pipeline: expected dense Tensors, None, numbers and texts, "
        f"in lists, tuples and dictionaries, got {type(value).__name__}"
    )


def _made(described: Any, tensor: Any) -> Any:
    """The value that was described; `tensor` receives one."""
    ((kind, content),) = described.items()
    if kind == "tensor":
        return tensor(*content)
    if kind == "dict":
        return {name: _made(part, tensor) for name, part in content.items()}
    if kind == "plain":
        return content
    parts = [_made(part, tensor) for part in content]
    return parts if kind == "list" else tuple(parts)
