"""Every differentiable operator, one file a family. Importing this room declares them as Tensor's methods too."""

# ruff: noqa: F401, I001
# fmt: off
from . import convolution, inplace, loss, normalization, pooling, regularization
from .activation import gelu, leaky_relu, log_softmax, relu, relu6, silu, softmax, softplus
from .elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, ceil, cos, cosh, divide, erf, exp, expm1,
    floor, floor_divide, fmax, fmin, hypot, log, log10, log1p, log2, maximum, minimum, multiply, neg, pow,
    reciprocal, remainder, round, rsqrt, sigmoid, sign, sin, sinh, sqrt, square, subtract, tan, tanh,
    trunc,
)
from .indexing import (
    argsort, clip, diag, diagonal, gather, gather_nd, index_add, index_select, masked_fill, masked_select,
    nonzero, put_along_axis, scatter, scatter_nd, scatter_nd_add, sort, take_along_axis, topk, where,
)
from .linalg import (
    addmm, bmm, dot, einsum, matmul, mm, mv, outer,
)
from .logic import (
    allclose, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, equal, equal_all, greater_equal,
    greater_than, is_empty, isclose, isfinite, isinf, isnan, less_equal, less_than, logical_and,
    logical_not, logical_or, logical_xor, not_equal,
)
from .reduction import (
    all, amax, amin, any, argmax, argmin, cumsum, logsumexp, max, mean, min, prod, std, sum, var,
)
from .shape import (
    assign, broadcast_to, cast, chunk, concat, expand, expand_as, flatten, flip, moveaxis, permute, real,
    reshape, roll, split, squeeze, stack, swapaxes, t, tile, transpose, tril, triu, unbind, unsqueeze,
)
