"""Ints that know how they follow from the lengths of inputs which are not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

from ...jit.symbolic import Axis, Length

# Two lengths for each unknown axis: of the sample, and of a second one beside it. All first axes have the
# same, as batches have. Ratios and differences of the others are unlike: they tell which axes a length of a
# result follows.
FIRST = (2, 3)
OTHERS = ((37, 41), (43, 53), (59, 73))


class Dim(int):
    """An int with the Length that it is in a Program. Sums and products of it with ints have one too."""

    length: Length

    def __new__(cls, value: int, length: Length) -> Dim:
        made = super().__new__(cls, value)
        made.length = length
        return made

    def __mul__(self, other: Any) -> Any:
        own = self.length
        if type(other) is int and own.denominator == 1:  # else a fraction is cut off before
            scaled = Length(own.numerator * other, 1, own.axes, own.plus * other)
            return Dim(int(self) * other, scaled) if other else 0
        if type(other) is Dim and own.plus == other.length.plus == 0:
            more = other.length
            if own.denominator == more.denominator == 1:
                axes = tuple(sorted((*own.axes, *more.axes)))
                return Dim(int(self) * int(other), Length(own.numerator * more.numerator, 1, axes, 0))
        return int(self) * (int(other) if type(other) is Dim else other)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            own = self.length
            return Dim(int(self) + other, Length(own.numerator, own.denominator, own.axes, own.plus + other))
        return int(self) + int(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if type(other) is int else int(self) - int(other)

    def __floordiv__(self, other: Any) -> Any:
        if type(other) is int and self.length.plus == 0 and other > 0:
            scale = Fraction(self.length.numerator, self.length.denominator * other)
            return Dim(int(self) // other, Length(scale.numerator, scale.denominator, self.length.axes, 0))
        return int(self) // other


def length_of(one: int, two: int, known: dict[Axis, tuple[int, int]]) -> Length | None:
    """How a length that is `one` for the sample and `two` for the second follows from the unknown axes."""
    ratio = Fraction(two, one) if one else Fraction(0)
    for axes in _subsets(list(known)):
        if ratio == prod((Fraction(known[a][1], known[a][0]) for a in axes), start=Fraction(1)):
            scale = Fraction(one, prod(known[a][0] for a in axes))
            return Length(scale.numerator, scale.denominator, tuple(axes), 0)
    for axis, (first, second) in known.items():
        slope = Fraction(two - one, second - first)
        rest = one - slope * first
        if rest.denominator == 1 and slope.denominator in (1, 2, 4, 8):
            return Length(slope.numerator, slope.denominator, (axis,), int(rest))
    return None


def _subsets(axes: Sequence[Axis]) -> list[list[Axis]]:
    found: list[list[Axis]] = [[]]
    for axis in axes:
        found += [[*subset, axis] for subset in found]
    return sorted(found[1:], key=len)
