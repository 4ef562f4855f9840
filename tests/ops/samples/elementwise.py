"""Samples of ops/elementwise.py, and functions that compute the same by other means."""

import torch

from .declare import Array, integers, pointwise, sampled

sampled(
    "round",
    reference=lambda x, d=0: torch.round(x, decimals=d),
    samples=[(Array((3, 4), 0.1, 0.4),), (Array((3,), 0.1, 0.14), 1), (Array((0, 2)),)],
)
sampled(
    "pow",
    reference=torch.pow,
    samples=[
        (Array((3, 4), 0.3, 2), 3.0),
        (Array((3, 4), 0.3, 2), Array((4,), 0.3, 2)),
        (2.0, Array((3, 2))),
        (Array((2, 0)), 2),
    ],
)
sampled(
    "remainder",
    reference=torch.remainder,
    samples=[(Array((3, 4), 0.1, 0.9), Array((4,), 1.1, 2)), (Array((3,), 0.1, 0.9), 2.0)],
)
sampled(
    "divide_rounded",
    reference=lambda x, y, mode: torch.div(x, y, rounding_mode=mode),
    samples=[(Array((3, 4)), Array((4,), 0.5, 2), mode) for mode in ("floor", "trunc")],
)
sampled("floor_divide", reference=torch.floor_divide, samples=[(Array((3, 4)), Array((4,), 0.5, 2))])
sampled("lerp", reference=torch.lerp, samples=[((3, 4), (3, 4), 0.3), ((3, 1), (4,), (3, 4))])
sampled("nan_to_num", reference=torch.nan_to_num, samples=[((3, 4),), ((2, 0), 1.0, 2.0, 3.0)])
sampled("clip", reference=lambda x, lo, hi: x.clamp(lo, hi), samples=[((3, 4), -1.0, 1.0)])
sampled(
    "scale",
    reference=lambda x, s=1.0, b=0.0, after=True: x * s + b if after else (x + b) * s,
    samples=[((3, 4), 2.0), ((3, 4), 2.0, 1.0), ((3,), 2.0, 1.0, False)],
)
sampled(
    "stanh",
    reference=lambda x, a=0.67, b=1.7159: b * torch.tanh(a * x),
    samples=[((3, 4),), ((3,), 0.5, 2.0)],
)
sampled("ldexp", reference=lambda x, y: x * 2.0**y, samples=[((3, 4), (4,)), ((3,), integers((2, 1), 4))])
sampled("frexp", reference=lambda x: tuple(v + 0 * x for v in torch.frexp(x)), samples=[((3, 4),), ((0, 2),)])
sampled("summed", reference=lambda *xs: sum(xs), samples=[((3, 4), (3, 4), (3, 4)), ((2, 0),)])

# Drawn between low and high, inside the domain and away from kinks.
RANGES = {
    "divide": (0.5, 2.0),
    "atan2": (0.5, 2.0),
    "hypot": (0.5, 2.0),
    "copysign": (0.5, 2.0),
    "heaviside": (0.5, 2.0),
    "abs": (0.3, 2.0),
    "log": (0.2, 2.0),
    "log2": (0.2, 2.0),
    "log10": (0.2, 2.0),
    "log1p": (-0.8, 2.0),
    "sqrt": (0.2, 2.0),
    "rsqrt": (0.2, 2.0),
    "reciprocal": (0.3, 2.0),
    "tan": (-1.2, 1.2),
    "asin": (-0.8, 0.8),
    "acos": (-0.8, 0.8),
    "acosh": (1.3, 3),
    "atanh": (-0.8, 0.8),
    "floor": (0.1, 0.9),
    "ceil": (0.1, 0.9),
    "trunc": (0.1, 0.9),
    "frac": (0.1, 0.9),
    "sign": (0.1, 2.0),
}
REFERENCES = {
    "heaviside": lambda x, y: torch.where(x == 0, y, (x > 0).to(y.dtype)),
}
for name in (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "logaddexp",
    "copysign",
    "heaviside",
    "neg",
    "abs",
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "deg2rad",
    "rad2deg",
    "floor",
    "ceil",
    "trunc",
    "frac",
    "sign",
):
    pointwise(name, RANGES.get(name, (-2.0, 2.0)), REFERENCES.get(name))
