"""Complex numbers: their parts, their polar form, and the pairs of floats that they are made of.

The gradient of a real loss by a complex z = a + ib is dL/da + i dL/db, Paddle's convention and torch's.
"""

from typing import Any

import torch

from ..engine.operator import operator
from ..engine.tensor import InvalidType

__all__ = ["angle", "as_complex", "as_real", "complex", "conj", "imag", "polar", "real", "sgn"]


def _check_wide(x: Any) -> None:
    """Refuse halves: torch would make complex32 of them, which Paddle does not have."""
    if x.dtype is torch.float16:
        raise InvalidType("complex numbers are made of float32 or float64, got float16")


@operator(lambda g, saved: g.to(saved), method="", view=True)
def real(x, name=None):
    """The real part, a view; a real array as it is."""
    return x.real, x.dtype


@operator(lambda g: g * 1j, method="", view=True)
def imag(x, name=None):
    """The imaginary part of a complex array, a view. Raises TypeError for a real one."""
    if not x.is_complex():
        raise InvalidType("x is real and has no imaginary part")
    return x.imag


@operator(lambda g: g.conj(), method="")
def conj(x, name=None):
    """The complex conjugate; a copy of a real array."""
    return x.conj_physical() if x.is_complex() else x.clone()


def _angle_by_x(g: Any, x: Any) -> Any:
    """g i z / |z|^2, the way in which z turns; a real number does not."""
    if not x.is_complex():
        return g.new_zeros(g.shape)
    length = abs(x)
    return g * 1j * x / (length * length + (length == 0))


@operator(_angle_by_x, method="")
def angle(x, name=None):
    """The argument of complex numbers, in radians; of real ones 0 or pi. At 0 the derivative is taken as
    0."""
    return torch.angle(x)


def _sgn_by_x(g: Any, x: Any, out: Any) -> Any:
    """The part of g across z, divided by |z|: only that turns z / |z|. A real number does not turn."""
    if not x.is_complex():
        return g.new_zeros(g.shape)
    length = abs(x)
    along = real(g * out.conj())
    return (g - along * out) / (length + (length == 0))


@operator(_sgn_by_x, method="")
def sgn(x, name=None):
    """z / |z| of complex numbers, 0 of 0; the sign of real ones."""
    return torch.sgn(x)


@operator(lambda g: real(g), lambda g: imag(g), broadcasts=True, out=True)
def complex(real, imag, name=None):
    """real + i imag, with broadcasting."""
    if real.dtype is not imag.dtype:
        kind = torch.promote_types(real.dtype, imag.dtype)
        real, imag = real.to(kind), imag.to(kind)
    _check_wide(real)
    return torch.complex(real, imag)


@operator(
    lambda g, angle: real(g) * angle.cos() + imag(g) * angle.sin(),
    lambda g, out: imag(out.conj() * g),
    method="",
    broadcasts=True,
    out=True,
)
def polar(abs, angle, name=None):
    """abs (cos(angle) + i sin(angle)), with broadcasting."""
    kind = torch.promote_types(abs.dtype, angle.dtype)
    return torch.polar(abs.to(kind), angle.to(kind))


@operator(lambda g: as_real(g), method="", view=True, aliases="view_as_complex")
def as_complex(x, name=None):
    """Pairs of floats, [..., 2], as complex numbers [...]. A view of the same memory."""
    if not x.shape or x.shape[-1] != 2:
        raise RuntimeError("the last axis must have length 2: real and imaginary part")
    _check_wide(x)
    # an array without entries may have odd strides
    pairs = x.contiguous() if x.numel() else x.new_empty(x.shape)
    return torch.view_as_complex(pairs)


@operator(lambda g: as_complex(g), method="", view=True, aliases="view_as_real")
def as_real(x, name=None):
    """Complex numbers [...] as pairs of floats, [..., 2]. A view of the same memory."""
    if not x.is_complex():
        raise InvalidType("x is real")
    return torch.view_as_real(x.resolve_conj())
