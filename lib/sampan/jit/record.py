"""Recording a Program while a function runs on its own Tensors.

Two things watch: `forward` is an observer of `apply`, so each operator is one call; a mode of torch sees
every other function of torch that the function, or a layer of ours, calls on buffers. So a Program holds
all that computes with Tensors, and knows each value that leaves the graph: `bool`, `float`, `item`,
`numpy`, `tolist` of a Tensor become a Guard. The function itself runs eagerly while it is
recorded: the first call's result is the eager one.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ..engine.apply import observed_by
from ..engine.errors import InvalidArgument
from ..engine.operator import Operator, recorded_by_hand
from ..engine.tape import Node
from ..engine.tensor import Tensor
from ..random import get_rng_state
from ..trace import calling_line
from . import guards
from .program import Call, Guard, Program, Ref, leaves, mapped

_LIBRARY = f"{Path(__file__).parent.parent}{os.sep}"
# Functions of torch whose answers depend on shape, dtype, place and layout alone.
_METADATA = frozenset(
    (
        *("shape", "dtype", "device", "ndim", "layout", "is_cuda", "is_sparse", "requires_grad", "itemsize"),
        *("nbytes", "size", "stride", "dim", "ndimension", "numel", "nelement", "element_size", "is_meta"),
        *(
            "is_floating_point",
            "is_complex",
            "is_contiguous",
            "storage_offset",
            "untyped_storage",
            "data_ptr",
        ),
        *("__len__", "__hash__", "type", "is_signed", "is_same_size", "is_conj", "is_neg", "get_device"),
        *("_version", "can_cast", "promote_types", "result_type", "is_tensor", "grad", "grad_fn", "is_leaf"),
        *("is_shared", "is_pinned", "is_mkldnn", "is_quantized", "is_sparse_csr", "is_inference", "_is_view"),
        *("is_cpu", "broadcast_shapes", "is_nested", "sparse_dim", "dense_dim", "names", "is_coalesced"),
    )
)
_recording: dict[int, Recorder] = {}
_VARIABLE = recorded_by_hand("a variable of a loop")
WAYS = 16  # through a function, by truth values, that a file may have
reasons: dict[str, str] = {}  # why a loop or branch of the user's is not rewritten, by "file.py:12"
_SMALL = 4096  # entries: buffers up to this are compared by content


def recording() -> bool:
    """Whether this thread records a Program."""
    return get_ident() in _recording


def recorder_of_flow() -> Recorder | None:
    """The Recorder of this thread, where it takes loops and branches as calls."""
    found = _recording.get(get_ident())
    return found if found is not None and found.takes_flow else None


class Refused(InvalidArgument):
    """A function that no Program stands for, whatever the sizes. The text begins with the user's line, not
    with a name of this library."""

    def __init__(self, text: str) -> None:
        ValueError.__init__(self, text)
        self.reason = text


def too_many_ways(name: str, line: str) -> Refused:
    """The error for a function whose truth values lead more ways than a file holds."""
    return Refused(
        f"{line}: more than {WAYS} ways through the function, by {name.strip('_')}() of a Tensor; "
        f"{reasons.get(line, 'it is in no loop that is rewritten')}; write a loop with "
        "paddle.static.nn.while_loop"
    )


class Outside:
    """The Tensors and buffers from outside that Programs of one kind read, in the order of their first use.

    by_content: small buffers with the same numbers are one, as a function makes a constant anew in each run.
    """

    def __init__(self, by_content: bool = False) -> None:
        self.tensors: list[Tensor] = []
        self.buffers: list[torch.Tensor] = []
        self.places: dict[int, Ref] = {}  # id of the buffer: its Ref
        self._contents: dict[Any, Ref] | None = {} if by_content else None
        self._alive: list[torch.Tensor] = []  # another buffer could get the id of one that is in `places`

    def ref(self, buffer: torch.Tensor, owner: Tensor | None) -> Ref:
        """The Ref of a buffer from outside. owner: the Tensor that is asked for it at each call, if known."""
        known = self.places.get(id(buffer))
        if known is not None and (known.kind == "p" or owner is None):
            return known
        if owner is not None:
            self.tensors.append(owner)
            found = Ref("p", len(self.tensors) - 1)
        else:
            found = self._constant(buffer)
        self.places[id(buffer)] = found
        return found

    def _constant(self, buffer: torch.Tensor) -> Ref:
        found = Ref("k", len(self.buffers))
        if self._contents is not None and buffer.numel() <= _SMALL:
            with torch._C.DisableTorchFunction():  # these calls are the recorder's own
                numbers = buffer.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
            self._alive.append(buffer)
            found = self._contents.setdefault((buffer.dtype, buffer.shape, buffer.device, numbers), found)
        if found.index == len(self.buffers):
            self.buffers.append(buffer)
        return found


class Recorder(TorchFunctionMode):
    """Records the calls of this thread into `program`.

    outcomes: what the first truth values that leave the graph shall be, whatever they are: so a run goes
    where its inputs do not lead.
    refused: why the Program does not stand for the function, and the line; empty where it does.
    complex: whether there is a complex value. takes_flow: whether a loop or branch is one call, with its
    Programs in it (control_flow.py). inside: values that exist in such a Program alone.
    fixes_shapes: whether the variables of a loop must keep their shapes, and both ways of a branch give the
    same ones. loops_over_rows: whether `for row in x` of a Tensor is a loop of the Program.
    """

    fixes_shapes, loops_over_rows = True, False

    def __init__(
        self,
        inputs: list[Tensor],
        outside: Outside,
        owners: dict[int, Tensor],
        outcomes: Sequence[bool] = (),
        takes_flow: bool = False,
    ) -> None:
        super().__init__()
        self.takes_flow, self.inside = takes_flow, set[Ref]()
        self.depth_of_parts = 0  # of the loop or branch that is being recorded
        self._outcomes = list(outcomes)
        self.program, self.outside, self.owners = Program(), outside, owners
        self.refused: list[str] = []
        self._refs: dict[int, Ref] = {}
        self._alive: list[Any] = []  # what has a Ref must live: another object could get its id
        self._depth, self._made, self._saved = 0, 0, 0
        self.complex = False
        self.saved: dict[int, Ref] = {}  # id of what an operator saved: its Ref
        for place, tensor in enumerate(inputs):
            self._name(tensor.data, Ref("x", place))

    def refuse(self, reason: str, line: str | None = None) -> None:
        """The Program will not be used: the function runs eagerly."""
        self.refused.append(f"{line or calling_line()}: {reason}")

    # --- what is called ---

    def forward(
        self, operator: Operator, args: tuple[Any, ...], buffers: list[Any], settings: dict[str, Any]
    ) -> Any:
        """Run an operator's body and record it. Called by `apply`."""
        if self._depth:
            return operator.body(*buffers, **settings)
        given = tuple(self.refs(b, args[i] if i < len(args) else None) for i, b in enumerate(buffers))
        call = Call(operator.body, operator.name, given, self.refs(settings), operator=operator)
        result = self._run(call, buffers, settings)
        value, saved = result if operator.saves else (result, None)
        call.result = self._results(value)
        if operator.saves:
            call.saved = self.saved_ref(saved)
        return result

    def saved_ref(self, saved: Any) -> Ref:
        """The Ref of what a call keeps for its derivatives."""
        found = Ref("s", self._saved)
        self._saved += 1
        self.saved[id(saved)] = found
        self._alive.append(saved)
        return found

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function of torch and record it where it is called outside an operator. Called by torch."""
        settings = kwargs or {}
        if self._depth:
            return function(*args, **settings)
        name = _name_of(function)
        if name in _METADATA or name.startswith("_C"):
            return function(*args, **settings)
        given, named = self.refs(tuple(args)), self.refs(settings)
        call = Call(function, name, given, named)
        result = self._run(call, args, settings)
        if holds_buffers(result):
            call.result = self._results(result)
        elif result is None or result is NotImplemented:
            if not call.writes:  # a change of a mode, such as no_grad, belongs to no Program
                self.program.steps.remove(call)
        else:
            self.program.steps.remove(call)
            result = self._leaves(function, name, given, named, result)
        return result

    def _run(self, call: Call, args: Any, settings: dict[str, Any]) -> Any:
        self._depth += 1
        call.line = calling_line()
        self.program.steps.append(call)
        try:
            buffers = list(_buffers((args, settings)))
            before = [b._version for b in buffers]
            state = get_rng_state()
            result = call.function(*args, **settings)
            call.random = not all(map(torch.equal, state, get_rng_state()))
            changed = [b for b, version in zip(buffers, before, strict=True) if b._version != version]
            call.writes = tuple(dict.fromkeys(self.refs(b) for b in changed))
        except BaseException:
            self.program.steps.remove(call)  # a caller may catch the error and go another way
            raise
        finally:
            self._depth -= 1
        return result

    def _leaves(self, function: Any, name: str, args: Any, settings: Any, result: Any) -> Any:
        """A value leaves the graph: what follows depends on it. What the caller gets for it."""
        if self.takes_flow and len(self.program.guards) > WAYS:
            raise too_many_ways(name, calling_line())
        if self.depth_of_parts:
            line = calling_line()
            raise Refused(
                f"{line}: {name.strip('_')}() of a Tensor decides what is computed in a loop or branch; "
                f"{reasons.get(line, 'it is not rewritten')}; write it with paddle.static.nn.cond or "
                "while_loop, or with paddle.where"
            )
        if isinstance(result, bool) and self._outcomes:
            result = self._outcomes.pop(0)
        if settings:
            self.refuse(f"{name} with {', '.join(settings)}")
        elif isinstance(result, (np.ndarray, np.generic)) and (line := _inside_library()):
            self.refuse("the library computes with NumPy here", line)
        self.program.steps.append(Guard(function, name, args, guards.outcome(result), calling_line()))
        return result

    # --- names of values ---

    def refs(self, value: Any, owner: Any = None) -> Any:
        """The same structure with a Ref for each buffer. owner: the Tensor that `value` is the buffer of."""
        if isinstance(owner, Tensor) and isinstance(value, torch.Tensor):
            return self._own(value) or self.outside.ref(value, owner)
        return mapped(value, self._ref)

    def ref_of(self, tensor: Tensor) -> Ref:
        """The Ref of a Tensor."""
        found: Ref = self._ref(tensor)
        return found

    def _own(self, buffer: torch.Tensor) -> Ref | None:
        """The Ref of a buffer that is an input or was made here."""
        found = self._refs.get(id(buffer))
        if found in self.inside:
            raise Refused(
                f"{calling_line()}: a value of a loop or branch is read behind it, from a list or a "
                "Tensor that it writes to; make it one of the results"
            )
        return found

    def _ref(self, leaf: Any) -> Any:
        buffer = leaf.data if isinstance(leaf, Tensor) else leaf
        if not isinstance(buffer, torch.Tensor):
            return leaf
        owner = leaf if isinstance(leaf, Tensor) else self.owners.get(id(buffer))
        return self._own(buffer) or self.outside.ref(buffer, owner)

    def known(self, buffer: torch.Tensor) -> Ref | None:
        """The Ref of a buffer, or None for one that nothing recorded has made or read."""
        return self._own(buffer) or self.outside.places.get(id(buffer))

    # --- loops and branches ---

    def apart(
        self, function: Any, arguments: Sequence[Any] = (), begun: list[Any] | None = None
    ) -> tuple[list[Any], Any]:
        """What a function calls, in a list of its own, and what it returns. begun: calls before those."""
        outer, self.program.steps = self.program.steps, [] if begun is None else begun
        self.depth_of_parts += 1
        try:
            result = function(*arguments)
            return self.program.steps, result
        finally:
            self.depth_of_parts -= 1
            self.program.steps = outer

    def fresh(self, like: Tensor) -> tuple[Tensor, Ref]:
        """A new value that begins as a copy of a Tensor. With gradients it is a variable of the tape."""
        self._depth += 1  # nothing of this is recorded
        try:
            made = Tensor(like.data.clone())
        finally:
            self._depth -= 1
        if torch.is_grad_enabled() and made.data.is_floating_point():
            made.node, made.stop_gradient = Node(_VARIABLE, [], {}), False
        return made, self._result(made.data)

    def _results(self, value: Any) -> Any:
        return mapped(value, self._result)

    def _result(self, leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        found = Ref("v", self._made)
        self._made += 1
        self._name(leaf, found)
        return found

    def _name(self, buffer: torch.Tensor, ref: Ref) -> None:
        self._refs[id(buffer)] = ref
        self.complex |= buffer.dtype.is_complex
        self._alive.append(buffer)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within the block the calls of this thread are recorded."""
        numbers, drawn = random.getstate(), _numbers_of_numpy()
        _recording[get_ident()] = self
        try:
            with observed_by(self), self:
                yield
        finally:
            del _recording[get_ident()]
        moved = _numbers_of_numpy()
        if random.getstate() != numbers or drawn[1] != moved[1] or not np.array_equal(drawn[0], moved[0]):
            self.refuse("it draws random numbers outside this library, which a Program would repeat")


def _numbers_of_numpy() -> Any:
    """The place of NumPy's generator in its sequence."""
    state: Any = np.random.get_state()
    return state[1].copy(), state[2]


_TORCH = f"{Path(torch.__file__).parent}{os.sep}"


def _inside_library() -> str:
    """The line of the library that reads a buffer as an array; "" where the user's code asked for it."""
    frame: Any = sys._getframe(1)
    passed = ("jit/record.py", "engine/tensor.py", "engine/conversion.py")
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_TORCH) and not file.endswith(passed):
            return f"{Path(file).name}:{frame.f_lineno}" if file.startswith(_LIBRARY) else ""
        frame = frame.f_back
    return ""


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    if name in ("__get__", "__set__"):
        return str(getattr(getattr(function, "__self__", None), "__name__", name))
    return str(name)


def _buffers(value: Any) -> Iterator[torch.Tensor]:
    """The buffers in a value, also those of its Tensors."""
    for leaf in leaves(value):
        buffer = leaf.data if isinstance(leaf, Tensor) else leaf
        if isinstance(buffer, torch.Tensor):
            yield buffer


def holds_buffers(value: Any) -> bool:
    """Whether there is a buffer in a value."""
    return next(_buffers(value), None) is not None
