"""Every differentiable operator, one file a family. Importing this room declares them as Tensor's methods too."""

# ruff: noqa: F401, I001
# fmt: off
from . import convolution, inplace, loss, normalization, pooling, regularization
from .activation import gelu, leaky_relu, log_softmax, relu, relu6, silu, softmax, softplus
from .complex import angle, as_complex, as_real, complex, conj, imag, polar, real, sgn
from .elementwise import (
    abs, acos, acosh, add, add_n, asin, asinh, atan, atan2, atanh, ceil, clip, copysign, cos, cosh, deg2rad,
    divide, exp, expm1, floor, floor_divide, fmax, fmin, frac, frexp, gcd, heaviside, hypot, increment, lcm,
    ldexp, lerp, log, log10, log1p, log2, logaddexp, maximum, minimum, multiply, nan_to_num, neg, nextafter,
    positive, pow, rad2deg, reciprocal, remainder, round, rsqrt, scale, sigmoid, sign, sin, sinh, sqrt, square,
    stanh, subtract, tan, tanh, trunc,
)
from .indexing import (
    argsort, diag, diagonal, gather, gather_nd, index_add, index_select, masked_fill, masked_select,
    nonzero, put_along_axis, scatter, scatter_nd, scatter_nd_add, sort, take_along_axis, topk, where,
)
from .linalg import (
    addmm, bmm, dot, einsum, matmul, mm, mv, outer,
)
from .logic import (
    allclose, bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, equal,
    equal_all, greater_equal, greater_than, is_complex, is_empty, is_floating_point, is_integer, isclose, isfinite,
    isin, isinf, isnan, isneginf, isposinf, isreal, less_equal, less_than, logical_and, logical_not, logical_or,
    logical_xor, not_equal, signbit,
)
from .reduction import (
    all, amax, amin, any, argmax, argmin, cumsum, logsumexp, max, mean, min, prod, std, sum, var,
)
from .special import (
    digamma, erf, erfinv, gammainc, gammaincc, i0, i0e, i1, i1e, lgamma, logit, multigammaln, polygamma, sinc,
)
from .shape import (
    broadcast_to, cast, chunk, concat, expand, expand_as, flatten, flip, moveaxis, permute,
    reshape, roll, split, squeeze, stack, swapaxes, t, tile, transpose, tril, triu, unbind, unsqueeze,
)
