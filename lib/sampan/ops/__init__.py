"""Every differentiable operator, one file a family. Importing this room declares them as Tensor's methods too."""

# ruff: noqa: F401, I001
# fmt: off
from . import inplace
from .activation import (
    gelu, leaky_relu, log_softmax, relu, relu6, silu, softmax, softplus,
)
from .convolution import (
    conv2d, convolve, convolve_input, convolve_weight,
)
from .creation import (
    arange, diag, empty, empty_like, eye, full, full_like, full_like_of, linspace, meshgrid, ones,
    ones_like, zeros, zeros_like,
)
from .elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, ceil, cos, cosh, divide, erf, exp, expm1,
    floor, floor_divide, fmax, fmin, hypot, log, log10, log1p, log2, maximum, minimum, multiply, neg, pow,
    reciprocal, remainder, round, rsqrt, sigmoid, sign, sin, sinh, sqrt, square, subtract, tan, tanh,
    trunc,
)
from .indexing import (
    added_along_axis, argsort, clip, diagonal, diagonal_spread, gather, gather_nd, getitem, index_add,
    index_added, index_select, masked_fill, masked_select, nonzero, one_hot, put_along_axis, scatter,
    scatter_nd, scatter_nd_add, select, setitem, sort, spread, take_along_axis, topk, where,
)
from .linalg import (
    addmm, affine, batched_matmul, bmm, dot, einsum, linear, matmul, mm, mv, outer,
)
from .logic import (
    allclose, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, equal, equal_all, greater_equal,
    greater_than, is_empty, isclose, isfinite, isinf, isnan, less_equal, less_than, logical_and,
    logical_not, logical_or, logical_xor, not_equal,
)
from .loss import (
    cross_entropy, l1_loss, mean_cross_entropy, mse_loss, nll_loss,
)
from .normalization import (
    batch_norm, layer_norm, normalize_batch, normalize_layer,
)
from .pooling import (
    adaptive_avg_pool2d, adaptive_pool, adaptive_unpool, avg_pool, avg_pool2d, avg_unpool, max_pool,
    max_pool2d, max_unpool,
)
from .random import (
    bernoulli, get_rng_state, multinomial, normal, rand, randint, randn, randperm, seed, set_rng_state,
    standard_normal, uniform,
)
from .reduction import (
    all, amax, amin, any, argmax, argmin, cumsum, logsumexp, max, mean, min, prod, prod_along, std, sum,
    var,
)
from .regularization import (
    dropout, masked,
)
from .shape import (
    assign, broadcast_to, cast, chunk, concat, concatenate, copy_to, expand, expand_as, flatten, flip,
    moveaxis, pad_constant, permute, real, reshape, roll, split, split_sizes, squeeze, stack, swapaxes, t, tile,
    transpose, tril, triu, unbind, unsqueeze,
)
