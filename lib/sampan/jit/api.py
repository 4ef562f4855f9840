"""Paddle's names: `to_static` and what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..engine.errors import InvalidType
from ..nn.layer import Layer
from . import function as functions
from .function import StaticFunction


def to_static(
    function: Any = None,
    input_spec: Sequence[Any] | None = None,
    build_strategy: Any = None,
    backend: str | None = None,
    full_graph: bool = False,
    **kwargs: Any,
) -> Any:
    """A function or layer that runs as a Program: recorded at its first call, then without its Python.

    It computes what the function computes, also for gradients, in place changes, random numbers and
    statistics of batches. A value of a Tensor that Python reads (`if`, `float`, `item`) is a guard: another
    outcome is recorded when it first comes. What a Program cannot repeat, such as random numbers of NumPy or
    changes of a layer's attributes, runs eagerly, and one message of the logger "sampan.jit" names the line.
    Effects on other Python objects, such as `print` and `list.append`, happen while it is recorded only.

    input_spec: InputSpecs for `jit.save`. Of a Layer, its forward is replaced and the layer returned. Also
    a decorator, with or without arguments. build_strategy and backend are accepted for Paddle's programs and
    decide nothing.

    full_graph: the Program is complete when it is first called. Loops and branches over the value of a Tensor
    become a part of it, as `jit.save` makes them (docs/jit.md); what cannot be one is refused, with its line
    and what to write. Gradients go through them.

    >>> layer = paddle.jit.to_static(paddle.nn.Linear(2, 2))
    >>> layer(paddle.ones([1, 2])).shape
    paddle.Size([1, 2])
    """
    if unknown := set(kwargs) - {"property", "for_test"}:
        raise InvalidType(f"to_static: unknown settings {sorted(unknown)}")

    def made(given: Any) -> Any:
        if isinstance(given, Layer):
            if not isinstance(given.forward, StaticFunction):
                object.__setattr__(
                    given, "forward", StaticFunction(given.forward, input_spec, given, full_graph)
                )
            return given
        if isinstance(given, StaticFunction):
            return given
        if isinstance(given, (staticmethod, classmethod)):
            return type(given)(made(given.__func__))
        if not callable(given):
            raise InvalidType(
                f"to_static: function: expected a function or a Layer, got {type(given).__name__}"
            )
        return StaticFunction(given, input_spec, full_graph=full_graph)

    return made if function is None else made(function)


def not_to_static(func: Callable[..., Any] | None = None) -> Any:
    """The function itself: what it computes is recorded with the function that calls it, its Python runs
    only then."""
    return (lambda given: given) if func is None else func


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Whether functions of `to_static` run as Programs (True, the start) or eagerly."""
    if not isinstance(enable_to_static_bool, bool):
        kind = type(enable_to_static_bool).__name__
        raise InvalidType(f"enable_to_static: enable_to_static_bool: expected a bool, got {kind}")
    functions.enabled = enable_to_static_bool


def ignore_module(modules: list[Any]) -> None:
    """Does nothing: which functions are rewritten does not depend on it."""


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Does nothing. Why a function runs eagerly is logged as "sampan.jit"."""


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Does nothing: `function.code` is the source that runs."""
