"""Every differentiable operator, one file a family. Importing this room declares them as Tensor's methods too."""

from . import inplace as inplace
from .activation import (
    gelu as gelu,
)
from .activation import (
    leaky_relu as leaky_relu,
)
from .activation import (
    log_softmax as log_softmax,
)
from .activation import (
    relu as relu,
)
from .activation import (
    relu6 as relu6,
)
from .activation import (
    silu as silu,
)
from .activation import (
    softmax as softmax,
)
from .activation import (
    softplus as softplus,
)
from .convolution import (
    conv2d as conv2d,
)
from .convolution import (
    convolve as convolve,
)
from .convolution import (
    convolve_input as convolve_input,
)
from .convolution import (
    convolve_weight as convolve_weight,
)
from .creation import (
    arange as arange,
)
from .creation import (
    diag as diag,
)
from .creation import (
    empty as empty,
)
from .creation import (
    empty_like as empty_like,
)
from .creation import (
    eye as eye,
)
from .creation import (
    full as full,
)
from .creation import (
    full_like as full_like,
)
from .creation import (
    full_like_of as full_like_of,
)
from .creation import (
    linspace as linspace,
)
from .creation import (
    meshgrid as meshgrid,
)
from .creation import (
    ones as ones,
)
from .creation import (
    ones_like as ones_like,
)
from .creation import (
    zeros as zeros,
)
from .creation import (
    zeros_like as zeros_like,
)
from .elementwise import (
    abs as abs,
)
from .elementwise import (
    acos as acos,
)
from .elementwise import (
    acosh as acosh,
)
from .elementwise import (
    add as add,
)
from .elementwise import (
    asin as asin,
)
from .elementwise import (
    asinh as asinh,
)
from .elementwise import (
    atan as atan,
)
from .elementwise import (
    atan2 as atan2,
)
from .elementwise import (
    atanh as atanh,
)
from .elementwise import (
    ceil as ceil,
)
from .elementwise import (
    cos as cos,
)
from .elementwise import (
    cosh as cosh,
)
from .elementwise import (
    divide as divide,
)
from .elementwise import (
    erf as erf,
)
from .elementwise import (
    exp as exp,
)
from .elementwise import (
    expm1 as expm1,
)
from .elementwise import (
    floor as floor,
)
from .elementwise import (
    floor_divide as floor_divide,
)
from .elementwise import (
    fmax as fmax,
)
from .elementwise import (
    fmin as fmin,
)
from .elementwise import (
    hypot as hypot,
)
from .elementwise import (
    log as log,
)
from .elementwise import (
    log1p as log1p,
)
from .elementwise import (
    log2 as log2,
)
from .elementwise import (
    log10 as log10,
)
from .elementwise import (
    maximum as maximum,
)
from .elementwise import (
    minimum as minimum,
)
from .elementwise import (
    multiply as multiply,
)
from .elementwise import (
    neg as neg,
)
from .elementwise import (
    pow as pow,
)
from .elementwise import (
    reciprocal as reciprocal,
)
from .elementwise import (
    remainder as remainder,
)
from .elementwise import (
    round as round,
)
from .elementwise import (
    rsqrt as rsqrt,
)
from .elementwise import (
    sigmoid as sigmoid,
)
from .elementwise import (
    sign as sign,
)
from .elementwise import (
    sin as sin,
)
from .elementwise import (
    sinh as sinh,
)
from .elementwise import (
    sqrt as sqrt,
)
from .elementwise import (
    square as square,
)
from .elementwise import (
    subtract as subtract,
)
from .elementwise import (
    tan as tan,
)
from .elementwise import (
    tanh as tanh,
)
from .elementwise import (
    trunc as trunc,
)
from .indexing import (
    added_along_axis as added_along_axis,
)
from .indexing import (
    argsort as argsort,
)
from .indexing import (
    clip as clip,
)
from .indexing import (
    diagonal as diagonal,
)
from .indexing import (
    diagonal_spread as diagonal_spread,
)
from .indexing import (
    gather as gather,
)
from .indexing import (
    gather_nd as gather_nd,
)
from .indexing import (
    getitem as getitem,
)
from .indexing import (
    index_add as index_add,
)
from .indexing import (
    index_added as index_added,
)
from .indexing import (
    index_select as index_select,
)
from .indexing import (
    masked_fill as masked_fill,
)
from .indexing import (
    masked_select as masked_select,
)
from .indexing import (
    nonzero as nonzero,
)
from .indexing import (
    one_hot as one_hot,
)
from .indexing import (
    put_along_axis as put_along_axis,
)
from .indexing import (
    scatter as scatter,
)
from .indexing import (
    scatter_nd as scatter_nd,
)
from .indexing import (
    scatter_nd_add as scatter_nd_add,
)
from .indexing import (
    select as select,
)
from .indexing import (
    setitem as setitem,
)
from .indexing import (
    sort as sort,
)
from .indexing import (
    spread as spread,
)
from .indexing import (
    take_along_axis as take_along_axis,
)
from .indexing import (
    topk as topk,
)
from .indexing import (
    where as where,
)
from .linalg import (
    addmm as addmm,
)
from .linalg import (
    affine as affine,
)
from .linalg import (
    batched_matmul as batched_matmul,
)
from .linalg import (
    bmm as bmm,
)
from .linalg import (
    dot as dot,
)
from .linalg import (
    einsum as einsum,
)
from .linalg import (
    linear as linear,
)
from .linalg import (
    matmul as matmul,
)
from .linalg import (
    mm as mm,
)
from .linalg import (
    mv as mv,
)
from .linalg import (
    outer as outer,
)
from .logic import (
    allclose as allclose,
)
from .logic import (
    bitwise_and as bitwise_and,
)
from .logic import (
    bitwise_not as bitwise_not,
)
from .logic import (
    bitwise_or as bitwise_or,
)
from .logic import (
    bitwise_xor as bitwise_xor,
)
from .logic import (
    equal as equal,
)
from .logic import (
    equal_all as equal_all,
)
from .logic import (
    greater_equal as greater_equal,
)
from .logic import (
    greater_than as greater_than,
)
from .logic import (
    is_empty as is_empty,
)
from .logic import (
    isclose as isclose,
)
from .logic import (
    isfinite as isfinite,
)
from .logic import (
    isinf as isinf,
)
from .logic import (
    isnan as isnan,
)
from .logic import (
    less_equal as less_equal,
)
from .logic import (
    less_than as less_than,
)
from .logic import (
    logical_and as logical_and,
)
from .logic import (
    logical_not as logical_not,
)
from .logic import (
    logical_or as logical_or,
)
from .logic import (
    logical_xor as logical_xor,
)
from .logic import (
    not_equal as not_equal,
)
from .loss import (
    cross_entropy as cross_entropy,
)
from .loss import (
    l1_loss as l1_loss,
)
from .loss import (
    mean_cross_entropy as mean_cross_entropy,
)
from .loss import (
    mse_loss as mse_loss,
)
from .loss import (
    nll_loss as nll_loss,
)
from .normalization import (
    batch_norm as batch_norm,
)
from .normalization import (
    layer_norm as layer_norm,
)
from .normalization import (
    normalize_batch as normalize_batch,
)
from .normalization import (
    normalize_layer as normalize_layer,
)
from .pooling import (
    adaptive_avg_pool2d as adaptive_avg_pool2d,
)
from .pooling import (
    adaptive_pool as adaptive_pool,
)
from .pooling import (
    adaptive_unpool as adaptive_unpool,
)
from .pooling import (
    avg_pool as avg_pool,
)
from .pooling import (
    avg_pool2d as avg_pool2d,
)
from .pooling import (
    avg_unpool as avg_unpool,
)
from .pooling import (
    max_pool as max_pool,
)
from .pooling import (
    max_pool2d as max_pool2d,
)
from .pooling import (
    max_unpool as max_unpool,
)
from .random import (
    bernoulli as bernoulli,
)
from .random import (
    get_rng_state as get_rng_state,
)
from .random import (
    multinomial as multinomial,
)
from .random import (
    normal as normal,
)
from .random import (
    rand as rand,
)
from .random import (
    randint as randint,
)
from .random import (
    randn as randn,
)
from .random import (
    randperm as randperm,
)
from .random import (
    seed as seed,
)
from .random import (
    set_rng_state as set_rng_state,
)
from .random import (
    standard_normal as standard_normal,
)
from .random import (
    uniform as uniform,
)
from .reduction import (
    all as all,
)
from .reduction import (
    amax as amax,
)
from .reduction import (
    amin as amin,
)
from .reduction import (
    any as any,
)
from .reduction import (
    argmax as argmax,
)
from .reduction import (
    argmin as argmin,
)
from .reduction import (
    cumsum as cumsum,
)
from .reduction import (
    logsumexp as logsumexp,
)
from .reduction import (
    max as max,
)
from .reduction import (
    mean as mean,
)
from .reduction import (
    min as min,
)
from .reduction import (
    prod as prod,
)
from .reduction import (
    prod_along as prod_along,
)
from .reduction import (
    std as std,
)
from .reduction import (
    sum as sum,
)
from .reduction import (
    var as var,
)
from .regularization import (
    dropout as dropout,
)
from .regularization import (
    masked as masked,
)
from .shape import (
    assign as assign,
)
from .shape import (
    broadcast_to as broadcast_to,
)
from .shape import (
    cast as cast,
)
from .shape import (
    chunk as chunk,
)
from .shape import (
    concat as concat,
)
from .shape import (
    concatenate as concatenate,
)
from .shape import (
    copy_to as copy_to,
)
from .shape import (
    expand as expand,
)
from .shape import (
    expand_as as expand_as,
)
from .shape import (
    flatten as flatten,
)
from .shape import (
    flip as flip,
)
from .shape import (
    moveaxis as moveaxis,
)
from .shape import (
    pad_constant as pad_constant,
)
from .shape import (
    permute as permute,
)
from .shape import (
    reshape as reshape,
)
from .shape import (
    roll as roll,
)
from .shape import (
    split as split,
)
from .shape import (
    split_sizes as split_sizes,
)
from .shape import (
    squeeze as squeeze,
)
from .shape import (
    stack as stack,
)
from .shape import (
    swapaxes as swapaxes,
)
from .shape import (
    t as t,
)
from .shape import (
    tile as tile,
)
from .shape import (
    transpose as transpose,
)
from .shape import (
    tril as tril,
)
from .shape import (
    triu as triu,
)
from .shape import (
    unbind as unbind,
)
from .shape import (
    unsqueeze as unsqueeze,
)
