"""StaticFunction: a function or layer that runs as a Program where it may, and eagerly where it must.

A Program is right for one kind of call: shapes, dtypes and other arguments, whether gradients are recorded,
and the attributes of the layers. Values of Tensors that Python reads are guards inside it.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import Any

import numpy as np
import torch

from ..dtype import DataType, Place, get_default_dtype
from ..engine.apply import observers, wrap, wrap_outputs
from ..engine.backward import enable_grad, grad
from ..engine.operator import recorded_by_hand
from ..engine.tape import Node
from ..engine.tensor import Tensor
from ..nn import layer as layers
from ..nn.layer import Layer
from .code import Unseen
from .gradients import NotDerived, pullback_of
from .kinds import (
    ONE,
    PLAIN,
    ConcreteProgram,
    End,
    Kind,
    Saved,
    attributes_of,
    casts,
    containers,
    content,
    describe,
    outer,
    values_read,
)
from .program import Program, Ref, leaves, mapped
from .record import Recorder, recording
from .report import Report, report
from .spec import InputSpec

VARIANTS = 8  # outcomes of guards for which one kind of call has Programs
KINDS = 64  # kinds of calls that have Programs; the oldest makes room
_log = logging.getLogger("sampan.jit")
_OPERATOR = recorded_by_hand("to_static")
enabled = True  # see enable_to_static


class StaticFunction:
    """What `to_static` makes of a function: called like it, with the same results.

    The first call of a kind runs the function and records it; later ones run the Program. full_graph: loops
    and branches over values of Tensors are part of the Program, see full_graph.py.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        input_spec: Any = None,
        owner: Any = None,
        full_graph: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.full_graph = full_graph
        self._dygraph_function, self.input_spec, self._owner = function, input_spec, owner
        self._kinds: OrderedDict[Any, Kind] = OrderedDict()
        self._met: dict[int, None] = {}
        self._told: set[str] = set()
        self._lock = RLock()
        self._of_instances: weakref.WeakKeyDictionary[Any, StaticFunction] = weakref.WeakKeyDictionary()
        self.last_call: Any = None  # args and kwargs that were recorded last, with InputSpecs for Tensors
        self._read: list[Callable[[], Any]] | None = None  # numbers of the closure, the module and the object
        self._epoch: Any = None
        self._state: Any = ()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: one StaticFunction for each instance."""
        if instance is None:
            return self
        if instance not in self._of_instances:
            bound = self._dygraph_function.__get__(instance, owner)
            self._of_instances[instance] = StaticFunction(bound, self.input_spec, instance, self.full_graph)
        return self._of_instances[instance]

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticFunction:
        """Of a copied layer it is the copy's; nothing recorded goes along."""
        function, owner = (copy.deepcopy(part, memo) for part in (self._dygraph_function, self._owner))
        return StaticFunction(function, self.input_spec, owner, self.full_graph)

    # --- calling ---

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        amp: Any = ()
        if not enabled or (observers and (recording() or (amp := casts()) is None)):
            return self._dygraph_function(*args, **kwargs)
        if np.ndarray in map(type, args) or np.ndarray in map(
            type, kwargs.values()
        ):  # Paddle takes them as Tensors
            args = tuple(Tensor(torch.from_numpy(a)) if isinstance(a, np.ndarray) else a for a in args)
            kwargs = {
                k: Tensor(torch.from_numpy(a)) if isinstance(a, np.ndarray) else a for k, a in kwargs.items()
            }
        tensors: list[Tensor] = []
        key: list[Any] = [torch.is_grad_enabled(), get_default_dtype(), amp, self._attributes()]
        if self._read is None:
            self._read = values_read(self._dygraph_function)
        if self._read:
            key += [get() for get in self._read]
        for value in args:
            if not describe(value, tensors, key):
                return self._dygraph_function(*args, **kwargs)
        if kwargs and not describe(kwargs, tensors, key):
            return self._dygraph_function(*args, **kwargs)
        given = [t.data for t in tensors]
        if len(given) > 1 and len(set(map(id, given))) < len(given):
            first: dict[int, int] = {}
            key.append(tuple(first.setdefault(id(data), i) for i, data in enumerate(given)))
        kind = self._kinds.get(name := tuple(key))
        if kind is not None and kind.eager:
            return self._dygraph_function(*args, **kwargs)
        if kind is None or not kind.ends or (outside := kind.current()) is None:
            return self._first(name, args, kwargs, tensors)
        function = kind.compiled or kind.function(len(tensors))
        again = Saved.before(kind, given, outside) if kind.returns else None
        try:
            number, outputs, kept = function(*given, *outside, *kind.outside.buffers)
        except Unseen:
            if again is not None:
                again.restore()
            return self._record(name, kind, args, kwargs, tensors)
        except Exception:
            if again is not None:
                again.restore()
            return self._dygraph_function(*args, **kwargs)  # which names the operator and its argument
        call = args, kwargs, again, None if kind.returns else (function, given, outside, kind.outside.buffers)
        return self._results(kind, kind.ends[number], tensors, outputs, kept, call)

    def _attributes(self) -> Any:
        """The attributes of the layers that the function uses, compared anew when any layer has changed."""
        now = layers.epoch, layers._Handle.next_hook_id
        if now != self._epoch:
            self._state = tuple(attributes_of(layer) for layer in self._layers())
            self._epoch = now
        return self._state

    def _layers(self) -> list[Layer]:
        """The layers that the function reads: its own, those of its closure, and those it names."""
        found: list[Any] = [getattr(self._dygraph_function, "__self__", self._owner), *self._outer().values()]
        found = [part for each in found for part in (each if isinstance(each, (list, tuple)) else [each])]
        return [part for part in found if isinstance(part, Layer)]

    def _outer(self) -> dict[str, Any]:
        """What the function names of its closure and its module."""
        function = inspect.unwrap(getattr(self._dygraph_function, "__func__", self._dygraph_function))
        if not isinstance(function, types.FunctionType):
            return {}
        cells = inspect.getclosurevars(function)
        return {**cells.globals, **cells.nonlocals}

    def _results(
        self, kind: Kind, end: End, tensors: list[Tensor], outputs: Any, kept: Any, call: Any
    ) -> Any:
        if end.pullback is None and end.result is ONE:
            return wrap(outputs[0])
        made = [wrap(output) for output in outputs]
        if end.pullback is not None:
            edges = [outer(ref, tensors, kind) for ref in end.edges]
            pull = _Pull(self._dygraph_function, end, list(kept), edges, call)
            node = Node(_OPERATOR, [t.node or t for t in edges], {"saved": pull, "kept": pull.kept})
            if len(end.recorded) == 1:
                (place,) = end.recorded
                made[place].node, made[place].stop_gradient = node, False
            else:
                on_tape = wrap_outputs(node, [outputs[place] for place in end.recorded])
                for place, tensor in zip(end.recorded, on_tape, strict=True):
                    made[place] = tensor

        def filled_in(leaf: Any) -> Any:
            if isinstance(leaf, Ref):
                return made[leaf.index] if leaf.kind == "o" else outer(leaf, tensors, kind)
            return leaf

        if end.result is ONE:
            return made[0]
        return mapped(end.result, filled_in)

    # --- recording ---

    def _first(self, name: Any, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """A call of a kind that has no Program: the function runs; from the second time on it is recorded."""
        with self._lock:
            stale = self._kinds.pop(name, None)
            if self._kinds and stale is None and not self.full_graph and hash(name) not in self._met:
                self._met[hash(name)] = None
                while len(self._met) > 16 * KINDS:
                    del self._met[next(iter(self._met))]
                return self._dygraph_function(*args, **kwargs)
            kind = self._kinds[name] = Kind()
            while len(self._kinds) > KINDS:
                self._kinds.popitem(last=False)
        return self._record(name, kind, args, kwargs, tensors)

    def _record(self, name: Any, kind: Kind, args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """Run the function and add what it did to the Programs of a kind."""
        if self.full_graph:
            from .full_graph import recorded_call  # which uses this file

            return recorded_call(self, name, kind, args, kwargs, tensors)
        state = self._attributes()
        owners = {id(t.data): t for layer in self._layers() for t in (*layer.parameters(), *layer.buffers())}
        before = [(t.data, t.node, t.stop_gradient) for t in tensors]
        held = [(c, content(c)) for c in containers([args, kwargs, *self._outer().values()])]
        kind.call = self.last_call = mapped((args, kwargs), _spec_of)
        kind.gradients = torch.is_grad_enabled()
        recorder = Recorder(tensors, kind.outside, owners)
        with recorder.watching():
            result = self._dygraph_function(*args, **kwargs)
        if any(content(container) != state_before for container, state_before in held):
            recorder.refuse("it changes a list, dictionary or set", self._where())
        with self._lock:
            reason = self._joined(kind, recorder, result, tensors, before, state)
            if reason:
                kind.eager, kind.why = True, reason
                self._tell(reason)
        return result

    def _joined(
        self, kind: Kind, recorder: Recorder, result: Any, tensors: list[Tensor], before: Any, state: Any
    ) -> str:
        """Add a recorded run to a kind; the reason why it cannot be, or ""."""
        if recorder.refused:
            return recorder.refused[0]
        if self._attributes() != state:
            return f"{self._where()}: it assigns an attribute of a layer"
        if any(
            t.data is not data or t.node is not node or t.stop_gradient != stop
            for t, (data, node, stop) in zip(tensors, before, strict=True)
        ):
            return f"{self._where()}: it puts an argument on the tape, or replaces its memory"
        outside = kind.outside
        if any(outside.places.get(id(t.data)) != Ref("p", i) for i, t in enumerate(outside.tensors)):
            return f"{self._where()}: it replaces the memory of a Tensor from outside"
        outputs: list[Tensor] = []
        structure = mapped(result, functools.partial(_place, outputs, tensors, kind))
        structure = ONE if structure == ONE else structure
        known: list[Any] = [recorder.known(t.data) for t in outputs]
        if None in known or not _only_known(structure):
            return f"{self._where()}: it returns what no recorded call made"
        recorder.program.result = mapped(
            structure, lambda leaf: known[leaf.index] if isinstance(leaf, Ref) and leaf.kind == "o" else leaf
        )
        recorded = tuple(i for i, t in enumerate(outputs) if not t.stop_gradient)
        pull = None
        if recorded:
            ends = [(Ref("x", i), t) for i, t in enumerate(tensors)]
            ends += [(Ref("p", i), t) for i, t in enumerate(outside.tensors)]
            edges = [(ref, t.node or t) for ref, t in ends if not t.stop_gradient]
            try:
                if any(outputs[i].node is None for i in recorded):
                    raise NotDerived("it returns a new leaf")
                pull = pullback_of([outputs[i] for i in recorded], edges, recorder)
            except NotDerived as error:
                return f"{self._where()}: {error}"
        if not kind.add(recorder.program, structure, known, recorded, pull):
            return f"{self._where()}: two calls alike computed different things"
        if len(kind.ends) > VARIANTS and not self.full_graph:
            guard = recorder.program.guards[-1]
            return f"{guard.line}: {guard.name}() of a Tensor has more than {VARIANTS} outcomes"
        return ""

    def _where(self) -> str:
        code = getattr(
            inspect.unwrap(getattr(self._dygraph_function, "__func__", self._dygraph_function)),
            "__code__",
            None,
        )
        return "function" if code is None else f"{code.co_filename.rpartition('/')[2]}:{code.co_firstlineno}"

    def _tell(self, reason: str) -> None:
        """Say once why the function runs eagerly."""
        if reason not in self._told:
            self._told.add(reason)
            _log.warning("to_static: %s runs eagerly: %s", getattr(self, "__name__", "a function"), reason)

    # --- looking at it ---

    @property
    def code(self) -> str:
        """The Python source of the Programs that have been recorded and run."""
        return "\n\n".join(kind.text for kind in self._kinds.values() if kind.text)

    @property
    def programs(self) -> list[Program]:
        """What has been recorded, one Program for each kind of call and outcome of guards."""
        return [end.program for kind in self._kinds.values() for end in kind.ends]

    @property
    def dygraph_function(self) -> Callable[..., Any]:
        """The function itself, which runs eagerly."""
        return self._dygraph_function

    @property
    def concrete_program(self) -> ConcreteProgram:
        """The Program of the last kind of call, or of `input_spec` where the function was not called."""
        if not self.programs:
            from .whole import described_program  # which uses this file

            return described_program(self)
        kind = next(kind for kind in reversed(self._kinds.values()) if kind.ends)
        specs = [leaf for leaf in leaves(self.last_call) if isinstance(leaf, InputSpec)]
        return ConcreteProgram(kind.ends[-1].program, specs, [t for t in kind.outside.tensors])

    @property
    def main_program(self) -> Program:
        """The Program of `concrete_program`."""
        return self.concrete_program.main_program

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> tuple[ConcreteProgram, None]:
        """The Program for these arguments, which the function is called with where there is none."""
        self(*args, **kwargs)
        return self.concrete_program, None

    def report(self) -> Report:
        """Calls before and after, memory, and the time of the function and of the Program, for each kind."""
        return report(self)

    def rollback(self) -> Callable[..., Any]:
        """The function itself; a layer's forward becomes its own again."""
        if isinstance(self._owner, Layer) and vars(self._owner).get("forward") is self:
            object.__delattr__(self._owner, "forward")
        return self._dygraph_function

    def __repr__(self) -> str:
        return f"<StaticFunction {getattr(self, '__name__', '')} with {len(self.programs)} programs>"


class _Pull:
    """What the tape keeps of a run: the gradients of its edges from those of its outputs."""

    def __init__(self, function: Any, end: End, kept: Any, edges: list[Tensor], call: Any) -> None:
        self.function, self.end, self.kept, self.edges, self.call = function, end, kept, edges, call
        self.used = False

    def __call__(self, gradients: Any) -> tuple[Any, ...]:
        given = gradients if type(gradients) is tuple else (gradients,)
        if any(isinstance(g, Tensor) for g in given):
            return self._recorded(given)
        assert self.end.pullback is not None
        again = self.call[3]
        if again is None:  # it cannot be run once more: what it kept stays
            kept = list(self.kept)
        elif self.kept or self.used is False:
            kept, self.used = self.kept, True
        else:  # a second backward: the first has freed what was kept
            function, *buffers = again
            _, _, made = function(*[buffer for part in buffers for buffer in part])
            kept = list(made)
        found: tuple[Any, ...] = self.end.pullback(given, kept)
        return found

    def _recorded(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same on the tape, for gradients of gradients: the function runs once more, eagerly."""
        args, kwargs, before, _ = self.call
        after = None if before is None else before.again()
        if before is not None:
            before.restore()
        with enable_grad():
            result = self.function(*args, **kwargs)
        if after is not None:
            after.restore()
        given_back = (leaf for leaf in leaves(result) if isinstance(leaf, Tensor) and not leaf.stop_gradient)
        outputs = [t for t in given_back if all(t is not e for e in self.edges)]
        pairs = [(t, g) for t, g in zip(outputs, given, strict=True) if g is not None]
        tensors, arrived = [t for t, _ in pairs], [g for _, g in pairs]
        return tuple(grad(tensors, self.edges, arrived, create_graph=True, allow_unused=True))


def plain_function(function: Any) -> Callable[..., Any]:
    """The function that a StaticFunction was made from; any other itself."""
    found: Callable[..., Any] = (
        function._dygraph_function if isinstance(function, StaticFunction) else function
    )
    return found


def _spec_of(leaf: Any) -> Any:
    return InputSpec(leaf.shape, leaf.dtype, None, leaf.stop_gradient) if isinstance(leaf, Tensor) else leaf


def _place(outputs: list[Tensor], tensors: list[Tensor], kind: Kind, leaf: Any) -> Any:
    """What stands for a part of a result: the place of an output, a Tensor from outside, or a constant."""
    if not isinstance(leaf, Tensor):
        return leaf
    for letter, known in (("x", tensors), ("p", kind.outside.tensors), ("o", outputs)):
        for i, tensor in enumerate(known):
            if tensor is leaf:
                return Ref(letter, i)
    if type(leaf) is not Tensor:
        return object()
    outputs.append(leaf)
    return Ref("o", len(outputs) - 1)


def _only_known(structure: Any) -> bool:
    """Whether a result holds Tensors and plain values only, which a Program can return again."""
    return all(isinstance(leaf, (Ref, DataType, Place, *PLAIN)) for leaf in leaves(structure))
