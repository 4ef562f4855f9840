"""The table of emitters: for the name of an operator the function that says its call in ONNX's operators.

An emitter takes the Graph and the operator's own arguments, and returns the name of the result, or a list of
names where there are several. It raises Unsupported with the reason where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Emitter = Callable[..., Any]
OPERATORS: dict[str, Emitter] = {}  # operators of ours, by their names
FUNCTIONS: dict[str, Emitter] = {}  # functions of torch that layers call outside operators


def emits(*names: str, table: dict[str, Emitter] = OPERATORS) -> Callable[[Emitter], Emitter]:
    """A decorator: this function says the calls of these operators."""

    def entered(emitter: Emitter) -> Emitter:
        table.update(dict.fromkeys(names, emitter))
        return emitter

    return entered
