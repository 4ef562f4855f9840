"""Kinds of calls of a function: what decides which Program is right, and what is kept for each kind."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import is_
from threading import get_ident
from typing import Any, NamedTuple

import torch

from ..amp.casting import AutoCast
from ..engine.apply import observers
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..nn.parameter import Parameter
from . import guards
from .code import Branch, forward_source
from .program import Program, Ref, refs
from .record import Outside
from .spec import InputSpec

PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, type(Ellipsis))
ONE = Ref("o", 0)


class End(NamedTuple):
    """What a run returns at one end of a Program.

    result: its structure; in place of each Tensor the place of an output, or the Ref of the Tensor from
    outside that is returned itself. recorded: places of the outputs on the tape. pullback, edges: their
    derivatives by the values of `edges`.
    """

    program: Program
    result: Any
    recorded: tuple[int, ...]
    pullback: Callable[..., Any] | None
    edges: tuple[Ref, ...]


class ConcreteProgram(NamedTuple):
    """A Program, the specs of its inputs, and the Tensors from outside that it reads."""

    main_program: Program
    inputs: list[InputSpec]
    parameters: list[Tensor]

    @property
    def outputs(self) -> list[Ref]:
        """The values that it returns."""
        return list(refs(self.main_program.result))


class Kind:
    """The Programs for one kind of call, joined to one Python function."""

    def __init__(self) -> None:
        self.outside, self.root = Outside(), Branch()
        self.ends: list[End] = []
        self.eager, self.why = False, ""
        self.call: Any = None  # args and kwargs, with an InputSpec for each Tensor
        self.gradients = False
        self.flags: list[bool] = []  # stop_gradient of the Tensors from outside, where gradients are recorded
        self.seen: list[torch.Tensor] = []
        self.compiled: Callable[..., Any] | None = None
        self.text = ""
        self.random, self.returns = (
            False,
            False,
        )  # whether it draws numbers; whether a run may have to be undone
        self.written: list[Ref] = []

    def add(self, program: Program, result: Any, outputs: Any, recorded: Any, pull: Any) -> bool:
        """Take one more Program. False if it does not fit to those that are here."""
        kept = () if pull is None else pull.kept
        if not self.root.add(program, len(self.ends), tuple(outputs), kept):
            return False
        pullback = None if pull is None else pull.source.compiled("gradients")
        self.ends.append(End(program, result, recorded, pullback, () if pull is None else pull.edges))
        self.seen = [t.data for t in self.outside.tensors]
        self.flags = [t.stop_gradient for t in self.outside.tensors] if torch.is_grad_enabled() else []
        self.compiled = None
        return True

    def function(self, inputs: int) -> Callable[..., Any]:
        """The Python function of all Programs here."""
        if self.compiled is None:
            root, _ = self.root.pruned()
            calls = list(root.each())
            self.random = any(call.random for call in calls)
            self.written = list(
                dict.fromkeys(ref for call in calls for ref in call.writes if ref.kind in ("x", "p", "k"))
            )
            source = forward_source(root, inputs, len(self.outside.tensors), len(self.outside.buffers))
            self.returns = self.random or bool(self.written) or root.guard is not None
            self.compiled, self.text = source.compiled("program"), "\n".join(source.lines)
        return self.compiled

    def current(self) -> list[torch.Tensor] | None:
        """The buffers of the Tensors from outside; None if one has another shape, dtype or place now, or has
        been frozen or released where gradients are recorded."""
        now = [t.data for t in self.outside.tensors]
        if self.flags and [t.stop_gradient for t in self.outside.tensors] != self.flags:
            return None
        if not all(map(is_, now, self.seen)):
            for new, old in zip(now, self.seen, strict=True):
                if new.shape != old.shape or new.dtype is not old.dtype or new.device != old.device:
                    return None
            self.seen = now
        return now


class Saved(NamedTuple):
    """Memory and random numbers as they were before a run, for a second one."""

    state: torch.Tensor | None
    buffers: list[tuple[torch.Tensor, torch.Tensor]]

    @classmethod
    def before(cls, kind: Kind, given: Sequence[torch.Tensor], outside: Sequence[torch.Tensor]) -> Saved:
        of = {"x": given, "p": outside, "k": kind.outside.buffers}
        buffers = [of[ref.kind][ref.index] for ref in kind.written]
        return cls(torch.get_rng_state() if kind.random else None, [(b, b.clone()) for b in buffers])

    def again(self) -> Saved:
        """The same memory and random numbers as they are now."""
        state = None if self.state is None else torch.get_rng_state()
        return Saved(state, [(b, b.clone()) for b, _ in self.buffers])

    def restore(self) -> None:
        if self.state is not None:
            torch.set_rng_state(self.state)
        for buffer, value in self.buffers:
            buffer.copy_(value)


def casts() -> tuple[Any, ...] | None:
    """The mixed precision of this thread; None where an observer must see each operator."""
    found: list[Any] = []
    for observer in observers.get(get_ident(), ()):
        if not isinstance(observer, AutoCast):
            return None
        c = observer.cast
        found.append(c and (c.level, c.dtype, frozenset(c.white), frozenset(c.black), c.promote))
    return tuple(found)


def describe(value: Any, tensors: list[Tensor], key: list[Any]) -> bool:
    """Append the Tensors in a value, and what decides about its kind. False where nothing can."""
    kind = type(value)
    if kind is Tensor or kind is Parameter:
        data = value.data
        tensors.append(value)
        key += (data.shape, data.dtype, data.is_contiguous(), value.stop_gradient, data.is_cuda)
        return True
    if isinstance(value, PLAIN):
        key.append((kind, guards.outcome(value) if isinstance(value, (float, complex)) else value))
        return True
    if isinstance(value, (list, tuple)):
        key.append((kind, len(value)))
        return all(describe(part, tensors, key) for part in value)
    if kind is dict:
        key.append(tuple(value))
        return all(describe(part, tensors, key) for part in value.values())
    if isinstance(value, slice):
        return describe((value.start, value.stop, value.step), tensors, key)
    if isinstance(value, Layer) or callable(value):
        key.append(id(value))
        return True
    return False


def attributes_of(layer: Layer) -> tuple[Any, ...]:
    """What of a layer and those below decides about its calls."""
    return tuple(
        (
            id(part),
            part.training,
            tuple((name, _attribute(value)) for name, value in vars(part).items() if name != "training"),
        )
        for part in layer.sublayers(include_self=True)
    )


def values_read(function: Any) -> list[Callable[[], Any]]:
    """How to read the numbers and texts that a function names: of its closure, its module, and the object it
    is a method of, where that is no Layer. They decide about its calls, and may change between two."""
    found: list[Callable[[], Any]] = []
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, (Layer, type)) and hasattr(owner, "__dict__"):
        found.append(lambda: tuple((n, v) for n, v in vars(owner).items() if isinstance(v, PLAIN)))
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    if code is None:
        return found
    for cell in plain.__closure__ or ():
        found.append(partial(_content_of, cell))
    scope = plain.__globals__
    found += [
        partial(_number_at, scope, name)
        for name in code.co_names
        if isinstance(scope.get(name, ...), _NUMBERS)
    ]
    return found


_NUMBERS = (bool, int, float, complex, str, bytes)


def _number_at(scope: dict[str, Any], name: str) -> Any:
    value = scope.get(name)
    return value if isinstance(value, _NUMBERS) else id(value)


def _content_of(cell: Any) -> Any:
    """The number or text in a cell; None for another content, or for none."""
    try:
        value = cell.cell_contents
    except ValueError:
        return None
    return value if isinstance(value, _NUMBERS) else None


def _attribute(value: Any) -> Any:
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, OrderedDict):
        return tuple(value)
    return (id(value), len(value)) if isinstance(value, (list, dict, set)) else id(value)


def containers(value: Any) -> Iterator[Any]:
    """The lists, dictionaries and sets in a value."""
    if type(value) in (list, dict, set):
        yield value
    if type(value) in (list, tuple, dict):
        for part in value.values() if type(value) is dict else value:
            yield from containers(part)


def content(container: Any) -> list[Any]:
    """What a container holds, by identity."""
    held = container.items() if isinstance(container, dict) else container
    return [tuple(map(id, part)) if type(part) is tuple else id(part) for part in held]


def outer(ref: Ref, tensors: Sequence[Tensor], kind: Kind) -> Tensor:
    return tensors[ref.index] if ref.kind == "x" else kind.outside.tensors[ref.index]
