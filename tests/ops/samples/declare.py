"""How samples are declared: what the table test draws for an operator's arguments, and what its values are compared with."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from sampan.engine.operator import operators


class Array(NamedTuple):
    """A random array of `shape`, uniform between low and high; integers from low up to, not including, high."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = "float64"


def integers(shape: tuple[int, ...], high: int, low: int = 0) -> Array:
    return Array(shape, low, high, "int64")


class Sampled(NamedTuple):
    """samples: argument tuples, in which a shape is a random array. reference: computes the same on torch tensors."""

    samples: Sequence[tuple[Any, ...]] = ()
    reference: Callable[..., Any] | None = None


SAMPLES: dict[str, Sampled] = {}  # by the name of the operator or composite


def sampled(
    name: str, samples: Sequence[tuple[Any, ...]] = (), reference: Callable[..., Any] | None = None
) -> None:
    if name in SAMPLES:
        raise ValueError(f"{name} is sampled twice")
    SAMPLES[name] = Sampled(samples, reference)


SHAPES = [(3, 4), (2, 1, 3), (), (0, 2)]
PAIRS = [((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), (2, 3)), ((0, 2), (1, 2))]


def pointwise(name: str, between: tuple[float, float], reference: Callable[..., Any] | None = None) -> None:
    """An elementwise operator; reference: torch's function of that name where none is given, else its own value."""
    reference = reference or getattr(torch, name, operators[name].body)
    if operators[name].broadcasts:
        sampled(name, [(Array(a, *between), Array(b, *between)) for a, b in PAIRS], reference)
    else:
        sampled(name, [(Array(shape, *between),) for shape in SHAPES], reference)
