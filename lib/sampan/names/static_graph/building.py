"""Building Programs: variables, and what is called on them."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ...dtype import as_dtype
from ...engine.apply import observed_by
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...jit.code import read_by
from ...jit.program import Call, Ref, mapped, refs
from ...jit.record import Outside, Recorder, calling_line, holds_buffers
from ...jit.spec import InputSpec
from ...jit.symbolic import Axis, Length
from ...nn.parameter import Parameter
from .lengths import FIRST, OTHERS, Dim, length_of


class Update:
    """A step of an optimizer: it minimizes a value of the Program when this runs."""

    def __init__(self, optimizer: Any, loss: Ref, parameters: list[Tensor] | None) -> None:
        self.optimizer, self.loss, self.parameters = optimizer, loss, parameters


class Derive:
    """Gradients of values by others, under their Refs."""

    def __init__(
        self, targets: list[Ref], sources: list[Ref], given: list[Ref | None], result: list[Ref]
    ) -> None:
        self.targets, self.sources, self.given, self.result = targets, sources, given, result

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {*self.targets, *self.sources, *(ref for ref in self.given if ref is not None)}


class Choose:
    """One of two lists of steps, by a truth value; `ways` has the steps and what they give."""

    def __init__(self, truth: Ref, ways: list[tuple[list[Any], list[Ref]]], result: list[Ref]) -> None:
        self.truth, self.ways, self.result = truth, ways, result

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {self.truth, *(ref for steps, given in self.ways for ref in (*given, *_read(steps)))}


class Loop:
    """Steps that are repeated while a truth value that other steps compute holds.

    state: the values that go round; each turn they become `given`, what the body computes.
    """

    def __init__(
        self,
        state: list[Ref],
        test: list[Any],
        truth: Ref,
        body: list[Any],
        given: list[Ref],
        result: list[Ref],
    ) -> None:
        self.state, self.test, self.truth = state, test, truth
        self.body, self.given, self.result = body, given, result

    def reads(self) -> set[Ref]:
        """The values that it reads."""
        return {*self.state, self.truth, *self.given, *_read(self.test), *_read(self.body)}


def _read(steps: Sequence[Any]) -> set[Ref]:
    return {ref for step in steps for ref in (read_by(step) if isinstance(step, Call) else step.reads())}


class Program:
    """Calls in order, on what `data` declares, and on parameters.

    random_seed: seeds the random numbers of each run where it is not 0.
    """

    def __init__(self) -> None:
        self.random_seed = 0
        self.specs: list[InputSpec] = []
        self.inputs: list[Tensor] = []
        self.updates: list[Update] = []
        self.recorder = Builder(self)
        self.version = 0
        self.names: dict[str, Ref] = {}
        self.for_test = False

    # --- what it holds ---

    @property
    def steps(self) -> list[Any]:
        """Calls, and gradients that are asked for."""
        return self.recorder.program.steps

    def ref(self, variable: Any) -> Ref:
        """The Ref of a variable, a parameter or a name. InvalidArgument for one of another Program."""
        if isinstance(variable, str):
            found = self.names.get(variable)
            if found is None:
                named = {t.name: Ref("p", i) for i, t in enumerate(self.recorder.outside.tensors)}
                found = named.get(variable)
        elif isinstance(variable, Parameter):
            found = self.recorder.outside.places.get(id(variable.data))
        elif isinstance(variable, Tensor):
            found = self.recorder.known(variable.data)
        else:
            raise InvalidType(f"expected a variable or its name, got {type(variable).__name__}")
        if found is None:
            raise InvalidArgument(f"{getattr(variable, 'name', variable)!r} is no variable of this Program")
        return found

    def all_parameters(self) -> list[Tensor]:
        """The parameters that calls read."""
        return [t for t in self.recorder.outside.tensors if isinstance(t, Parameter)]

    def list_vars(self) -> list[Tensor]:
        """The inputs and what is from outside."""
        return [*self.inputs, *self.recorder.outside.tensors]

    def state_dict(self, mode: str = "all", scope: Any = None) -> dict[str, Tensor]:
        """Parameters and buffers by name."""
        return {t.name: t for t in self.recorder.outside.tensors}

    def set_state_dict(self, state_dict: dict[str, Any], scope: Any = None) -> None:
        """Take values of parameters by name."""
        for name, tensor in self.state_dict().items():
            if name in state_dict:
                tensor.set_value(state_dict[name])

    def global_block(self) -> Program:
        """The Program itself: there is one block."""
        return self

    current_block = global_block

    def block(self, index: int) -> Program:
        """The Program itself, for 0."""
        if index != 0:
            raise InvalidArgument(f"block: index: expected 0, got {index!r}")
        return self

    num_blocks = 1

    @property
    def ops(self) -> list[Call]:
        """The calls."""
        return [step for step in self.steps if isinstance(step, Call)]

    def var(self, name: str) -> Tensor:
        """A variable by name. InvalidArgument for an unknown one."""
        for tensor in self.list_vars():
            if tensor.name == name:
                return tensor
        raise InvalidArgument(
            f"var: name: no variable {name!r}; there are {[t.name for t in self.list_vars()]}"
        )

    def has_var(self, name: str) -> bool:
        """Whether `var` finds it."""
        return any(t.name == name for t in self.list_vars())

    def clone(self, for_test: bool = False) -> Program:
        """The same calls on the same parameters. for_test: as they evaluate, without dropout, with the
        statistics that batch normalisation has; and without updates."""
        made = Program()
        made.random_seed, made.specs, made.inputs = self.random_seed, list(self.specs), list(self.inputs)
        made.recorder = self.recorder
        made.names, made.for_test = self.names, for_test or self.for_test
        made.updates = [] if for_test else list(self.updates)
        return made

    def __repr__(self) -> str:
        return f"<Program of {len(self.ops)} calls>"

    def __str__(self) -> str:
        return str(self.recorder.program)

    to_string = __str__


_builders: weakref.WeakSet[Builder] = weakref.WeakSet()


class Builder(Recorder):
    """Records what is called on variables. Each call also runs on a second sample, which shows the lengths
    that follow the unknown axes."""

    def __init__(self, owner: Program) -> None:
        super().__init__([], Outside(), {})
        self.owner = owner
        _builders.add(self)
        self.sizes: dict[Axis, tuple[int, int]] = {}
        self._fed: dict[Ref, frozenset[int]] = {}  # values that follow from what is fed: the inputs
        self.twins: dict[int, torch.Tensor] = {}  # id of a buffer: the one of the second sample

    def declare(self, spec: InputSpec) -> Tensor:
        """A variable for an input."""
        place = len(self.owner.specs)
        one, two = {}, {}
        for axis in spec.unknown:
            pairs = FIRST if axis == 0 else OTHERS
            taken = sum(1 for a in self.sizes if (a.axis == 0) == (axis == 0))
            pair = (2, 3) if axis == 0 else pairs[min(taken, len(pairs) - 1)]
            self.sizes[Axis(place, axis)] = pair
            one[axis], two[axis] = pair
        generator = torch.Generator().manual_seed(place)
        tensor, twin = spec.sample(one, generator), spec.sample(two, generator)
        tensor.stop_gradient = True
        self._name(tensor.data, Ref("x", place))
        self._fed[Ref("x", place)] = frozenset([place])
        self.twins[id(tensor.data)] = twin.data
        return tensor

    # --- recording ---

    def forward(self, operator: Any, args: Any, buffers: list[Any], settings: dict[str, Any]) -> Any:
        if self._depth or _initializes():
            return operator.body(*buffers, **settings)
        return super().forward(operator, args, buffers, settings)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._depth or _initializes():
            return function(*args, **(kwargs or {}))
        name = getattr(getattr(function, "__self__", None), "__name__", "")
        if name == "shape" and len(args) == 1:
            return self._shape(args[0], function(*args))
        return super().__torch_function__(function, types, args, kwargs)

    def refs(self, value: Any, owner: Any = None) -> Any:
        """As in a Recorder; a Parameter is always from outside, and a Dim becomes its Length."""
        if isinstance(owner, Parameter) and isinstance(value, torch.Tensor):
            return self.outside.ref(value, owner)
        return super().refs(value, owner)

    def _ref(self, leaf: Any) -> Any:
        if isinstance(leaf, Dim):
            return leaf.length
        if isinstance(leaf, Parameter):
            return self.outside.ref(leaf.data, leaf)
        return super()._ref(leaf)

    def _run(self, call: Call, args: Any, settings: dict[str, Any]) -> Any:
        given = [mapped(list(args), _plain), mapped(dict(settings), _plain)]
        result = super()._run(call, given[0], given[1])
        read = list(refs([call.args, call.settings]))
        follows = any(isinstance(leaf, Length) for leaf in _leaves([call.args, call.settings]))
        if not read and not follows and not call.random:
            self.owner.version += 1
            self._constant = True  # it is the same in each run: what it made is from outside
            return result
        self._constant = False
        lengths = [leaf for leaf in _leaves([call.args, call.settings]) if isinstance(leaf, Length)]
        inputs = {axis.input for length in lengths for axis in length.axes}
        inputs.update(place for ref in read for place in self._fed.get(ref, ()))
        self._follows = frozenset(inputs) if inputs or call.random else None
        self._beside(call, given, result)
        return result

    def _result(self, leaf: Any) -> Any:
        made = leaf if self._constant else super()._result(leaf)
        if isinstance(made, Ref) and self._follows is not None:
            self._fed[made] = self._follows
        return made

    def _results(self, value: Any) -> Any:
        if self._constant:
            self.program.steps.pop()
            return None
        return super()._results(value)

    _constant = False
    _follows: frozenset[int] | None = None

    def _leaves(self, function: Any, name: str, args: Any, settings: Any, result: Any) -> Any:
        """A value cannot be read while a Program is built: it has none."""
        if not any(ref in self._fed for ref in refs([args, settings])):
            return result  # of what is known: parameters and constants
        raise InvalidArgument(
            f"{calling_line()}: {name.strip('_')}() of a variable, which has no value before a Program runs; "
            "use paddle.static.nn.cond or while_loop"
        )

    def ref_of(self, tensor: Tensor) -> Ref:
        """The Ref of a variable, or of a Tensor from outside."""
        found: Ref = self._ref(tensor)
        return found

    def apart(self, function: Any, arguments: Sequence[Any] = ()) -> tuple[list[Any], Any]:
        """What a function calls, in a list of its own, and what it returns."""
        outer, self.program.steps = self.program.steps, []
        try:
            result = function(*arguments)
            return self.program.steps, result
        finally:
            self.program.steps = outer

    def fresh(self, like: Tensor) -> tuple[Tensor, Ref]:
        """A new variable with the sample of another one."""
        with paused():
            made = Tensor(like.data.clone(), like.stop_gradient)
            twin = self.twins.get(id(like.data))
            if twin is not None:
                self.twins[id(made.data)] = twin.clone()
        ref: Ref = super()._result(made.data)
        self._fed[ref] = self._fed.get(self.ref_of(like), frozenset())
        return made, ref

    def _beside(self, call: Call, given: Any, result: Any) -> None:
        """Run a call on the second sample."""
        written = {ref for ref in call.writes if ref.kind in ("p", "k")}

        def twin(leaf: Any) -> Any:
            if isinstance(leaf, Tensor):
                leaf = leaf.data
            if isinstance(leaf, torch.Tensor):
                found = self.twins.get(id(leaf), leaf)
                return found.clone() if written and self.known(leaf) in written else found
            return leaf

        def size(leaf: Any) -> Any:
            return leaf.at({a: n[1] for a, n in self.sizes.items()}) if isinstance(leaf, Length) else leaf

        state = torch.get_rng_state()
        self._depth += 1
        try:
            arguments = [
                _merged(mapped(one, twin), mapped(two, size))
                for one, two in ((given[0], list(call.args)), (given[1], call.settings))
            ]
            made = call.function(*arguments[0], **arguments[1])
        except Exception as error:
            raise InvalidArgument(
                f"{call.line}: {call.name} does not hold for inputs of another size: {error}"
            ) from error
        finally:
            self._depth -= 1
            torch.set_rng_state(state)
        if holds_buffers(result):
            _pairs(result, made, self.twins, self._alive)

    def _shape(self, buffer: torch.Tensor, shape: torch.Size) -> Any:
        """A shape with a Dim for each length that follows an unknown axis; with -1 for programs of users."""
        twin = self.twins.get(id(buffer))
        if twin is None:
            others = (b for b in _builders if id(buffer) in b.twins)
            return next((b._shape(buffer, shape) for b in others if b is not self), shape)
        if twin.shape == shape:
            return shape
        found: list[Any] = []
        inputs = self._fed.get(self._ref(buffer), frozenset())
        known = {axis: pair for axis, pair in self.sizes.items() if axis.input in inputs} or self.sizes
        for one, two in zip(shape, twin.shape, strict=True):
            length = None if one == two else length_of(one, two, known)
            found.append(one if length is None else Dim(one, length))
        if _asked_by_a_user():
            return tuple(-1 if isinstance(n, Dim) else n for n in found)
        return tuple(found)


def _plain(leaf: Any) -> Any:
    return int(leaf) if isinstance(leaf, Dim) else leaf


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    mapped(value, found.append)
    return found


def _merged(one: Any, two: Any) -> Any:
    """The buffers of one structure with the numbers of the other."""
    if isinstance(one, (list, tuple)) and not isinstance(one, torch.Size):
        parts = [_merged(a, b) for a, b in zip(one, two, strict=True)]
        return parts if isinstance(one, list) else tuple(parts)
    if isinstance(one, dict):
        return {key: _merged(part, two[key]) for key, part in one.items()}
    if isinstance(one, torch.Tensor) or isinstance(two, Ref):
        return one
    return two


def _pairs(one: Any, two: Any, twins: dict[int, torch.Tensor], alive: list[Any]) -> None:
    if isinstance(one, torch.Tensor):
        twins[id(one)] = two
        alive.append(one)
    elif isinstance(one, (list, tuple)):
        for a, b in zip(one, two, strict=True):
            _pairs(a, b, twins, alive)


def _frames() -> Iterator[str]:
    frame: Any = sys._getframe(2)
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def _initializes() -> bool:
    """Whether a parameter is being made, which belongs to no Program."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "create_parameter" or code.co_filename.endswith("nn/initializer.py"):
            return True
        frame = frame.f_back
    return False


def _asked_by_a_user() -> bool:
    """Whether `tensor.shape` is read outside the library."""
    for file in _frames():
        if not file.endswith(
            ("static_graph/building.py", "engine/tensor.py", "torch/overrides.py", "jit/record.py")
        ):
            return "/sampan/" not in file
    return False


# --- the Program that is being built ---

_main, _startup = [Program()], [Program()]
_watching: list[Any] = []


def default_main_program() -> Program:
    """The Program that calls on variables are added to."""
    return _main[-1]


def default_startup_program() -> Program:
    """A Program without calls: parameters have their first values when they are made."""
    return _startup[-1]


def _watch(program: Program | None) -> None:
    """Let this thread's calls be recorded by a Program, and no longer by another."""
    while _watching:
        _watching.pop().__exit__(None, None, None)
    if program is not None:
        for manager in (observed_by(program.recorder), program.recorder):
            manager.__enter__()
            _watching.insert(0, manager)
        _watching.reverse()


def start_building() -> None:
    """Static mode: calls are recorded by the main Program."""
    _watch(_main[-1])


def stop_building() -> None:
    """Dynamic mode."""
    _watch(None)


def building() -> bool:
    """Whether static mode is on."""
    return bool(_watching)


@contextmanager
def paused() -> Iterator[None]:
    """Within the block nothing is recorded."""
    was = building()
    _watch(None)
    try:
        yield
    finally:
        if was:
            _watch(_main[-1])


@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Calls within the block are added to this Program."""
    if not isinstance(main_program, Program):
        raise InvalidType(
            f"program_guard: main_program: expected a Program, got {type(main_program).__name__}"
        )
    was = building()
    _main.append(main_program)
    _startup.append(startup_program or Program())
    _watch(main_program if was else None)
    try:
        yield
    finally:
        _main.pop()
        _startup.pop()
        _watch(_main[-1] if was else None)


def data(name: str, shape: Sequence[int | None], dtype: Any = None, lod_level: int = 0) -> Tensor:
    """A variable for what will be fed under this name. shape: None or -1 for any length."""
    if not building():
        raise RuntimeError("data: static mode is off; call paddle.enable_static() first")
    program = default_main_program()
    if name in program.names:
        raise InvalidArgument(f"data: name: {name!r} is declared already")
    spec = InputSpec(shape, dtype or "float32", name)
    as_dtype(spec.dtype)
    with paused():
        tensor = program.recorder.declare(spec)
    tensor.name = name
    program.specs.append(spec)
    program.inputs.append(tensor)
    program.names[name] = Ref("x", len(program.specs) - 1)
    return tensor


def evaluated(steps: Sequence[Any]) -> list[Any]:
    """The steps as they evaluate: batch normalisation with its statistics, dropout off."""
    found = []
    for step in steps:
        if isinstance(step, Call) and step.name == "normalize_batch" and step.args[5]:
            step = replace(step, args=(*step.args[:5], False, *step.args[6:]), writes=())
        found.append(step)
    return found


def needed(steps: Sequence[Any], wanted: Sequence[Ref]) -> list[Any]:
    """The steps that lead to these values, or write to memory that outlives the run."""
    use, kept = set(wanted), []
    for step in reversed(steps):
        made = {*refs(step.result)}
        read = set(read_by(step)) if isinstance(step, Call) else step.reads()
        lasting = isinstance(step, Call) and any(r.kind in ("p", "k") or r in use for r in step.writes)
        if lasting or not use.isdisjoint(made):
            kept.append(step)
            use |= read
    return kept[::-1]
