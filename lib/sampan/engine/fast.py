"""Faster paths for the most frequent calls: operators of one or two inputs, and their backward step.

It adds no behaviour: it does what `apply` and `backward` do, unrolled for these cases.
With the environment variable SAMPAN_FAST=0 nothing of it is used; tests/test_fast.py runs the tests of the
tape that way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from . import tape
from .apply import apply, observers, record, wrap
from .error_translation import RAISED_INSIDE
from .tape import Node
from .tensor import Tensor

if TYPE_CHECKING:
    from .operator import Operator

ENABLED = os.environ.get("SAMPAN_FAST", "1") != "0"
MISSING: Any = object()
_recording = torch.is_grad_enabled


def entrance(operator: Operator, usual: Any, arrays: bool) -> Any:
    """The function that users call, for operators of one input or two (besides Paddle's `name`); else None.

    usual: the usual entrance, for every other call.
    """
    own = [
        p
        for p in operator.signature.parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "name"
    ]
    needed = [p for p in own if p.default is p.empty]
    if not ENABLED or operator.variadic:
        return None
    if len(own) == len(needed) == 2:
        return _of_two(operator, usual, arrays)
    return _of_one(operator, usual, arrays) if len(needed) == 1 else None


def _of_one(operator: Operator, usual: Any, arrays: bool) -> Any:
    def of_one(*args: Any, **settings: Any) -> Any:
        if (
            settings
            or len(args) != 1
            or type(args[0]) is not Tensor
            or (observers and get_ident() in observers)
        ):
            return usual(*args, **settings)
        (x,) = args
        buffer = x.data
        try:
            result = operator.body(buffer)
        except RAISED_INSIDE:
            return apply(operator, args, {}, arrays)  # which says why, or brings devices together
        if x.stop_gradient or not operator.differentiable or not _recording():
            return wrap(result[0] if operator.saves else result)
        return record(operator, 1, [x.node or x], [buffer], {}, result)

    return of_one


def _of_two(operator: Operator, usual: Any, arrays: bool) -> Any:
    def of_two(x: Any = MISSING, y: Any = MISSING, name: Any = None, /, **settings: Any) -> Any:
        if settings or y is MISSING:
            return usual(*(a for a in (x, y) if a is not MISSING), **settings)
        if type(x) is not Tensor or (observers and get_ident() in observers):
            return apply(operator, (x, y), {}, arrays)
        first = second = None
        wanted, left, right = 0, x.data, y
        if not x.stop_gradient:
            wanted, first = 1, x.node or x
        if type(y) is Tensor:
            right = y.data
            if not y.stop_gradient:
                wanted, second = wanted + 2, y.node or y
        elif type(y) is not float and type(y) is not int:
            return apply(operator, (x, y), {}, arrays)
        try:
            result = operator.body(left, right)
        except RAISED_INSIDE:
            return apply(operator, (x, y), {}, arrays)
        if not wanted or not operator.differentiable or not _recording():
            return wrap(result[0] if operator.saves else result)
        return record(operator, wanted, [first, second], [left, right], {}, result)

    return of_two


def step(
    node: Node, gradient: Any, gradients: dict[Any, Any], collected: dict[Any, Any], fit: Callable[..., Any]
) -> bool:
    """Pass the gradient of a Node on to its inputs, if it has one output, no hook, and a derivative for each
    input.

    fit: brings a gradient to the shape and dtype of its input. False where nothing was done.
    """
    kept, operator = node.kept, node.operator
    if (
        kept is None
        or node.hooks is not None
        or node.outputs is not None
        or tape.last_write > node.sequence
        or (operator.holomorphic and gradient.is_complex())
    ):
        return False
    edges, shapes, derivatives = node.edges, node.shapes, operator.derivatives
    joint = None
    if operator.joint is not None:
        function, names = operator.joint
        joint = function(gradient, *map(kept.__getitem__, names))
        if type(joint) is not tuple:
            joint = (joint,)
    given = len(derivatives if joint is None else joint)
    for edge in edges[given:]:
        if edge is not None:
            return False  # a gradient is missing
    place = -1
    for edge in edges:
        place += 1  # enumerate would make a tuple for each edge
        if edge is None:
            continue
        if joint is not None:
            part = joint[place]
        else:
            function, names = derivatives[place]
            if not names:
                part = function(gradient)
            elif len(names) == 1:
                part = function(gradient, kept[names[0]])
            else:
                part = function(gradient, *map(kept.__getitem__, names))
        if part is None:
            continue
        if shapes is not None and shapes[place] is not None:
            part = fit(part, *shapes[place])
        into = gradients if type(edge) is Node else collected
        before = into.get(edge)
        into[edge] = part if before is None else before + part
    return True
