"""The support of a distribution: a constraint returns True for allowed values."""

from typing import Any


class Constraint:
    """Base class; a subclass defines `__call__`."""

    def __call__(self, value: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: write __call__ in the subclass")

    def check(self, value: Any) -> Any:
        return self(value)


class Real(Constraint):
    """Any number except NaN."""

    def __call__(self, value: Any) -> Any:
        return value == value


class Range(Constraint):
    """Numbers from `lower` to `upper`."""

    def __init__(self, lower: Any, upper: Any) -> None:
        self._lower, self._upper = lower, upper

    def __call__(self, value: Any) -> Any:
        return (self._lower <= value) & (value <= self._upper)


class Positive(Constraint):
    """Numbers of 0 or more."""

    def __call__(self, value: Any) -> Any:
        return value >= 0


class Simplex(Constraint):
    """Nonnegative numbers that sum to 1 along the last axis."""

    def __call__(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


real, positive, simplex = Real(), Positive(), Simplex()
