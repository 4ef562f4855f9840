"""What the table test draws for an operator's argument: declared beside the operator, made in tests/ops."""

from typing import NamedTuple


class Array(NamedTuple):
    """A random array of `shape`, uniform between low and high; integers from low up to, not including, high."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = "float64"


def integers(shape: tuple[int, ...], high: int, low: int = 0) -> Array:
    return Array(shape, low, high, "int64")
