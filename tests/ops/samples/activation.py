"""Samples of ops/activation.py, and functions that compute the same by other means."""

import torch

from sampan.engine.operator import operators
from sampan.ops.activation import tnf

from .declare import Array, sampled

_AWAY = Array((3, 4), 0.2, 2.0)

sampled(
    "relu", reference=torch.relu, samples=[(_AWAY,), (Array((3,), -2, -0.2),), (Array(()),), (Array((0, 2)),)]
)
sampled(
    "gelu",
    reference=lambda x, a=False: torch.nn.functional.gelu(x, approximate="tanh" if a else "none"),
    samples=[((3, 4),), ((3, 4), True)],
)
sampled("softmax", reference=lambda x, a=-1: torch.softmax(x, a), samples=[((3, 4),), ((2, 3, 4), 1), ((),)])
sampled(
    "log_softmax",
    reference=lambda x, a=-1: torch.log_softmax(x, a),
    samples=[((3, 4),), ((2, 3, 4), 1), ((),)],
)
sampled(
    "parametric_relu",
    reference=lambda x, w: torch.where(x > 0, x, w * x),
    samples=[((2, 3, 4), (3, 1)), (Array((3,), -2, -0.2), ())],
)
sampled("glu", reference=tnf.glu, samples=[((3, 4),), ((4, 3), 0)])
sampled(
    "swiglu",
    reference=lambda x, y=None: (
        tnf.silu(x if y is not None else x.chunk(2, -1)[0]) * (x.chunk(2, -1)[1] if y is None else y)
    ),
    samples=[((3, 4), (3, 4)), ((2, 6),)],
)
sampled(
    "maxout",
    reference=lambda x, g, axis=1: x.unflatten(axis, (-1, g)).amax(axis + 1 if axis >= 0 else axis),
    samples=[((2, 6, 3), 2), ((2, 4), 2, -1)],
)

for name in (
    "celu",
    "elu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu6",
    "selu",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanhshrink",
    "thresholded_relu",
):
    sampled(name, [(_AWAY,), (Array((2, 1, 3), -4, -0.2),)], operators[name].body)
