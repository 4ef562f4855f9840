"""Records what is called on variables, on samples of two sizes."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...jit.program import Call, Ref, leaves, mapped, refs
from ...jit.record import Outside, Recorder, holds_buffers
from ...jit.spec import InputSpec
from ...jit.symbolic import Axis, Length
from ...nn.parameter import Parameter
from ...trace import calling_line
from .lengths import FIRST, OTHERS, Dim, length_of

_LIBRARY = f"{Path(__file__).parents[2]}{os.sep}"
_builders: weakref.WeakSet[Builder] = weakref.WeakSet()


class Builder(Recorder):
    """Records what is called on variables. Each call also runs on a second sample, which shows the lengths
    that follow the unknown axes."""

    fixes_shapes = False

    def __init__(self) -> None:
        super().__init__([], Outside(), {})
        self.declared = 0
        _builders.add(self)
        self.sizes: dict[Axis, tuple[int, int]] = {}
        self._fed: dict[Ref, frozenset[int]] = {}  # values that follow from what is fed: the inputs
        self.twins: dict[int, torch.Tensor] = {}  # id of a buffer: the one of the second sample

    def declare(self, spec: InputSpec) -> Tensor:
        """A variable for an input."""
        place = self.declared
        self.declared += 1
        one, two = {}, {}
        for axis in spec.unknown:
            pair = FIRST
            if axis:
                taken = sum(1 for known in self.sizes if known.axis)
                pair = OTHERS[min(taken, len(OTHERS) - 1)]
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
        lengths = [leaf for leaf in leaves([call.args, call.settings]) if isinstance(leaf, Length)]
        if not read and not lengths and not call.random:
            self._constant = True  # it is the same in each run: what it made is from outside
            return result
        self._constant = False
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

    def fresh(self, like: Tensor) -> tuple[Tensor, Ref]:
        """A new variable with the sample of another one."""
        self._depth += 1  # nothing of this is recorded
        made = Tensor(like.data.clone(), like.stop_gradient)
        twin = self.twins.get(id(like.data))
        if twin is not None:
            self.twins[id(made.data)] = twin.clone()
        self._depth -= 1
        return made, self._following(made, like)

    def rows_of(self, ids: Tensor, width: int) -> tuple[Tensor, Ref]:
        """A new variable [*ids.shape, width] of float32, which a table will give."""
        self._depth += 1
        twin = self.twins.get(id(ids.data))
        made = Tensor(torch.zeros(*ids.data.shape, width), stop_gradient=False)
        if twin is not None:
            self.twins[id(made.data)] = torch.zeros(*twin.shape, width)
        self._depth -= 1
        return made, self._following(made, ids)

    def _following(self, made: Tensor, source: Tensor) -> Ref:
        """The Ref of a new variable, which follows the inputs that `source` does."""
        ref: Ref = super()._result(made.data)
        self._fed[ref] = self._fed.get(self.ref_of(source), frozenset())
        return ref

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
            ("static_graph/builder.py", "engine/tensor.py", "torch/overrides.py", "jit/record.py")
        ):
            return not file.startswith(_LIBRARY)
    return False
