"""Building Programs: variables, and what is called on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...dtype import as_dtype
from ...engine.apply import observed_by
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...jit.program import Call, Ref
from ...jit.spec import InputSpec
from ...nn.parameter import Parameter
from .builder import Builder
from .steps import Update


class Program:
    """Calls in order, on what `data` declares, and on parameters.

    random_seed: seeds the random numbers of each run where it is not 0.
    """

    def __init__(self) -> None:
        self.random_seed = 0
        self.specs: list[InputSpec] = []
        self.inputs: list[Tensor] = []
        self.updates: list[Update] = []
        self.recorder = Builder()
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
            raise InvalidArgument(f"{getattr(variable, 'name', variable)!r} does not belong to this Program")
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
