"""Samples of ops/logic.py, and functions that compute the same by other means."""

import torch

from .declare import Array, integers, sampled

sampled(
    "isin",
    reference=lambda x, t, u=False, i=False: torch.isin(x, t, invert=i),
    samples=[(integers((3, 4), 9), integers((5,), 9)), (integers((), 9), integers((2, 0), 9), False, True)],
)
sampled("isclose", reference=torch.isclose, samples=[((3, 4), (3, 4))])

NUMBERS, BOOLS = (
    (integers((3, 4), 3), integers((4,), 3)),
    (Array((3, 4), 0, 2, "bool"), Array((4,), 0, 2, "bool")),
)
ONE, WHOLE = (Array((3, 4)),), (integers((3, 4), 30, -30), integers((4,), 30, -30))
for name, by_torch in {
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_equal": "le",
    "greater_than": "gt",
    "greater_equal": "ge",
}.items():
    sampled(name, [NUMBERS], getattr(torch, by_torch))
for name in ("logical_and", "logical_or", "logical_xor"):
    sampled(name, [BOOLS], getattr(torch, name))
sampled("logical_not", [BOOLS[:1]], torch.logical_not)
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit"):
    sampled(name, [ONE], getattr(torch, name))
for name in ("gcd", "lcm"):
    sampled(name, [WHOLE], getattr(torch, name))
sampled("nextafter", [ONE * 2], torch.nextafter)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    sampled(name, [(integers((3, 4), 30, -30), integers((4,), 5))], getattr(torch, name))
sampled("bitwise_not", [(integers((3, 4), 30, -30),)], torch.bitwise_not)
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    pair = (integers((3, 4), 30), integers((4,), 5))
    sampled(name, [pair, (*pair, False)], lambda x, y, arithmetic=True, by=name: getattr(torch, by)(x, y))
