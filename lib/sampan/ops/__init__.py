"""Every differentiable operator, one file a family. Importing this package declares them as Tensor's methods
too."""

# ruff: noqa: F401, I001
from . import (
    attention,
    convolution,
    inplace,
    loss,
    normalization,
    pooling,
    recurrent,
    regularization,
    signs,
    spectral,
)
from .assembly import *
from .activation import gelu, leaky_relu, log_softmax, relu, relu6, silu, softmax, softplus
from .complex_numbers import *
from .elementwise import *
from .inplace import *
from .gathering import *
from .indexing import diag, diagonal, masked_fill, masked_scatter, masked_select, nonzero, where
from .joining import *
from .linalg import (
    addmm,
    baddbmm,
    bmm,
    cross,
    dot,
    einsum,
    inner,
    kron,
    matmul,
    matrix_transpose,
    mm,
    mv,
    outer,
    tensordot,
    vecdot,
)
from .logic import *
from .norms import cdist, dist, pdist, renorm
from .reduction import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    cumprod,
    cumsum,
    logcumsumexp,
    logsumexp,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .search import *
from .slicing import *
from .special import *
from .statistics import *
from .shape import (
    broadcast_to,
    cast,
    expand,
    expand_as,
    flatten,
    flip,
    moveaxis,
    permute,
    ravel,
    reshape,
    roll,
    squeeze,
    swapaxes,
    t,
    tile,
    transpose,
    tril,
    triu,
    unsqueeze,
)
