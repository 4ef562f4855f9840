"""What an operator is, and the one way in which it is called.

An operator's body takes buffers (torch tensors, as plain memory) and returns its value and its pullback::

    @operator
    def matmul(x, y):
        return x @ y, (lambda g: g @ y.mT, lambda g: x.mT @ g)

The pullback is a tuple with one function per input (only those that are needed get called), or one
function that returns the gradients of all inputs; with a second parameter `needed` it is told which are asked for. Two conventions make it serve every order of derivative:

- a pullback *captures* only parameters of the body and the value under the name ``out``; everything else (shapes,
  axes, masks and what only the first order uses) it binds as defaults. The tape then keeps just the captured
  buffers, and for a recorded backward it puts Tensors in their place. A declaration that captures more is refused;
- it is written with Python's operators and methods that buffers and Tensors share, or with other operators.
  Called on buffers an operator returns buffers; called on Tensors it records. Where torch has a fused backward,
  the pullback uses it for buffers and the formula for Tensors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np
import torch

from .refusal import AxisError as AxisError
from .refusal import describe as describe
from .refusal import described, first_line, from_inside, no_array, translated
from .spelling import TAKES_OUT, TAKES_SIZES, gathered, give, renamed, spelled, with_keywords
from .tape import Node, next_sequence
from .tensor import Refused, Tensor, WrongKind, behind_signs, declared

_new = object.__new__
_recording = torch.is_grad_enabled
_ndarray = np.ndarray
_Buffer = torch.Tensor
_EMPTY: dict[str, Any] = {}
MISSING: Any = object()
MISSING_DEFAULT = inspect.Parameter.empty
# What torch raises for input that it cannot take.
REFUSALS = (RuntimeError, IndexError, TypeError, AttributeError, ValueError, KeyError)
_OF_A_KIND = (TypeError, AttributeError, NotImplementedError)
# Parameters of an operator that are no tensors: an array there stands for its numbers.
_LISTS = frozenset((
    "atol", "axis", "axes", "max", "min", "num_samples", "offset", "perm", "repeat_times", "rtol", "shape", "shifts", "value",
))  # fmt: skip
observers: list[Any] = []  # the last of them runs bodies and pullbacks in our place: see trace
casts: list[Any] = []  # the last of them may cast an operator's arguments before it runs: see amp


class Operator:
    """A declared operator: its body, what the tape keeps for it, and the facts that its tests need."""

    __slots__ = (
        "body", "broadcasts", "defaults", "differentiable", "keeps", "keywords", "name", "parameters",
        "selective", "signature", "value", "variadic", "view",
    )  # fmt: skip

    def __init__(self, body: Callable[..., Any], **facts: Any) -> None:
        self.name = body.__name__.strip("_")
        self.broadcasts: bool = facts["broadcasts"]
        self.differentiable: bool = facts["differentiable"]
        self.view: bool = facts["view"]
        foreign = self.adopt(body, facts.get("value")) - {*self.parameters, "out"}
        if foreign:
            raise TypeError(
                f"operator {self.name}: its pullback captures {', '.join(sorted(foreign))}; only parameters and `out` "
                "may be captured, bind anything else as a default of the lambda"
            )

    def adopt(self, body: Callable[..., Any], value: Callable[..., Any] | None = None) -> set[str]:
        """Take `body` for this operator's own, and return what its pullback captures: the tape keeps just that."""
        self.body = body
        self.value = value
        self.signature = inspect.signature(body)
        given = self.signature.parameters.values()
        self.parameters = [p.name for p in given if p.kind is not p.KEYWORD_ONLY]
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in given)
        self.keywords = {p.name for p in given if p.kind is p.KEYWORD_ONLY}
        self.defaults = [(p.name, p.default) for p in given if p.kind is p.POSITIONAL_OR_KEYWORD]
        code = inspect.unwrap(body).__code__  # below a counting or timing wrapper
        captures = {name for inner in _nested(code) for name in inner.co_freevars if self.differentiable}
        self.keeps = bool(captures & set(self.parameters))
        self.selective = any("needed" in inner.co_varnames[: inner.co_argcount] for inner in _nested(code))
        return captures

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.signature}>"

    def bind(self, args: tuple[Any, ...], settings: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional arguments and keyword-only settings from a call that named some of its arguments."""
        try:
            settings = renamed(self.signature.parameters, settings)
            rest = {key: value for key, value in settings.items() if key in self.keywords}
            values, left = list(args), len(settings) - len(rest)
            for name, default in () if self.variadic else self.defaults[len(args) :]:
                if left == 0 or (name not in settings and default is MISSING_DEFAULT):
                    break
                left -= name in settings
                values.append(settings.get(name, default))
            missing = any(default is MISSING_DEFAULT for _, default in self.defaults[len(values) :][:1])
            if left == 0 and not missing and "name" not in settings:
                return tuple(values), rest  # the usual case, in a tenth of the time of what follows
            bound = self.signature.bind(*args, **settings)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        if len(args) < len(bound.args):
            bound.apply_defaults()
        args = bound.args
        if "name" in self.parameters[: len(args)] and self.parameters.index("name") == len(args) - 1:
            args = args[:-1]  # Paddle's `name` labels a static graph; no body reads it
        return args, bound.kwargs


def _from_numpy(array: np.ndarray) -> torch.Tensor:
    """A buffer over an array's memory, or over a copy where torch cannot look at it: negative strides, read-only."""
    if not array.flags.writeable or any(step < 0 for step in array.strides):
        array = array.copy()
    return torch.from_numpy(array)


def _taken(operator: Operator, args: tuple[Any, ...], place: int, arrays: bool) -> torch.Tensor:
    """The buffer of an array among the arguments, where arrays are taken or stand for a list of numbers."""
    if not arrays and _LISTS.isdisjoint(operator.parameters[place : place + 1]):
        no_array(operator.name, operator.parameters, args)
    return _from_numpy(args[place])


def _nested(code: CodeType) -> list[CodeType]:
    """The functions written inside a body."""
    skipped = ("<listcomp>", "<genexpr>", "<dictcomp>")
    return [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name not in skipped]


operators: dict[str, Operator] = {}


def operator(
    body: Callable[..., Any] | None = None,
    *,
    method: str | Sequence[str] = (),
    broadcasts: bool = False,
    differentiable: bool = True,
    view: bool = False,
    value: Callable[..., Any] | None = None,
) -> Any:
    """Declare an operator; see the module's text for what a body is.

    method: names under which it becomes a method of Tensor ("" for its own name).
    broadcasts: its inputs broadcast, so their gradients are summed back to their shapes.
    differentiable: False for a body that returns its value alone.
    view: the value shares memory with the first input.
    value: a function of the one or two inputs that computes the value alone, called where nothing is recorded.
    """
    if body is None:
        return functools.partial(
            operator, method=method, broadcasts=broadcasts, differentiable=differentiable, view=view,
            value=value,
        )  # fmt: skip
    declared_operator = Operator(
        body,
        broadcasts=broadcasts,
        differentiable=differentiable,
        view=view,
        value=value,
    )

    call = functools.wraps(body)(_entrance(declared_operator, arrays=False))
    if declared_operator.name in TAKES_OUT:
        call.__signature__ = with_keywords(declared_operator.signature, out=None)  # type: ignore[attr-defined]
    call.operator = declared_operator  # type: ignore[attr-defined]
    operators[declared_operator.name] = declared_operator
    setattr(declared, declared_operator.name, call)
    setattr(behind_signs, declared_operator.name, _entrance(declared_operator, arrays=True))
    for name in (method,) if isinstance(method, str) else method:
        as_method(call, name)
    return call


def _entrance(operator: Operator, arrays: bool) -> Any:
    """The function that users call, or the one behind Python's operators, which takes NumPy arrays for Tensors.

    The two usual signatures skip the packing of arguments, and where nothing can be recorded `apply` too: one call of
    torch, one Tensor.
    """
    takes_out, sizes = operator.name in TAKES_OUT, operator.name in TAKES_SIZES

    def named(args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        out = settings.pop("out", None) if takes_out else None
        result = apply(operator, *operator.bind(args, settings), arrays)
        return result if out is None else give(out, result)

    positional = [p.name for p in operator.signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    inputs = len(positional) - 1 if positional[-1:] == ["name"] else 0
    if inputs == 2 and operator.value is not None:

        def of_two(x: Any = MISSING, y: Any = MISSING, name: Any = None, /, **settings: Any) -> Any:
            if settings or y is MISSING:
                return named(tuple(a for a in (x, y) if a is not MISSING), settings)
            if (
                type(x) is type(y) is Tensor
                and x.stop_gradient
                and y.stop_gradient
                and not observers
                and not casts
            ):
                value = operator.value
                if value is not None:
                    try:
                        return wrap(value(x.data, y.data))
                    except REFUSALS as error:
                        raise explain(error, operator, [x.data, y.data], {}) from error
            return apply(operator, (x, y), _EMPTY, arrays)

        return of_two
    if inputs == 1 and operator.value is not None:

        def of_one(x: Any = MISSING, name: Any = None, /, **settings: Any) -> Any:
            if settings or x is MISSING:
                return named(() if x is MISSING else (x,), settings)
            if type(x) is Tensor and x.stop_gradient and not observers and not casts:
                value = operator.value
                if value is not None:
                    try:
                        return wrap(value(x.data))
                    except REFUSALS as error:
                        raise explain(error, operator, [x.data], {}) from error
            return apply(operator, (x,), _EMPTY, arrays)

        return of_one

    def call(*args: Any, **settings: Any) -> Any:
        if settings:
            return named(args, settings)
        return apply(operator, gathered(operator.name, args) if sizes else args, _EMPTY, arrays)

    return call


composites: dict[str, Callable[..., Any]] = {}


def composite(
    *,
    method: str | Sequence[str] = (),
) -> Callable[[Any], Any]:
    """Declare a function that is written with operators alone: it needs no pullback of its own, only the same tests."""

    def declare(function: Any) -> Any:
        function = spelled(function)
        composites[function.__name__] = function
        setattr(declared, function.__name__, function)
        for name in (method,) if isinstance(method, str) else method:
            as_method(function, name)
        return function

    return declare


def as_method(function: Callable[..., Any], name: str = "") -> None:
    """Make `function` a method of Tensor. A name that the class has already is refused."""
    name = name or function.__name__.strip("_")
    if name in Tensor.__dict__:
        raise TypeError(f"Tensor.{name} is already defined")
    setattr(Tensor, name, function)


def apply(
    operator: Operator, args: tuple[Any, ...], settings: dict[str, Any] = _EMPTY, arrays: bool = True
) -> Any:
    """Call an operator: unwrap, run the body, and record on the tape when an input asks for its gradient.

    The one way in for every operator. One and two arguments, the most frequent, are unwrapped without a loop. arrays:
    NumPy arrays are taken as Tensors, as beside Python's operators; Paddle's functions refuse them.
    """
    count = len(args)
    wanted = wrapped = False
    edges: list[Any]
    buffers: Any = args
    try:
        if casts:
            args = casts[-1](operator, args)
        if count == 1:
            (x,) = args
            if isinstance(x, Tensor):
                wrapped = True
                wanted = not x.stop_gradient
                edges = [(x.node or x) if wanted else None]
                x = x.data
            elif type(x) is _ndarray:
                no_array(operator.name, operator.parameters, args)
            else:
                edges = [None]
            buffers = [x]
        elif count == 2:
            x, y = args
            first = second = None
            if isinstance(x, Tensor):
                wrapped = True
                if not x.stop_gradient:
                    wanted = True
                    first = x.node or x
                x = x.data
            elif type(x) is _ndarray:
                x = _taken(operator, args, 0, arrays)
            elif type(x) is complex and isinstance(y, Tensor) and y.data.dtype is torch.float16:
                return apply(operator, (x, declared.cast(y, torch.float32)), settings, arrays)
            if isinstance(y, Tensor):
                wrapped = True
                if not y.stop_gradient:
                    wanted = True
                    second = y.node or y
                y = y.data
            elif type(y) is _ndarray:
                y = _taken(operator, args, 1, arrays)
            elif type(y) is complex and x.__class__ is _Buffer and x.dtype is torch.float16:
                return apply(
                    operator, (declared.cast(args[0], torch.float32), y), settings, arrays
                )  # torch's complex32 is no dtype
            edges = [first, second]
            buffers = [x, y]
        else:
            edges = [None] * count
            buffers = list(args)
            for place, value in enumerate(args):
                if isinstance(value, Tensor):
                    wrapped = True
                    buffers[place] = value.data
                    if not value.stop_gradient:
                        wanted = True
                        edges[place] = value.node or value
                elif type(value) is _ndarray:
                    buffers[place] = _taken(operator, args, place, arrays)
        wanted = wanted and _recording()
        if observers:
            result = observers[-1].forward(operator, buffers, settings)
        elif not wanted and operator.value is not None and not settings and count < 3:
            result = (operator.value(*buffers), None)
        elif settings:
            result = operator.body(*buffers, **settings)
        else:
            result = operator.body(*buffers)
    except REFUSALS as error:
        raise explain(error, operator, buffers, settings) from error
    if not operator.differentiable:
        return wrap(result) if wrapped else result
    value, pullback = result
    if not wanted:
        return wrap(value) if wrapped else value

    inputs = args if operator.keeps else None
    for edge in edges:
        if edge is None:
            pullback, inputs = _released(operator, pullback, edges, inputs)
            break
    node = Node()
    node.operator = operator
    node.pullback = pullback
    node.edges = edges
    node.inputs = inputs
    node.settings = settings
    node.sequence = next_sequence()
    node.hooks = node.index = node.outputs = None
    node.shapes = _to_sum_back(buffers) if operator.broadcasts else None
    if type(value) is tuple:
        return node.wrap_outputs(value)
    out = _new(Tensor)
    out.data = value
    out.stop_gradient = False
    out.node = node
    out._grad = out._hooks = out._name = None
    return out


def _released(operator: Operator, pullback: Any, edges: list[Any], inputs: Any) -> tuple[Any, Any]:
    """A pullback without the functions that will not run, and the inputs that the others read.

    What no gradient needs shall not keep its memory: x * 2.0 needs no x.
    """
    if type(pullback) is not tuple:
        return pullback, inputs
    pullback = tuple(None if edge is None else f for f, edge in zip(pullback, edges, strict=False))
    if inputs is not None and not operator.variadic:
        captured = {name for f in pullback if f is not None for name in f.__code__.co_freevars}
        inputs = tuple(
            a if n in captured else None for n, a in zip(operator.parameters, inputs, strict=False)
        )
    return pullback, inputs


def _to_sum_back(buffers: list[Any]) -> list[Any] | None:
    """(shape, dtype) of each input, or None when nothing was broadcast or promoted."""
    if len(buffers) == 2:
        x, y = buffers
        if type(y) is float or type(y) is int:
            return None
        if isinstance(x, _Buffer) and isinstance(y, _Buffer) and x.shape == y.shape and x.dtype is y.dtype:
            return None
    return [(b.shape, b.dtype) if isinstance(b, _Buffer) else None for b in buffers]


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
    """The error to raise for a body that refused its input: which operator, which arguments, and why."""
    plain = isinstance(error, (ValueError, KeyError)) and not isinstance(error, (WrongKind, AxisError))
    if isinstance(error, ArithmeticError) or (plain and not from_inside(error)):
        raise error  # an observer found it, or this library, and said all
    text = first_line(error)
    if (
        plain
        or isinstance(error, _OF_A_KIND)
        or ("not implemented for" in text and not isinstance(error, IndexError))
    ):
        return translated(error, operator.name, operator.parameters, buffers, settings)
    text = f"{operator.name}: {text} (got {described(operator.parameters, buffers, settings)})"
    if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in text:
        return MemoryError(text)
    return (AxisError if isinstance(error, IndexError) else Refused)(text)
