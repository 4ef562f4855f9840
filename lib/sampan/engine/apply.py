"""Calling an operator: unwrap its arguments, run its function, and record the call where a gradient is asked
for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .error_translation import RAISED_INSIDE, described, first_line, raised_inside, translate_error
from .error_translation import describe as describe
from .errors import AxisError as AxisError
from .errors import InvalidArgument, InvalidType, prefix_function_name
from .tape import Node, next_sequence
from .tensor import Tensor

if TYPE_CHECKING:
    from .operator import Operator

_new = object.__new__
_Buffer = torch.Tensor
_OF_A_KIND = (TypeError, AttributeError, NotImplementedError, IndexError)
# Parameters that take numbers, not tensors: an array for one of them is converted to numbers.
_LISTS = frozenset(
    (
        "atol",
        "axis",
        "axes",
        "max",
        "min",
        "num_samples",
        "offset",
        "perm",
        "repeat_times",
        "rtol",
        "shape",
        "shifts",
        "value",
    )
)

# What watches or changes the calls of a thread, by the thread's ident: see `observed_by`. A thread without an
# observer has no entry, so that where nothing is observed a call costs one test. An observer has some of
# these: cast(operator, args), the arguments to use instead: see amp; call(operator, args, settings), what the
# whole call returns, or None to go on: see distributed; forward(operator, args, buffers, settings) and
# backward(node, gradient, run), which run an operator's function and derivatives in our place: see trace.
observers: dict[int, list[Any]] = {}


def observer_of(part: str) -> Any:
    """This part of the last observer of this thread that has it, or None."""
    own = observers.get(get_ident(), ())
    return next((getattr(o, part) for o in reversed(own) if hasattr(o, part)), None)


@contextmanager
def observed_by(observer: Any) -> Iterator[None]:
    """Within the block `observer` is this thread's last one. Calls of other threads are not seen."""
    thread = get_ident()
    own = observers.setdefault(thread, [])
    own.append(observer)
    try:
        yield
    finally:
        own.remove(observer)
        if not own:
            del observers[thread]


def apply(operator: Operator, args: tuple[Any, ...], settings: dict[str, Any], arrays: bool = True) -> Any:
    """Call an operator: unwrap, run its function, and record on the tape if an input requires a gradient.

    The one way in for every operator. arrays: NumPy arrays are taken as Tensors, as beside Python's
    operators; Paddle's functions refuse them.
    """
    if observers and (call := observer_of("call")) and (result := call(operator, args, settings)) is not None:
        return result
    buffers: list[Any] = list(args)
    wrapped, wanted = False, 0  # whether there is a Tensor; bits of the inputs that require a gradient
    try:
        if observers and (cast := observer_of("cast")):
            args = cast(operator, args)
            buffers = list(args)
        edges: list[Any] = [None] * len(args)
        for place, value in enumerate(args):
            if isinstance(value, Tensor):
                wrapped = True
                buffers[place] = value.data
                if not value.stop_gradient:
                    wanted |= 1 << place
                    edges[place] = value.node or value
            elif type(value) is np.ndarray:
                buffers[place] = _taken(operator, args, place, arrays)
            elif type(value) is complex and any(_is_half(other) for other in args):
                return apply(operator, _widened(args), settings, arrays)
        if observers and (run := observer_of("forward")):
            result = run(operator, args, buffers, settings)
        else:
            result = operator.body(*buffers, **settings)
    except RAISED_INSIDE as error:
        places = {str(b.device) for b in buffers if isinstance(b, _Buffer)}
        if len(places) == 2 and "cpu" in places:  # as in PaddlePaddle they are copied to the GPU
            moved = [
                (x if isinstance(x, Tensor) else b).to(max(places)) if isinstance(b, _Buffer) else b
                for x, b in zip(args, buffers, strict=True)
            ]
            return apply(operator, tuple(moved), settings, arrays)
        raise explain(error, operator, buffers, settings) from error
    if not wanted or not operator.differentiable or not torch.is_grad_enabled():
        value = result[0] if operator.saves else result
        return wrap(value) if wrapped else value
    return record(operator, wanted, edges, buffers, settings, result)


def record(
    operator: Operator,
    wanted: int,
    edges: list[Any],
    buffers: list[Any],
    settings: dict[str, Any],
    result: Any,
) -> Any:
    """The Tensor, or Tensors, for what an operator's function returned, with a Node that keeps what
    derivatives read."""
    value, saved = result if operator.saves else (result, None)
    plan = operator.plans.get(wanted)
    if plan is None:  # an empty one is a plan too
        plan = operator.plan(wanted)
    count, kept = len(buffers), {}
    for name, source in plan:
        if type(source) is int and source < count:
            kept[name] = buffers[source]
        elif name == "out":
            kept[name] = value
        elif name == "saved":
            kept[name] = saved
        elif name == "needed":
            kept[name] = [edge is not None for edge in edges]
        else:
            kept[name] = setting(operator, name, buffers, settings)
    node = _new(Node)  # without its __init__, which would be a call more
    node.operator, node.edges, node.kept, node.sequence = operator, edges, kept, next_sequence()
    node.hooks = node.outputs = None
    node.shapes = to_sum_back(buffers) if operator.broadcasts else None
    if type(value) is tuple:
        return wrap_outputs(node, value)
    out = _new(Tensor)
    out.data, out.stop_gradient, out.node = value, False, node
    out._grad = out._hooks = out._name = None
    return out


def setting(operator: Operator, name: str, buffers: list[Any], settings: dict[str, Any]) -> Any:
    """What an operator was given for a parameter by its name, or the default; all buffers for `*inputs`."""
    if operator.variadic and name == operator.parameters[0]:
        return tuple(buffers)
    return settings.get(name, operator.defaults[name])


def _taken(operator: Operator, args: tuple[Any, ...], place: int, arrays: bool) -> torch.Tensor:
    """The buffer of an array among the arguments, where arrays are accepted or read as a list of numbers."""
    if not arrays and _LISTS.isdisjoint(operator.parameters[place : place + 1]):
        raise TypeError("must be Tensor, not ndarray")
    array = args[place]
    if not array.flags.writeable or any(step < 0 for step in array.strides):
        array = array.copy()  # torch cannot wrap it
    return torch.from_numpy(array)


def _is_half(value: Any) -> bool:
    return isinstance(value, (Tensor, _Buffer)) and value.dtype == torch.float16


def _widened(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """float16 as float32 beside a complex number: Paddle has no complex32."""
    return tuple(value.to(torch.float32) if _is_half(value) else value for value in args)


def to_sum_back(buffers: list[Any]) -> list[Any] | None:
    """(shape, dtype) of each input, or None when nothing was broadcast or promoted."""
    if len(buffers) == 2:
        x, y = buffers
        if type(y) is float or type(y) is int:
            return None
        if isinstance(x, _Buffer) and isinstance(y, _Buffer) and x.shape == y.shape and x.dtype is y.dtype:
            return None
    return [(b.shape, b.dtype) if isinstance(b, _Buffer) else None for b in buffers]


def wrap_outputs(node: Node, values: Sequence[torch.Tensor]) -> tuple[Tensor, ...]:
    """Tensors for a Node with several outputs; those that are not floating stay outside the tape."""
    node.outputs = [(v.shape, v.dtype, v.device) for v in values]
    tensors = []
    for index, value in enumerate(values):
        tensor = Tensor(value)
        if value.is_floating_point() or value.is_complex():
            tensor.stop_gradient = False
            tensor.node = node.output(index)
        tensors.append(tensor)
    return tuple(tensors)


def wrap(value: Any) -> Any:
    """Tensors over buffers, outside the tape."""
    if type(value) is not _Buffer and isinstance(value, (tuple, list)):
        return type(value)(wrap(v) for v in value)
    out = _new(Tensor)
    out.data = value
    out.stop_gradient = True
    out.node = out._grad = out._hooks = out._name = None
    return out


def explain(
    error: Exception, operator: Operator, buffers: Sequence[Any], settings: dict[str, Any]
) -> Exception:
    """The error to raise for a body that refused its input: which function, which arguments, and why."""
    plain = isinstance(error, (ValueError, KeyError)) and not isinstance(error, (InvalidType, AxisError))
    if isinstance(error, ArithmeticError) or (plain and not raised_inside(error)):
        raise error  # of an observer or of this library: its text is complete
    text = first_line(error)
    if plain or isinstance(error, _OF_A_KIND) or "not implemented for" in text:
        return translate_error(error, operator.parameters, buffers, settings)
    text = f"{text} (got {described(operator.parameters, buffers, settings)})"
    if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in text:
        return MemoryError(prefix_function_name(text))
    return InvalidArgument(text)
