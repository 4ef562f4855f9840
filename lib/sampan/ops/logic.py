"""Comparisons, logic, bits, common divisors, and what a value is. None of them has a gradient."""

from collections.abc import Callable
from typing import Any

import torch

from ..engine.operator import as_method, composite, operator
from ..engine.spelling import spelled
from ..engine.tensor import InvalidType, Tensor

# fmt: off
__all__ = [
    "allclose", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "equal", "equal_all", "gcd", "greater_equal", "greater_than", "is_complex", "is_empty",
    "is_floating_point", "is_integer", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "lcm", "less_equal", "less_than", "logical_and", "logical_not", "logical_or",
    "logical_xor", "nextafter", "not_equal", "signbit",
]
# fmt: on


def _truth(
    name: str, function: Callable[..., Any], doc: str, inputs: int = 2, **facts: Any
) -> Callable[..., Tensor]:
    def unary(x, name=None):
        return function(x)

    def binary(x, y, name=None):
        value = function(x, y)
        if not isinstance(value, torch.Tensor):  # Python compared it with something that is not a number
            raise InvalidType(f"expected tensors and numbers, got {type(x).__name__} and {type(y).__name__}")
        return value

    body = unary if inputs == 1 else binary
    body.__name__, body.__doc__ = name, doc
    return operator(method="", **facts)(body)


equal = _truth(
    "equal", lambda x, y: x == y, "x = y, entry by entry.", aliases="eq", inplace="retype", out=True
)
not_equal = _truth(
    "not_equal", lambda x, y: x != y, "x ≠ y, entry by entry.", aliases="ne", inplace="retype", out=True
)
less_than = _truth(
    "less_than", lambda x, y: x < y, "x < y, entry by entry.", aliases="lt less", inplace="retype", out=True
)
less_equal = _truth(
    "less_equal", lambda x, y: x <= y, "x ≤ y, entry by entry.", aliases="le", inplace="retype", out=True
)
greater_than = _truth(
    "greater_than",
    lambda x, y: x > y,
    "x > y, entry by entry.",
    aliases="gt greater",
    inplace="retype",
    out=True,
)
greater_equal = _truth(
    "greater_equal", lambda x, y: x >= y, "x ≥ y, entry by entry.", aliases="ge", inplace="retype", out=True
)
logical_and = _truth(
    "logical_and", torch.logical_and, "Both are true (not zero).", inplace="retype", out=True
)
logical_or = _truth(
    "logical_or", torch.logical_or, "One or both are true (not zero).", inplace="retype", out=True
)
logical_xor = _truth(
    "logical_xor", torch.logical_xor, "Exactly one is true (not zero).", inplace="retype", out=True
)
logical_not = _truth("logical_not", torch.logical_not, "Not true (zero).", 1, inplace="retype", out=True)
isnan = _truth("isnan", torch.isnan, "Whether an entry is not a number.", 1)
isinf = _truth("isinf", torch.isinf, "Whether an entry is plus or minus infinity.", 1)
isfinite = _truth("isfinite", torch.isfinite, "Whether an entry is neither infinite nor NaN.", 1)
isposinf = _truth("isposinf", torch.isposinf, "Whether an entry is plus infinity.", 1)
isneginf = _truth("isneginf", torch.isneginf, "Whether an entry is minus infinity.", 1)
isreal = _truth("isreal", torch.isreal, "Whether the imaginary part is 0.", 1)
gcd = _truth("gcd", torch.gcd, "The greatest common divisor of integers; 0 of two zeros.", inplace="rewrite")
lcm = _truth("lcm", torch.lcm, "The least common multiple of integers; 0 where one is 0.", inplace="rewrite")
nextafter = _truth("nextafter", torch.nextafter, "The dtype's next number after x, towards y.")
signbit = _truth("signbit", torch.signbit, "Whether the sign is minus; that of -0.0 too.", 1)


def _bits(name: str, doc: str, aliases: str = "") -> Callable[..., Tensor]:
    function = getattr(torch, name)

    def unary(x, out=None, name=None):
        return function(x) if out is None else function(x, out=out)

    def binary(x, y, out=None, name=None):
        return function(x, y) if out is None else function(x, y, out=out)

    def shift(x, y, is_arithmetic=True, out=None, name=None):
        moved = function(x, y)
        if not is_arithmetic and function is torch.bitwise_right_shift and moved.dtype.is_signed:
            kept = torch.as_tensor(torch.iinfo(moved.dtype).bits - y).clamp(
                min=0
            )  # the bits above are copies of the sign
            moved &= ~(torch.full_like(moved, -1) << kept)
        return moved if out is None else out.copy_(moved)

    body = unary if name == "bitwise_not" else shift if "shift" in name else binary
    body.__name__, body.__doc__ = name, doc
    return operator(method="", aliases=aliases, inplace="rewrite", out=True)(body)


bitwise_and = _bits("bitwise_and", "Bits set in both; `and` of bools.")
bitwise_or = _bits("bitwise_or", "Bits set in one or both; `or` of bools.")
bitwise_xor = _bits("bitwise_xor", "Bits set in exactly one; `xor` of bools.")
bitwise_not = _bits("bitwise_not", "All bits turned; `not` of bools.", aliases="bitwise_invert")
_KEEPS_SIGN = "is_arithmetic: negative numbers keep their sign; else 0 moves in."
bitwise_left_shift = _bits("bitwise_left_shift", f"The bits of x moved up by y places. {_KEEPS_SIGN}")
bitwise_right_shift = _bits("bitwise_right_shift", f"The bits of x moved down by y places. {_KEEPS_SIGN}")


@operator(method="")
def isin(x, test_x, assume_unique=False, invert=False, name=None):
    """Whether an entry of x is among those of `test_x` (invert: is not). assume_unique: neither repeats an
    entry."""
    if x.dtype is test_x.dtype is torch.bool:  # torch has no loop for them
        x, test_x = x.byte(), test_x.byte()
    return torch.isin(x, test_x, assume_unique=assume_unique, invert=invert)


@operator(method="")
def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """|x - y| <= atol + rtol |y|, entry by entry."""
    return torch.isclose(x, y, float(rtol), float(atol), equal_nan)


@composite(method="")
def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None) -> Tensor:
    """Whether `isclose` holds everywhere, as a 0-d bool tensor."""
    return isclose(x, y, rtol, atol, equal_nan).all()


@operator(method="")
def equal_all(x, y, name=None):
    """Whether x and y have one shape and the same entries, as a 0-d bool tensor."""
    return torch.tensor(x.shape == y.shape and bool((x == y).all()), device=x.device)


@operator(method="")
def is_empty(x, name=None):
    """Whether x has no entry, as a 0-d bool tensor."""
    return torch.tensor(x.numel() == 0, device=x.device)


def _kind(name: str, asks: Callable[[Any], bool], doc: str) -> Callable[..., bool]:
    def ask(x) -> bool:
        return asks(x.dtype)

    ask.__name__, ask.__doc__ = name, doc
    as_method(ask)
    return spelled()(ask)


def _integral(kind: torch.dtype) -> bool:
    return not (kind.is_complex or kind.is_floating_point or kind == torch.bool)


is_complex = _kind("is_complex", lambda kind: kind.is_complex, "Whether x has a complex dtype.")
is_floating_point = _kind("is_floating_point", lambda k: k.is_floating_point, "Whether x has a float dtype.")
is_integer = _kind("is_integer", _integral, "Whether x has an integer dtype; bool does not count.")
