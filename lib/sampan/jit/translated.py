"""TranslatedLayer: what `load` gives, a layer that runs Programs from a file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import torch

from ..dtype import as_dtype, name_of
from ..engine.apply import wrap
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from .control_flow import Endless
from .evaluation import Branches, Evaluation, Lengths, call_on_tape
from .function import StaticFunction
from .program import Guard, Program, Ref, mapped, refs
from .record import recording
from .spec import InputSpec
from .whole import Whole


class TranslatedLayer(Layer):
    """A layer from a file. Its methods are those that were saved; parameters have the names they had.

    Without gradients a call runs the Program as one Python function for inputs of any size that it allows.
    With them its operators run on the tape, so the layer can be trained further.
    """

    def __init__(
        self,
        outside: Sequence[tuple[str, Tensor]],
        constants: Sequence[torch.Tensor],
        functions: Sequence[tuple[str, Whole]],
    ) -> None:
        super().__init__()
        self._outside = [tensor for _, tensor in outside]
        self._constants = list(constants)
        for name, tensor in outside:
            _place(self, name, tensor)
        for name, loaded in functions:
            object.__setattr__(self, name, _Runner(self, name, loaded))

    def program(self, method_name: str = "forward") -> Program:
        """The Program of a method."""
        found: Program = getattr(self, method_name).loaded.program
        return found

    @property
    def _input_spec(self) -> list[InputSpec]:
        specs: list[InputSpec] = vars(self)["forward"].loaded.specs
        return specs


def _place(layer: Layer, name: str, tensor: Tensor) -> None:
    """Make a tensor a parameter or buffer of a layer, under its path of names."""
    *path, last = name.split(".")
    for part in path:
        if not isinstance(vars(layer).get(part), Layer):
            setattr(layer, part, Layer())
        layer = getattr(layer, part)
    if isinstance(tensor, Tensor) and type(tensor) is Tensor:
        layer.register_buffer(last, tensor)
    else:
        setattr(layer, last, tensor)


class _Runner:
    """A method of a TranslatedLayer."""

    def __init__(self, layer: TranslatedLayer, name: str, loaded: Whole) -> None:
        self.layer, self.name, self.loaded = layer, name, loaded
        usual = list(loaded.takes.values()) == [Ref("x", i) for i in range(len(loaded.specs))]
        self._plain = [(as_dtype(spec.dtype), spec.shape) for spec in loaded.specs] if usual else None
        self._one = loaded.program.result if isinstance(loaded.program.result, Ref) else None
        own = layer._outside, layer._constants
        self.evaluation = Evaluation(loaded.program, *own)
        self._branches = Branches([loaded.program, *loaded.others], *own) if loaded.branched else None
        interpreted = functools.partial(_interpreted, loaded, layer)
        self._recorded = StaticFunction(interpreted, owner=layer)
        if all(name.isidentifier() for name in loaded.takes):  # the arguments, when it is saved again
            named = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in loaded.takes]
            self.__signature__ = inspect.Signature(named)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = args if not kwargs and self._fits(args) else self._bound(args, kwargs)
        needs = torch.is_grad_enabled() and any(not t.stop_gradient for t in (*tensors, *self.layer._outside))
        if needs or recording():
            return self._recorded(*tensors)
        given = [t.data for t in tensors]
        try:
            if self._branches is not None:
                program, results, found = self._branches(given)
                return self._filled(program.result, dict(zip(results, found, strict=True)), tensors)
            found = self.evaluation(given)
        except Endless:
            raise
        except Exception:
            return self._recorded.dygraph_function(*tensors)  # which names the operator and its argument
        if self._one is not None and self._one.kind == "v":
            return wrap(found[0])
        made = dict(zip(self.evaluation.results, found, strict=True))
        return self._filled(self.loaded.program.result, made, tensors)

    def _filled(self, result: Any, made: dict[Ref, torch.Tensor], tensors: Sequence[Tensor]) -> Any:
        """A result with Tensors in place of its Refs."""
        of = {"p": self.layer._outside, "x": tensors}

        def filled_in(leaf: Any) -> Any:
            if not isinstance(leaf, Ref):
                return leaf
            return of[leaf.kind][leaf.index] if leaf.kind in of else wrap(made[leaf])

        return mapped(result, filled_in)

    def _fits(self, args: tuple[Any, ...]) -> bool:
        """Whether these are Tensors for the inputs in their order: the usual call."""
        if self._plain is None or len(args) != len(self._plain) or self.loaded.tied:
            return False
        for tensor, (kind, shape) in zip(args, self._plain, strict=True):
            data = tensor.data if isinstance(tensor, Tensor) else None
            if data is None or data.dtype is not kind or data.ndim != len(shape):
                return False
            for wanted, length in zip(shape, data.shape, strict=True):
                if wanted != length and wanted != -1:
                    return False
        return True

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Tensor]:
        """The Tensors of a call in the order of the specs."""
        names = list(self.loaded.takes)
        if len(args) > len(names) or (unknown := set(kwargs) - set(names)):
            what = f"{len(args)}" if len(args) > len(names) else f"{sorted(unknown)}"
            raise InvalidType(f"{self.name}: expected the arguments {names}, got {what}")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        found: dict[int, Any] = {}
        for name, wanted in self.loaded.takes.items():
            if name not in given:
                if any(True for _ in refs(wanted)):
                    raise InvalidType(f"{self.name}: missing the argument {name!r}")
                continue
            _match(wanted, given[name], found, f"{self.name}: {name}")
        tensors = [_checked(found[i], spec, self.name) for i, spec in enumerate(self.loaded.specs)]
        for group in self.loaded.tied:
            lengths = {axis: tensors[axis.input].data.shape[axis.axis] for axis in group}
            if len(set(lengths.values())) > 1:
                text = ", ".join(
                    f"{self.loaded.specs[a.input].name} axis {a.axis}: {n}" for a, n in lengths.items()
                )
                raise InvalidArgument(f"{self.name}: expected the same length, got {text}")
        return tensors


def _match(wanted: Any, given: Any, found: dict[int, Any], what: str) -> None:
    """Put what is given for each Ref of an argument into `found`. InvalidArgument for another structure."""
    if isinstance(wanted, Ref):
        found[wanted.index] = given
    elif isinstance(wanted, (list, tuple)):
        if not isinstance(given, (list, tuple)) or len(given) != len(wanted):
            raise InvalidArgument(f"{what}: expected {len(wanted)} values, got {given!r:.60}")
        for part, value in zip(wanted, given, strict=True):
            _match(part, value, found, what)
    elif isinstance(wanted, dict):
        if not isinstance(given, dict) or given.keys() != wanted.keys():
            raise InvalidArgument(f"{what}: expected a dictionary of {sorted(wanted)}, got {given!r:.60}")
        for key, part in wanted.items():
            _match(part, given[key], found, f"{what}[{key!r}]")
    elif wanted is not given and wanted != given:
        raise InvalidArgument(f"{what}: was saved with {wanted!r}, got {given!r:.60}")


def _checked(value: Any, spec: InputSpec, name: str) -> Tensor:
    """A Tensor that a spec allows."""
    tensor = value if isinstance(value, Tensor) else Tensor(torch.as_tensor(value))
    shape, kind = tuple(tensor.data.shape), as_dtype(spec.dtype)
    fits = len(shape) == len(spec.shape) and all(w in (-1, n) for w, n in zip(spec.shape, shape, strict=True))
    if not fits or tensor.data.dtype is not kind:
        raise InvalidArgument(
            f"{name}: {spec.name}: expected {name_of(kind)}{list(spec.shape)}, "
            f"got {name_of(tensor.data.dtype)}{list(shape)}"
        )
    return tensor


def _interpreted(loaded: Whole, layer: TranslatedLayer, *tensors: Tensor) -> Any:
    """The calls of a Program on Tensors, operators through `apply`, so that they go on the tape."""
    values: dict[Ref, Any] = {Ref("x", i): t for i, t in enumerate(tensors)}
    values |= {Ref("p", i): t for i, t in enumerate(layer._outside)}
    values |= {Ref("k", i): Tensor(b) for i, b in enumerate(layer._constants)}
    sizes = Lengths([t.data for t in tensors])
    ways, place = [loaded.program, *loaded.others], 0
    while place < len(ways[0].steps):
        step = ways[0].steps[place]
        place += 1
        if isinstance(step, Guard):
            outcome = bool(values[step.args[0]])
            ways = [way for way in ways if _outcome_at(way, place - 1) is outcome]
            continue
        call_on_tape(step, values, sizes)
    return mapped(ways[0].result, lambda leaf: values[leaf] if isinstance(leaf, Ref) else leaf)


def _outcome_at(program: Program, place: int) -> bool | None:
    """The outcome of the guard at a place of a Program; None where there is none."""
    step = program.steps[place] if place < len(program.steps) else None
    return step.outcome if isinstance(step, Guard) else None
