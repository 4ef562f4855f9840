"""Every differentiable operator, one file a family. Importing this room declares them as Tensor's methods too."""

# ruff: noqa: F401, F403, I001
# fmt: off
from . import convolution, inplace, loss, normalization, pooling, recurrent, regularization
from .aliases import *
from .assembly import *
from .activation import gelu, leaky_relu, log_softmax, relu, relu6, silu, softmax, softplus
from .complex_numbers import *
from .elementwise import *
from .inplace import *
from .indexing import (
    argsort, diag, diagonal, gather, gather_nd, index_add, index_select, masked_fill, masked_select,
    nonzero, put_along_axis, scatter, scatter_nd, scatter_nd_add, sort, take_along_axis, topk, where,
)
from .linalg import (
    addmm, bmm, dot, einsum, matmul, mm, mv, outer,
)
from .joining import *
from .logic import *
from .reduction import (
    all, amax, amin, any, argmax, argmin, cumsum, logsumexp, max, mean, min, prod, std, sum, var,
)
from .special import *
from .shape import (
    broadcast_to, cast, expand, expand_as, flatten, flip, moveaxis, permute,
    reshape, roll, squeeze, swapaxes, t, tile, transpose, tril, triu, unsqueeze,
)
