"""What an operator is, and the one way in which it is called.

An operator is a function of buffers (torch tensors, as plain memory) with a derivative for each of its
inputs::

    @operator(lambda g, mat2: g.mm(mat2.t()), lambda g, input: input.t().mm(g))
    def mm(input, mat2):
        return torch.mm(input, mat2)

A derivative takes `g`, the gradient of the value, and returns the gradient of its input. **Its other
parameters say by their names what the tape keeps for it**, and nothing else is kept:

- a parameter of the operator: the buffer, number or setting that was given there (a tuple for `*inputs`);
- `out`: the value, a tuple where there are several;
- `saved`: what the function returned beside the value, as `return value, saved`: shapes, axes, masks, and
  what only the first order needs. All functions that name no `saved` return the value alone.

`joint=` is one derivative for all inputs: it returns a tuple, and may name `needed`, a list of which are
asked for. A derivative that is missing at the end belongs to an input without gradient; an operator without
any is not recorded.

A derivative is written with Python's operators and methods that buffers and Tensors share, or with other
operators. Called on buffers an operator returns buffers; called on Tensors it records. For a recorded
backward the tape calls the same derivative with Tensors for the inputs and for `out`. Where torch has a fused
backward, it is used for buffers and the formula for Tensors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, overload

import torch

from . import fast
from .apply import apply
from .errors import InvalidType, with_name
from .spelling import gathered, give, renamed, spelled, with_keywords
from .tensor import Tensor

MISSING_DEFAULT = inspect.Parameter.empty
R = TypeVar("R")


class Derivative(NamedTuple):
    """A function from the gradient of the value to that of an input, and the names that it asks for beside
    g."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    @staticmethod
    def of(function: Callable[..., Any]) -> Derivative:
        return Derivative(function, tuple(inspect.signature(function).parameters)[1:])


class Operator:
    """A declared operator: its function of buffers, its derivatives, and the facts that its tests need.

    fills: whether a missing gradient of one of several outputs arrives as zeros, or as None.
    body: the function. call: what users call. derivatives: one for each input; joint: one for all of them,
    or None.
    saves: whether the function returns `saved` beside its value.
    """

    fills = True
    call: Callable[..., Any]

    def __init__(
        self,
        body: Callable[..., Any],
        gradients: Sequence[Callable[..., Any]] = (),
        joint: Callable[..., Any] | None = None,
        *,
        broadcasts: bool = False,
        view: bool = False,
        product: bool = False,
        holomorphic: bool = False,
        otherwise: Callable[..., Any] | None = None,
        out: bool = False,
        sizes: bool = False,
        amp: str = "",
        returns: Any = None,
    ) -> None:
        self.name = body.__name__.strip("_")
        self.takes_out, self.takes_sizes, self.amp, self.returns = out, sizes, amp, returns or Tensor
        self.broadcasts, self.view, self.product = broadcasts, view, product
        self.holomorphic, self.otherwise = holomorphic, otherwise and spelled()(otherwise)
        self.define(body, gradients, joint)

    def define(
        self,
        body: Callable[..., Any],
        gradients: Sequence[Callable[..., Any]] = (),
        joint: Callable[..., Any] | None = None,
    ) -> None:
        """Take a function and its derivatives. Raises TypeError for a derivative that asks for an unknown
        name."""
        self.body = body
        self.derivatives = tuple(map(Derivative.of, gradients))
        self.joint = None if joint is None else Derivative.of(joint)
        self.differentiable = bool(gradients or joint)
        self.signature = inspect.signature(body)
        given = self.signature.parameters.values()
        self.parameters = [p.name for p in given if p.kind is not p.KEYWORD_ONLY]
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in given)
        self.keywords = {p.name for p in given if p.kind is p.KEYWORD_ONLY}
        self.defaults = {p.name: p.default for p in given if p.kind is not p.VAR_POSITIONAL}
        asked = {name for each in self._each() for name in each.names} - {"needed"}
        unknown = asked - set(self.signature.parameters) - {"out", "saved"}
        if unknown:
            raise TypeError(
                f"operator {self.name}: a derivative asks for {', '.join(sorted(unknown))}; expected "
                "parameters of the operator, out, saved or needed"
            )
        self.saves = "saved" in asked
        self.plans: dict[int, list[tuple[str, Any]]] = {}

    def functions(self) -> tuple[list[Callable[..., Any]], Callable[..., Any] | None]:
        """The derivatives, and the joint one, as `define` takes them."""
        return [each.function for each in self.derivatives], self.joint and self.joint.function

    def _each(self) -> Sequence[Derivative]:
        return self.derivatives if self.joint is None else (self.joint,)

    @property
    def reads_first(self) -> bool:
        """Whether a derivative reads the first input, which then must not be overwritten."""
        return any(name in self.parameters[:1] for each in self._each() for name in each.names)

    def plan(self, wanted: int) -> list[tuple[str, Any]]:
        """(name, where it is from) of all that the derivatives of the inputs in the bits of `wanted` read.

        What no gradient needs shall not keep its memory: x * 2.0 needs no x. From: a place among the
        arguments, a name.
        """
        asked = [each for place, each in enumerate(self._each()) if self.joint or wanted >> place & 1]
        names = dict.fromkeys(name for each in asked for name in each.names)
        places = {} if self.variadic else {name: place for place, name in enumerate(self.parameters)}
        self.plans[wanted] = [(name, places.get(name, name)) for name in names]
        return self.plans[wanted]

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.signature}>"

    def bind(self, args: tuple[Any, ...], settings: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional arguments and keyword-only settings from a call that named some of its arguments."""
        try:
            settings = renamed(self.signature.parameters, settings)
            rest = {key: value for key, value in settings.items() if key in self.keywords}
            values, left = list(args), len(settings) - len(rest)
            for name in () if self.variadic else self.parameters[len(args) :]:
                if left == 0 or (name not in settings and self.defaults[name] is MISSING_DEFAULT):
                    break
                left -= name in settings
                values.append(settings.get(name, self.defaults[name]))
            following = () if self.variadic else self.parameters[len(values) :][:1]
            missing = any(self.defaults[name] is MISSING_DEFAULT for name in following)
            if left == 0 and not missing and "name" not in settings:
                return tuple(values), rest  # the usual case, in a tenth of the time of what follows
            bound = self.signature.bind(*args, **settings)
        except TypeError as error:
            raise InvalidType(str(error)) from None
        if len(args) < len(bound.args):
            bound.apply_defaults()
        args = bound.args
        if "name" in self.parameters[: len(args)] and self.parameters.index("name") == len(args) - 1:
            args = args[:-1]  # Paddle's `name` labels a static graph; no body reads it
        return args, bound.kwargs


def recorded_by_hand(name: str) -> Operator:
    """An operator for Nodes that are made elsewhere and keep one function, `saved`, for the gradients of all
    inputs. It gets None for a missing gradient of an output."""

    def body(*tensors: torch.Tensor) -> Any:
        raise NotImplementedError(f"{name} runs outside `apply`")

    made = Operator(body, joint=lambda g, saved: saved(g))
    made.name, made.fills = name, False
    return made


operators: dict[str, Operator] = {}
composites: dict[str, Callable[..., Any]] = {}


class Names(NamedTuple):
    """The other public names that a declaration asks for; the end of `ops` makes them, see `ops.inplace`."""

    function: Callable[..., Any]
    aliases: str
    inplace: str


names: dict[str, Names] = {}


@overload
def operator(
    *gradients: Callable[..., Any], returns: None = None, **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]: ...
@overload
def operator(
    *gradients: Callable[..., Any], returns: type[R], **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., R]]: ...
@overload
def operator(
    *gradients: Callable[..., Any], returns: str, **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def operator(
    *gradients: Callable[..., Any],
    joint: Callable[..., Any] | None = None,
    method: str | Sequence[str] = (),
    aliases: str = "",
    inplace: str = "",
    **facts: Any,
) -> Any:
    """Declare an operator; see the module's text for its function and its derivatives.

    What its names are:
    method: names under which it becomes a method of Tensor ("" for its own name).
    aliases: its other public names, as functions, methods and twins in place.
    inplace: how its twin `name_` puts the value into x, one of `KINDS` in `ops.inplace`; "" for no twin.

    How it is called, and what comes back:
    out: it takes the tensor for its value as `out`. sizes: its list of ints may be written out.
    amp: its precision within `auto_cast`: "half", "float32", "float32_always" (at level O2 too), "as_is" (its
        inputs are not cast); "" for that of its inputs.
    returns: the type of the value, unless that is one Tensor; "Any" where a setting decides about it.

    What its derivatives rely on:
    broadcasts: its inputs broadcast, so their gradients are summed back to their shapes.
    view: the value shares memory with the first input.
    product: linear in each of its inputs, so that a gradient by one does not change with it (see
        `autograd.grad`).
    holomorphic: its derivatives are written for real numbers, f'(x) g; for complex ones they get conj(g) and
        are conjugated, which is g conj(f'(x)).
    otherwise: called with the arguments and the one keyword in place of the function, where that is not its
        default.
    """

    def declare(body: Callable[..., Any]) -> Any:
        made = Operator(body, gradients, joint, **facts)
        call = with_name(made.name, functools.wraps(body)(entrance(made, arrays=False)))
        if made.takes_out:
            call.__signature__ = with_keywords(made.signature, out=None)
        call.operator, made.call = made, call
        operators[made.name] = made
        return _published(made.name, call, method, aliases, inplace)

    return declare


def composite(
    *,
    method: str | Sequence[str] = (),
    aliases: str = "",
    inplace: str = "",
    out: bool = False,
    sizes: bool = False,
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Declare a function that is written with operators alone: it needs no derivative of its own, only the
    same tests. Its facts are those of `operator`; what it returns is its annotation."""

    def declare(function: Callable[..., R]) -> Callable[..., R]:
        call = spelled(out=out, sizes=sizes)(function)
        composites[function.__name__] = call
        return _published(function.__name__, call, method, aliases, inplace)

    return declare


def _published(name: str, function: Any, method: str | Sequence[str], aliases: str, inplace: str) -> Any:
    for each in (method,) if isinstance(method, str) else method:
        as_method(function, each)
    if aliases or inplace:
        names[name] = Names(function, aliases, inplace)
    return function


def _changed(operator: Operator, settings: dict[str, Any]) -> bool:
    """Whether a setting is given another value than its default."""
    return any(value != operator.defaults[name] for name, value in settings.items())


def entrance(operator: Operator, arrays: bool) -> Any:
    """The function that users call, or the one behind Python's operators, which takes NumPy arrays for
    Tensors."""
    takes_out, sizes = operator.takes_out, operator.takes_sizes

    def with_names(args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        out = settings.pop("out", None) if takes_out else None
        args, settings = operator.bind(args, settings)
        if operator.otherwise is not None and _changed(operator, settings):
            result = operator.otherwise(*args, *settings.values())
        else:
            result = apply(operator, args, settings, arrays)
        return result if out is None else give(out, result)

    def call(*args: Any, **settings: Any) -> Any:
        if settings:
            return with_names(args, settings)
        return apply(operator, gathered(args) if sizes else args, {}, arrays)

    return (None if sizes else fast.entrance(operator, call, arrays)) or call


def as_method(function: Callable[..., Any], name: str = "") -> None:
    """Make `function` a method of Tensor, which names itself in errors. A name that the class has already is
    refused."""
    name = name or function.__name__.strip("_")
    if name in Tensor.__dict__:
        raise TypeError(f"Tensor.{name} is already defined")
    if not hasattr(function, "__wrapped__"):
        function = spelled()(function)
    setattr(Tensor, name, function if function.__name__ == name else with_name(name, function))
