"""The second spellings that Paddle 3 takes for arguments, in one place: `input` for x, `dim` for axis,
`out=`, ...

A function is written with Paddle's own names. `renamed` translates the others where one of them was used, so
a call with plain arguments pays nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

import torch

from .error_translation import RAISED_INSIDE, raised_inside, translate_error
from .errors import InvalidType, with_name
from .tensor import Tensor, is_tensor

# What a caller may write, and the parameters that it may stand for: the first that the function has.
ALIASES: dict[str, tuple[str, ...]] = {
    "A": ("x",),
    "B": ("y",),
    "boundaries": ("sorted_sequence",),
    "dim": ("axis", "axes"),
    "dimension": ("axis",),
    "dim0": ("axis0",),
    "dim1": ("axis1",),
    "dims": ("repeat_times", "perm", "shifts"),
    "elements": ("x",),
    "end": ("stop",),
    "eps": ("epsilon",),
    "exponent": ("y",),
    "from": ("min",),
    "input": ("x", "values", "arr", "obj", "sorted_sequence"),
    "indices": ("num_or_indices",),
    "indices_or_sections": ("num_or_indices",),
    "lambd": ("threshold", "lam"),
    "m": ("num_columns",),
    "n": ("num_rows",),
    "obj": ("x",),
    "ord": ("p",),
    "other": ("y",),
    "return_indices": ("return_mask",),
    "size": ("shape",),
    "sections": ("num_or_indices",),
    "sizes": ("shape",),
    "steps": ("num",),
    "target": ("label",),
    "tensors": ("x", "inputs"),
    "test_elements": ("test_x",),
    "to": ("max",),
    "vec2": ("y",),
    "x1": ("x",),
    "x2": ("y",),
    "dilation": ("dilations",),
    "kernel_size": ("kernel_sizes",),
    "output_size": ("output_sizes",),
    "padding": ("paddings",),
    "stride": ("strides",),
}
R = TypeVar("R")


def renamed(parameters: Mapping[str, Any] | list[str], settings: dict[str, Any]) -> dict[str, Any]:
    """`settings` under the function's own names. Raises TypeError where both spellings of one argument were
    given."""
    if all(key in parameters for key in settings):
        return settings
    own: dict[str, Any] = {}
    for key, value in settings.items():
        names = () if key in parameters else ALIASES.get(key, ())
        name = next((n for n in names if n in parameters), key)
        if name in own or (name != key and name in settings):
            raise TypeError(f"{name}: was given twice, also as its alias {key!r}")
        own[name] = value
    return own


def gathered(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """`f(x, 2, 3)` as `f(x, [2, 3])`, for a function whose last setting is a list of ints."""
    if len(args) > 2 and all(type(a) is int or (is_tensor(a) and a.ndim == 0) for a in args[1:]):
        return (args[0], list(args[1:]))
    return args


def give(out: Any, result: Any) -> Any:
    """Put `result` into the tensor (or tuple of tensors) that the caller gave as `out`, and return that."""
    if isinstance(result, (tuple, list)):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise InvalidType(f"out: expected a tuple of {len(result)} tensors, got {type(out).__name__}")
        return type(result)(give(o, r) for o, r in zip(out, result, strict=True))
    if not isinstance(out, Tensor):
        raise InvalidType(f"out: expected a Tensor, got {type(out).__name__}")
    if out.data.shape == result.data.shape and out.dtype == result.dtype:
        return out._write(result)
    out.data, out.node, out.stop_gradient = result.data, result.node, result.stop_gradient
    return out


def with_keywords(signature: inspect.Signature, **defaults: Any) -> inspect.Signature:
    """A signature with keyword-only parameters added at its end: before ** and a keyword-only `name`."""
    own = signature.parameters.values()
    tail = [p for p in own if p.kind is p.VAR_KEYWORD or (p.name == "name" and p.kind is p.KEYWORD_ONLY)]
    first = [p for p in own if p not in tail]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in defaults.items()
        if name not in signature.parameters
    ]
    return signature.replace(parameters=[*first, *more, *tail])


def spelled(*, out: bool = False, sizes: bool = False) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A function with the aliases of its arguments, and that names itself in errors.

    out: it takes the tensor for its result as `out`. sizes: its list of ints may be written out.
    """

    def declare(function: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(function)
        parameters = signature.parameters
        takes_out = out and "out" not in parameters

        @functools.wraps(function)
        def call(*args: Any, **settings: Any) -> Any:
            try:
                if sizes:
                    args = gathered(args)
                if not settings:
                    return function(*args)
                into = settings.pop("out", None) if takes_out else None
                result = function(*args, **renamed(parameters, settings))
                return result if into is None else give(into, result)
            except RAISED_INSIDE as error:
                if raised_inside(error):
                    raise translate_error(error, parameters, args, settings) from error
                raise

        shown = with_name(function.__name__, call)
        shown.__signature__ = with_keywords(signature, out=None) if takes_out else signature
        return shown

    return declare


def spell(namespace: dict[str, Any], modules: Any = "") -> None:
    """Put `spelled` around the functions of a namespace that are plain ones and were written in these
    modules."""
    for name, function in list(namespace.items()):
        plain = type(function) is FunctionType and not hasattr(function, "__wrapped__")
        if plain and name[0] != "_" and function.__module__.startswith(modules):
            namespace[name] = spelled()(function)


def factory(without: str = "") -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """A function that makes a tensor: aliases, `ones(2, 3)` for `ones([2, 3])`, and where and how it is made.

    out: the tensor that takes the values. device: where it is made. requires_grad: it wants a gradient.
    pin_memory: in page-locked memory, for a faster copy to a GPU. without: which of these Paddle does not
    show.
    """
    how = {"out": None, "device": None, "requires_grad": False, "pin_memory": False}

    def declare(function: Callable[..., Any]) -> Callable[..., Tensor]:
        signature, made_by = inspect.signature(function), spelled()(function)
        parameters = signature.parameters
        sizes = next(iter(parameters)) == "shape"

        @functools.wraps(function)
        def call(*args: Any, **settings: Any) -> Tensor:
            out, device, requires_grad, pin_memory = [settings.pop(k, v) for k, v in how.items()]
            if sizes and args and type(args[0]) is int:
                lengths = "fill_value" not in parameters and all(type(a) is int for a in args)
                args = (list(args),) if lengths else ([args[0]], *args[1:])
            made = made_by(*args, **settings)
            if device is not None:
                made = made.to(device)
            if pin_memory and torch.cuda.is_available():
                made = Tensor(made.data.pin_memory())
            if out is not None:
                made = give(out, made)
            if requires_grad:
                made.stop_gradient = False
            return made

        shown = with_name(function.__name__, call)
        shown.__signature__ = with_keywords(signature, **{k: v for k, v in how.items() if k != without})
        return shown

    return declare
