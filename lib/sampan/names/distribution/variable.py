"""Domain and codomain of transforms: discrete or not, axes of an event, and allowed values."""

from collections.abc import Callable, Sequence
from typing import Any

from ...ops import stack, unbind
from . import constraint
from .constraint import real as real_numbers


class Variable:
    """Values whose events have `event_rank` axes; `constraint(value)` is True where a value is allowed."""

    def __init__(
        self, is_discrete: bool = False, event_rank: int = 0, constraint: Callable[[Any], Any] | None = None
    ):
        self.is_discrete, self.event_rank = is_discrete, event_rank
        self.constraint = constraint or real_numbers


class Real(Variable):
    """Any numbers."""


class Positive(Variable):
    """Numbers of 0 or more."""

    def __init__(self, event_rank: int = 0) -> None:
        super().__init__(False, event_rank, constraint.positive)


class Independent(Variable):
    """`base` with further axes that belong to one event."""

    def __init__(self, base: Variable, reinterpreted_batch_rank: int) -> None:
        axes = list(range(-reinterpreted_batch_rank, 0))
        super().__init__(
            base.is_discrete, base.event_rank + len(axes), lambda value: base.constraint(value).all(axes)
        )


class Stack(Variable):
    """One variable for each slice along `axis`."""

    def __init__(self, vars: Sequence[Variable], axis: int = 0) -> None:
        rank = max(v.event_rank for v in vars)
        super().__init__(
            any(v.is_discrete for v in vars),
            rank + (axis + rank < 0),
            lambda value: stack(
                [v.constraint(part) for v, part in zip(vars, unbind(value, axis), strict=True)], axis
            ),
        )


real = Real()
positive = Positive()
unit = Variable(constraint=constraint.Range(0, 1))
signed_unit = Variable(constraint=constraint.Range(-1, 1))
simplex = Variable(False, 1, constraint.simplex)
