"""Calls about memory: settings that leave nothing to do, views, and programs that write into what they were given.

The values are compared as everywhere; `tools/parity/aliasing.py` also finds out which arrays share memory.
"""

from tools.parity.spec import array, call, given, program, spread

X = array(2, 3)
ONE = array(1, 3)
CUBE = array(2, 3, 4)
SQUARE = array(3, 3)
ZERO = array()
IMAGE = array(1, 2, 4, 4)
VOLUME = array(1, 2, 2, 2, 2)
SEQUENCE = array(1, 2, 4)
INT = array(2, 3, dtype="int64", low=-5, high=5)
BOOL = array(2, 3, dtype="bool")
COMPLEX = array(2, 3, dtype="complex64")
DOUBLE = array(2, 3, dtype="float64")
HALF = array(2, 3, dtype="bfloat16")
ROW = array(3)
FIRST = given([0, 2], "int64")


def method(text):
    """The text as a program of x and what else it is given (y, z)."""

    def run(P, x, y=None, z=None):
        names = {"P": P, "F": P.nn.functional, "x": x, "y": y, "z": z}
        lines = text.split("; ")
        for line in lines[:-1]:
            exec(line, names)
        return eval(lines[-1], names)

    return run


def passed_on(P, x):
    """A PyLayer whose forward returns its input."""

    class Same(P.autograd.PyLayer):
        @staticmethod
        def forward(ctx, a):
            return a

        @staticmethod
        def backward(ctx, g):
            return g

    return Same.apply(x * 1)


def programs(*texts, **calls):
    """Each text with x of several kinds."""
    return [program(method(text), *args, text=text) for text in texts for args in calls.get("on", ((X,),))]


def merged(*tables):
    """The calls of several tables, name by name."""
    found = {}
    for table in tables:
        for name, calls in table.items():
            found[name] = [*found.get(name, []), *calls]
    return found


LIKE = [call(kind) for kind in (X, ZERO, INT, BOOL, COMPLEX, DOUBLE, HALF)]
SAME = [
    call(X, "float32"), call(INT, "int64"), call(BOOL, "bool"), call(COMPLEX, "complex64"), call(X, "float64"),
    call(ZERO, "float32"),
]  # fmt: skip
RESHAPED = [
    call(X, [2, 3]),
    call(X, [-1]),
    call(X, [1, 2, 1, 3]),
    call(ZERO, [1]),
    call(ZERO, []),
    call(array(1), []),
    call(INT, [3, 2]),
    call(array(1), [1, 1]),
]

IDENTITY = merged(
    spread("cast", SAME), spread("astype", [*SAME, call(X, "int64")], "Tensor"), spread("cast_", SAME),
    spread("clone positive assign asarray as_tensor to_tensor", LIKE),
    spread("detach detach_ contiguous cpu value requires_grad_ clone pin_memory T float32 float64 float double int64 long bool half bfloat16 complex64 cfloat is_contiguous", LIKE, "Tensor"),
    spread("T mT", [call(X), call(CUBE), call(ROW)], "Tensor"),
    spread("to", [call(X, "float32"), call(X, "cpu"), call(X, "float64"), call(INT, "int64"), call(X, X), call(X, DOUBLE), call(X, "cpu", "float32")], "Tensor"),
    spread("type_as", [call(X, X), call(X, DOUBLE)], "Tensor"),
    spread("tile", [call(X, [1, 1]), call(X, 1), call(X, [1]), call(X, []), call(X, [1, 1, 1]), call(ZERO, []), call(ZERO, [1])]),
    spread("repeat_interleave", [call(X, 1), call(X, 1, 0), call(ROW, 1), call(ZERO, 1), call(X, given([1, 1, 1], "int64"), 1)]),
    spread("expand broadcast_to", [call(X, [2, 3]), call(X, [1, 2, 3]), call(X, [-1, -1]), call(ZERO, []), call(ZERO, [1]), call(ONE, [1, 3])]),
    spread("expand_as", [call(X, X), call(ONE, X), call(ZERO, X)]),
    spread("broadcast_tensors", [call([X, X]), call([X]), call([ONE, array(2, 1), ZERO])], "paddle"),
    spread("meshgrid", [call(array(1), array(1)), call(ROW), call([ROW, ROW, array(1)])], "paddle"),
    spread("split chunk", [call(X, 1), call(X, 2), call(X, 3, 1), call(CUBE, 2, -1)]),
    spread("split", [call(X, [2]), call(X, [1, 1]), call(X, [1, -1], 1)]),
    spread("tensor_split", [call(X, 1), call(X, 2), call(X, [1], 1), call(X, [0, 2], 1)]),
    spread("hsplit", [call(X, 1), call(X, 3), call(ROW, 3), call(X, [1])]), spread("vsplit", [call(X, 1), call(X, 2), call(X, [1])]), spread("dsplit", [call(CUBE, 1), call(CUBE, [1, 3])]),
    spread("unstack", [call(ONE), call(ROW), call(CUBE, 1)]), spread("unbind", [call(ONE), call(ROW), call(CUBE, 1), call(CUBE, -1)]),
    spread("crop", [call(X), call(X, [2, 3]), call(X, [2, 3], [0, 0]), call(X, [1, 3], [1, 0]), call(X, [-1, -1])], "paddle"),
    spread("slice", [call(X, [0], [0], [2]), call(X, [0, 1], [0, 0], [9, 9])]),
    spread("strided_slice", [call(X, [0], [0], [2], [1]), call(X, [1], [0], [3], [2]), call(X, [0], [1], [-9], [-1])]),
    spread("narrow", [call(X, 0, 0, 2), call(X, 1, 1, 1)]),
    spread("diag", [call(ROW), call(SQUARE), call(SQUARE, 1), call(ROW, 1), call(ROW, 0, 2.0), call(SQUARE, 0, 2.0), call(array(1))]),
    spread("diagonal", [call(SQUARE), call(SQUARE, 1), call(CUBE, 0, 1, 2)]), spread("diag_embed diagflat", [call(array(1)), call(ROW)]),
    spread("einsum", [call("ij->ij", X), call("ij->ji", X), call("ij", X), call("ji", X), call("ii->i", SQUARE), call("i->i", ROW), call("ij->", X), call("ij->i", array(2, 1)), call("...", X), call("...ij->...ji", CUBE), call("ij,->ij", X, ZERO), call("ij,jk->ik", X, SQUARE), call("i,j->ij", ROW, array(1)), call("ijk->kij", CUBE)], "paddle"),
    spread("clip", [call(X), call(X, None, None), call(X, -9, 9)]), spread("clamp", [call(X, -9.0, 9.0)]), spread("clip_ clamp_", [call(X, -1, 1), call(X)]),
    spread("reshape reshape_", RESHAPED), spread("view", [c for c in RESHAPED if c.args[0] is not ZERO]), spread("view", [call(X, "float32"), call(X, "int32"), call(X, "uint8"), call(DOUBLE, "float32"), call(INT, "int64")]),
    spread("view_as", [call(X, X), call(X, array(6))]),
    spread("flatten", [call(ZERO)]), spread("flatten flatten_", [call(X), call(X, 0, 0), call(ROW), call(CUBE, 1, 2), call(CUBE, 1, 1)]), spread("ravel", [call(X), call(ROW), call(ZERO)]), spread("unflatten", [call(X, 0, [2]), call(X, 1, [3, 1]), call(X, 0, [1, 2])]),
    spread("squeeze squeeze_", [call(X), call(ONE), call(ONE, 0), call(ONE, 1), call(ZERO), call(array(1))]), spread("unsqueeze unsqueeze_", [call(X, 0), call(X, -1), call(ZERO, 0), call(X, [0, 2])]),
    spread("transpose transpose_ permute", [call(X, [0, 1]), call(X, [1, 0]), call(CUBE, [2, 0, 1]), call(ROW, [0]), call(ZERO, [])]), spread("permute", [call(X, 1, 0)], "paddle Tensor"),
    spread("t t_", [call(X), call(ROW), call(ZERO)]), spread("matrix_transpose", [call(X), call(CUBE)], "paddle Tensor paddle.linalg"),
    spread("swapaxes swapdims", [call(X, 0, 1), call(X, 0, 0), call(CUBE, 1, -1)]), spread("moveaxis", [call(X, 0, 0), call(X, 0, 1), call(CUBE, [0, 1], [1, 0])]),
    spread("flip reverse", [call(X, [0]), call(X, []), call(array(1), 0), call(X, [0, 1])]), spread("rot90", [call(X, 0), call(X, 4), call(X, 1), call(X, 2), call(X, 3), call(X, -4)]), spread("roll", [call(X, 0), call(X, 0, 0), call(X, 3, 1), call(array(1), 1)]),
    spread("atleast_1d atleast_2d atleast_3d", [call(ZERO), call(ROW), call(X), call(CUBE), call(X, ROW)]),
    spread("as_strided", [call(X, [2, 3], [3, 1]), call(X, [3, 2], [1, 3]), call(array(4), [3, 2], [1, 1]).but(grad=False), call(array(3), [3, 2], [1, 0]).but(grad=False), call(X, [3], [1], 12)]), spread("unfold", [call(array(5), 0, 2, 1).but(grad=False), call(array(6), 0, 2, 2).but(grad=False)], "Tensor paddle"),
    spread("real", LIKE), spread("imag", [call(COMPLEX)]), spread("as_real view_as_real", [call(COMPLEX)]), spread("as_complex view_as_complex", [call(array(3, 2))]), spread("conj", LIKE), spread("complex", [call(X, X)], "paddle"),
    spread("concat cat concatenate stack hstack vstack dstack column_stack row_stack", [call([X]), call([ROW]), call([X, X])], "paddle"), spread("block_diag", [call([X]), call([X, ROW])], "paddle"),
    spread("gather index_select", [call(X, given([0, 1], "int64"))]), spread("gather_nd", [call(X, given([[0], [1]], "int64"))]), spread("take", [call(X, given([[0, 1, 2], [3, 4, 5]], "int64"))]),
    spread("masked_select", [call(X, given([[True] * 3] * 2, "bool"))]), spread("masked_fill", [call(X, given([[False] * 3] * 2, "bool"), 1.0)]), spread("where", [call(BOOL, X, X)]),
    spread("cumsum", [call(array(1)), call(ZERO), call(array(1, 3), 0)]), spread("cumprod", [call(array(1, 3), 0)]),
    spread("sum mean max min amax amin prod logsumexp nansum nanmean median nanmedian", [call(ZERO), call(array(1)), call(array(1, 3), 0), call(X, []), call(array(1, 3), 0, keepdim=True)]), spread("norm", [call(ZERO), call(array(1), 1)], "Tensor paddle.linalg"),
    spread("add subtract", [call(X, 0), call(X, ZERO)]), spread("multiply divide pow", [call(X, 1), call(X, ZERO)]), spread("scale", [call(X), call(X, 1.0, 0.0)]), spread("add_n", [call([X]), call(X), call([X, X])]),
    spread("abs floor ceil round trunc sign", [call(given([[1.0, 2.0]])), call(INT)]), spread("nan_to_num", [call(X)]), spread("tril triu", [call(ONE, 5), call(X, 5), call(X, -5)]), spread("kron outer dot inner matmul mm", [call(ROW, array(3)), call(SQUARE, array(3, 3))]), spread("bmm", [call(CUBE, array(2, 4, 1))]),
    spread("sort", [call(array(1)), call(ZERO), call(given([1.0, 2.0]))]), spread("unique", [call(given([1.0, 2.0]))]), spread("topk", [call(array(1), 1)]), spread("multiplex", [call([X, X], given([[0], [1]], "int32"))], "paddle"), spread("reduce_as", [call(X, X), call(X, ZERO)]), spread("renorm", [call(X, 2.0, 0, 99.0)]), spread("diff", [call(X, 0)]), spread("combinations", [call(ROW, 1)]), spread("cartesian_prod", [call([ROW])], "paddle"), spread("shard_index", [call(given([[1]], "int64"), 8, 1, 0)]), spread("vander", [call(ROW, 1)]), spread("trace", [call(array(1, 1))]), spread("tensordot", [call(X, ZERO, 0)]), spread("tolist numel", [call(X)]), spread("increment", [call(array(1)).but(grad=False), call(array(1), 0.0).but(grad=False)]),
    spread("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout", [call(X, training=False), call(X, 0.0), call(X, p=0.5, training=False), call(IMAGE, 0.3, training=False), call(SEQUENCE, 0.0, training=True), call(VOLUME, 0.0, training=False)]), spread("dropout", [call(X, 0.5, training=False, mode="downscale_in_infer"), call(X, 0.0, mode="downscale_in_infer"), call(X, 0.5, 0, training=False)], "paddle.nn.functional"), spread("rrelu", [call(X, training=False)], "paddle.nn.functional"), spread("relu relu6 sigmoid softmax log_softmax gelu silu elu celu selu leaky_relu hardtanh softplus mish swish", [call(array(2, 3, low=0.1, high=0.9))], "paddle.nn.functional"), spread("normalize", [call(X)], "paddle.nn.functional"), spread("label_smooth", [call(array(2, 3, low=0, high=1), epsilon=0.0)], "paddle.nn.functional"),
    spread("pad", [call(X, [0, 0, 0, 0]), call(IMAGE, [0, 0, 0, 0]), call(IMAGE, [0, 0, 0, 0], mode="reflect"), call(IMAGE, [0, 0, 0, 0], mode="replicate"), call(IMAGE, [0, 0, 0, 0], mode="circular"), call(X, [0, 0]), call(SEQUENCE, [0, 0])], "paddle.nn.functional"), spread("zeropad2d", [call(IMAGE, [0, 0, 0, 0])], "paddle.nn.functional"),
    spread("interpolate upsample", [call(IMAGE, [4, 4]), call(IMAGE, [4, 4], mode="bilinear"), call(IMAGE, scale_factor=1), call(IMAGE, [4, 4], mode="area"), call(IMAGE, [4, 4], mode="bicubic")], "paddle.nn.functional"), spread("pixel_shuffle pixel_unshuffle channel_shuffle", [call(IMAGE, 1)], "paddle.nn.functional"), spread("temporal_shift", [call(array(2, 4, 1, 1), 2, 0.25)], "paddle.nn.functional"), spread("maxout", [call(IMAGE, 2)], "paddle.nn.functional"), spread("glu", [call(array(2, 4))], "paddle.nn.functional"), spread("gumbel_softmax", [call(X).but(values=False)], "paddle.nn.functional"),
    spread("avg_pool2d max_pool2d", [call(IMAGE, 1)], "paddle.nn.functional"), spread("avg_pool1d max_pool1d", [call(SEQUENCE, 1)], "paddle.nn.functional"), spread("adaptive_avg_pool2d adaptive_max_pool2d", [call(IMAGE, 4), call(IMAGE, [None, None])], "paddle.nn.functional"), spread("adaptive_avg_pool1d adaptive_max_pool1d", [call(SEQUENCE, 4)], "paddle.nn.functional"), spread("unfold", [call(IMAGE, 1)], "paddle.nn.functional"), spread("fold", [call(array(1, 2, 16), [4, 4], 1)], "paddle.nn.functional"),
    spread("linear", [call(X, SQUARE), call(X, SQUARE, ROW)], "paddle.nn.functional"), spread("embedding", [call(FIRST, SQUARE)], "paddle.nn.functional"), spread("one_hot", [call(FIRST, 3)], "paddle.nn.functional"), spread("mse_loss l1_loss smooth_l1_loss", [call(X, array(2, 3), reduction="none")], "paddle.nn.functional"), spread("square_error_cost", [call(X, array(2, 3))], "paddle.nn.functional"), spread("layer_norm", [call(X, [3])], "paddle.nn.functional"), spread("batch_norm", [call(X, ROW, array(3, low=1, high=2))], "paddle.nn.functional"), spread("sequence_mask", [call(FIRST, 3)], "paddle.nn.functional"), spread("gather_tree", [call(array(2, 1, 2, dtype="int64", low=0, high=2), array(2, 1, 2, dtype="int64", low=0, high=2))], "paddle.nn.functional"), spread("swiglu", [call(X, array(2, 3)), call(array(2, 4))], "paddle.nn.functional"), spread("relu_ softmax_ elu_ leaky_relu_ hardtanh_ thresholded_relu_ tanh_", [call(X)], "paddle.nn.functional"),
    spread("fftshift ifftshift", [call(array(1)), call(X)], "paddle.fft"), spread("fft ifft", [call(array(1, dtype="complex64"))], "paddle.fft"), spread("frame overlap_add", [call(array(6), 2, 2)], "paddle.signal"),
    spread("multi_dot", [call([X, SQUARE])], "paddle.linalg"), spread("matrix_power", [call(SQUARE, 1), call(SQUARE, 0)], "paddle.linalg Tensor"), spread("vecdot", [call(ROW, array(3))], "paddle.linalg"), spread("cond inv", [call(SQUARE)], "paddle.linalg"), spread("cov corrcoef", [call(array(1, 3))], "paddle.linalg"),
    spread("softmax", [call(X)], "paddle Tensor"), spread("scatter_add", [call(X, 1, given([[0], [1]], "int64"), array(2, 1))]), spread("scatter_reduce", [call(X, 1, given([[0], [1]], "int64"), array(2, 1), "sum")]), spread("take_along_dim", [call(X, given([[0], [1]], "int64"), 1)]), spread("ger", [call(ROW, ROW)], "paddle"), spread("pdist", [call(X)], "paddle"),
    spread("new_empty", [call(X, [2]).but(values=False)], "Tensor"), spread("new_zeros new_ones", [call(X, [2])], "Tensor"), spread("new_full", [call(X, [2], 1.0)], "Tensor"), spread("zeros_like ones_like", [call(X)], "paddle"), spread("full_like", [call(X, 1.0)], "paddle"),
    spread("addmm_ baddbmm_", [call(SQUARE, SQUARE, array(3, 3)), call(array(2, 3, 3), array(2, 3, 3), array(2, 3, 3))]), spread("cumprod_", [call(X, 1)]), spread("cumsum_", [call(X, 1)]), spread("fill_", [call(X, 2)], "Tensor"), spread("zero_", [call(X)], "Tensor"), spread("fill_diagonal_", [call(SQUARE, 2.0)], "Tensor"), spread("fill_diagonal_tensor fill_diagonal_tensor_", [call(SQUARE, array(3)).but(grad=False)], "Tensor"), spread("index_add_", [call(X, FIRST, 1, array(2, 2))]), spread("index_fill_", [call(X, FIRST, 1, 2.0)]), spread("index_put_", [call(X, (given([0], "int64"),), ROW)]), spread("masked_fill_", [call(X, BOOL, 2.0)]), spread("masked_scatter_", [call(X, BOOL, array(6))]), spread("pow_", [call(X, 2)]), spread("renorm_", [call(X, 2.0, 0, 1.0)]), spread("scatter_", [call(X, given([1], "int64"), ONE)]), spread("scatter_add_", [call(X, 1, given([[0], [1]], "int64"), array(2, 1))]), spread("tril_ triu_", [call(X)]), spread("where_", [call(BOOL, X, X)], "paddle"), spread("put_along_axis_", [call(X, given([[0], [1]], "int64"), 2.0, 1)], "Tensor"), spread("copy_", [call(X, array(2, 3), True)], "Tensor"), spread("set_", [call(X, array(2, 2))], "Tensor"), spread("resize_", [call(X, [2, 2])], "Tensor"),
    spread("numpy tolist item", [call(array(1)), call(X)], "Tensor"), spread("numpy", [call(COMPLEX), call(HALF), call(BOOL)], "Tensor"),
    spread("__array__", [call(X), call(X, "float64"), call(X, "float32")], "Tensor"),
)  # fmt: skip


PROGRAMS = {
    "Tensor.__getitem__": programs(
        "x[...]", "x[:]", "x[0]", "x[0, 1]", "x[None]", "x[:, ::-1]", "x[::-1]", "x[::-1, ::-1]", "x[:, ::2]", "x[:, 0:0]", "x[1, ::-1]",
        "x[[0, 1]]", "x[P.to_tensor([0, 1])]", "x[P.to_tensor(0)]", "x[x > -9]", "x[P.to_tensor([True, True])]", "x[0:1, [0, 1]]", "x[:, None]", "x[True]", "x[-1:]", "list(x)", "list(x[0])",
        "[v for v in x]", "x[..., -2:]", "x[(0, slice(None))]", "x[:, P.to_tensor(1):]", "x[0][1]", "x[None, ..., None]",
    ) + programs("x[...]", "x[()]", "x[None]", on=((ZERO,),)),
    "Tensor.reshape": programs(
        *(f"x.T.{v}" for v in ("reshape([-1])", "flatten()", "unsqueeze(0)", "reshape([1, 3, 2])", "contiguous()", "reshape([3, 2])", "squeeze()")),
        *(f"x[:, 1:].{v}" for v in ("reshape([-1])", "flatten()", "reshape([2, 1, 2])", "reshape([2, 2])", "contiguous()", "detach()", "clone()", "unsqueeze(1)", "astype('float32')", "T")),
        "x[1].reshape([3, 1])", "x[:, 0].reshape([2, 1])", "x[:1].reshape([3])", "x.T.T.reshape([-1])", "x.expand([2, 3]).reshape([-1])", "x.T.view([3, 2])", "x[:, ::-1].flatten()", "x[:, ::-1].clone()", "x[:, ::-1] + 0",
        "y = x.T; y.unbind(0)", "y = x[:, 1:]; P.split(y, 2)", "y = x[:, ::2]; y.unbind(1)", "x[0].diagonal() if x.ndim > 2 else x.diagonal()", "P.moveaxis(x[1:], 0, 1)", "P.squeeze(x[:1])", "x.T[0]", "x.T[0][1:]",
    ),
    "Tensor.__setitem__": programs(
        "y = x.expand([2, 3]); y[0, 0] = 9.; [x, y]", "y = x.T; y[0] = 9.; [x, y]", "y = x[0]; y[1] = 9.; [x, y]", "y = x[:, ::-1]; y[0, 0] = 9.; [x, y]", "y = P.tile(x, [1, 1]); y[0] = 9.; [x, y]",
        "m = P.full([1], 0.).expand([3]); m[1] = -1e9; m", "z = P.zeros([2, 1]).expand([2, 3]); z[:, 0] = P.to_tensor([1., 2.]); z", "y = x.reshape([-1]); y[0] = 9.; [x, y]", "a, b = P.split(x, 2); a[0] = 9.; [x, a, b]", "a, b = P.unbind(x); a[0] = 9.; [x, a, b]",
        "y = x.detach(); y[0] = 9.; [x, y]", "y = x.diagonal(); y[0] = 9.; [x, y]", "y = x.unsqueeze(0); y[0, 0, 0] = 9.; [x, y]", "y = P.Tensor(x); y[0] = 9.; [x, y]", "y = P.rot90(x, 0); y[0] = 9.; [x, y]", "y = x[0:1].reshape([3]); y[0] = 9.; [x, y]",
        "y = P.einsum('ij->ji', x); y[0] = 9.; [x, y]", "y = x.numpy(); y[0] = 9.; [x, y]", "import numpy as np; y = np.asarray(x); z = P.to_tensor(y); z[0] = 9.; [x, y, z]", "import numpy as np; y = np.array([1., 2.]); z = P.to_tensor(y); z[0] = 9.; [y, z]",
        "x[0] = x[1]; x", "x[:, 0] = x[:, 1]; x", "x[0:2] = x[::-1]; x", "x[:, ::-1] = x; x",
        on=((array(2, 3, grad=False),),),
    ),
    "Tensor.add_": programs(
        "h = x * 2; y = F.dropout(h, 0.5, training=False); y[0] = 0.; [h, y]", "h = x * 2; y = F.dropout(h, 0.0); y.add_(P.ones([3])); [h, y]", "h = x * 2; y = h.expand([2, 3]); y.add_(P.ones([2, 3])); [h, y]", "h = x * 2; a, b = P.split(h, 2); a.add_(P.ones([3])); [h, a, b]",
        "h = x * 2; y = h.cast('float32'); y.multiply_(P.full([2, 3], 3.)); [h, y]", "h = x * 2; y = P.tile(h, [1, 1]); y.multiply_(P.full([2, 3], 3.)); [h, y]", "h = x * 2; y = P.einsum('ij->ji', h); y.add_(P.ones([3, 2])); [h, y]", "h = x * 2; y = P.broadcast_to(h, [2, 3]); y.zero_(); [h, y]",
        "h = x * 2; a, b = P.unstack(h); a.add_(P.ones([3])); [h, a, b]", "h = x * 2; y = P.crop(h, [2, 3]); y.add_(P.ones([3])); [h, y]", "h = x * 2; y = P.diag(h[:, :2]); y.add_(P.ones([2])); [h, y]", "h = x * 2; a, b = P.meshgrid(h[0], h[1]); a.add_(P.ones([3, 3])); [h, a, b]", "h = x * 2; y = F.pad(h, [0, 0, 0, 0]); y.add_(P.ones([3])); [h, y]", "h = x * 2; y = P.nn.Dropout(0.5); y.eval(); z = y(h); z.add_(P.ones([3])); [h, z]",
    ),
    "paddle.Tensor": programs("P.Tensor(x)", "P.Tensor(x.numpy())", "import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.Tensor(y)]", on=((array(2, 3, grad=False),),)),
    "paddle.to_tensor": programs("P.to_tensor(x)", "P.to_tensor(x, dtype='float32')", "import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.to_tensor(y)]", "P.to_tensor([x, x])", "P.to_tensor(x.detach())", on=((array(2, 3, grad=False),),)),
    "paddle.assign": programs("P.assign(x)", "y = P.zeros([2, 3]); P.assign(x, y); [x, y]", "import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.assign(y)]", on=((array(2, 3, grad=False),),)),
    "paddle.from_numpy": programs("import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.from_numpy(y)]", "import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.asarray(y)]", "import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.as_tensor(y)]"),
    "paddle.from_dlpack": programs("P.from_dlpack(P.to_dlpack(x))", "P.utils.dlpack.from_dlpack(P.utils.dlpack.to_dlpack(x))", on=((array(2, 3, grad=False),),)),
    "paddle.create_parameter": programs("P.create_parameter([2, 3], 'float32', default_initializer=P.nn.initializer.Assign(x))", "import numpy as np; y = np.ones([2, 3], 'float32'); [y, P.create_parameter([2, 3], 'float32', default_initializer=P.nn.initializer.Assign(y))]", on=((array(2, 3, grad=False),),)),
    "paddle.nn.Parameter": programs("P.nn.Parameter(x)", on=((array(2, 3, grad=False),),)),
    "Tensor.set_value": programs("y = P.zeros([2, 3]); y.set_value(x); [x, y]", "import numpy as np; n = np.ones([2, 3], 'float32'); x.set_value(n); [x, n]", "y = x.detach(); y.set_value(P.ones([2, 3])); [x, y]", on=((array(2, 3, grad=False),),)),
    "Tensor.set_": programs("x.set_(y); [x, y]", on=((array(2, 3, grad=False), array(2, 3, grad=False)),)),
    "Tensor.copy_": programs("x.copy_(y, True); [x, y]", on=((array(2, 3, grad=False), array(2, 3, grad=False)),)),
    "Tensor.grad": programs("(x * x).sum().backward(); [x.grad, x.grad]", "(x * x).sum().backward(); g = x.grad; (x * x).sum().backward(); [g, x.grad]", "(x * x).sum().backward(); g = x.grad.numpy(); (x * x).sum().backward(); [g, x.grad]", "(x * 1).sum().backward(); [x, x.grad]", "y = x + 0; y.retain_grads(); y.sum().backward(); [x.grad, y.grad]",
        "y = x + x; y.retain_grads(); w = P.ones([2, 3]); P.autograd.backward([y], [w]); [w, y.grad, x.grad]", "y = x.reshape([-1]); y.retain_grads(); y.sum().backward(); [x.grad, y.grad]", "w = P.ones([2, 3]); P.autograd.backward([x + 0], [w]); [w, x.grad]", "(x * x).sum().backward(); g = x.grad; x.clear_gradient(); [g, x.grad]", "(x * x).sum().backward(); g = x.gradient(); [g, x.grad]", "g, = P.grad((x * 1).sum(), x); [x, g]", "y = x.detach() * 2; y.stop_gradient = False; P.grad([x + y], [x, y])", "y = x * 2; g = []; y.register_hook(lambda v: g.append(v)); (y + 0).sum().backward(); [g, x.grad]", "w = P.ones([2, 3]); g, = P.grad([x.reshape([-1])], [x], [w.reshape([-1])]); [w, g]", "g = P.grad([x + 0], [x])[0]; x.grad = g; [g, x.grad]", "g, = P.grad([x * x], [x], [P.ones([2, 3])], create_graph=True); [x, g]",
        "a, b = P.split(x, 2); (a * 2 + b).sum().backward(); x.grad", "w = P.ones([2, 3]); g, = P.grad([x + 0], [x], [w]); [w, g]", "w = P.ones([2, 3]); w.stop_gradient = False; y = x + w; y.sum().backward(); [x.grad, w.grad]"),
    "Layer.state_dict": programs("l = P.nn.Linear(3, 2); s = l.state_dict(); [l.weight, l.bias, s]", "l = P.nn.BatchNorm1D(3); s = l.state_dict(); [l.weight, l._mean, s['_mean'], s['_variance'], l._variance]", "l = P.nn.Linear(3, 2); m = P.nn.Linear(3, 2); m.set_state_dict(l.state_dict()); [l.weight, m.weight]", "l = P.nn.Linear(3, 2); n = {k: v.numpy() for k, v in l.state_dict().items()}; [l.weight, n]", "import numpy as np; l = P.nn.Linear(3, 2); n = {'weight': np.ones([3, 2], 'float32'), 'bias': np.ones([2], 'float32')}; l.set_state_dict(n); [l.weight, l.bias, n]"),
    "Layer.to": programs("l = P.nn.Linear(3, 2); w = l.weight; l.to(dtype='float32'); [w, l.weight]", "l = P.nn.Linear(3, 2); w = l.weight; l.to(dtype='float64'); [w, l.weight]", "l = P.nn.Linear(3, 2); w = l.weight; l.float(); [w, l.weight]"),
    "Layer.register_buffer": programs("l = P.nn.Layer(); l.register_buffer('b', x); [x, l.b]", on=((array(2, 3, grad=False),),)),
    "Layer.parameters": programs("l = P.nn.Linear(3, 2); [l.weight, l.parameters()]"),
    "paddle.nn.utils.parameters_to_vector": programs("l = P.nn.Linear(3, 2); v = P.nn.utils.parameters_to_vector(l.parameters()); [l.weight, l.bias, v]", "l = P.nn.Linear(3, 2); P.nn.utils.parameters_to_vector([l.weight])"),
    "paddle.nn.utils.vector_to_parameters": programs("l = P.nn.Linear(3, 2); v = P.ones([8]); P.nn.utils.vector_to_parameters(v, l.parameters()); [l.weight, l.bias, v]"),
    "Optimizer.state_dict": programs("l = P.nn.Linear(3, 2); o = P.optimizer.Momentum(0.1, parameters=l.parameters()); l(x).sum().backward(); o.step(); s = [v.numpy() for k, v in sorted(o.state_dict().items()) if isinstance(v, P.Tensor)]; l(x).sum().backward(); o.step(); t = [v.numpy() for k, v in sorted(o.state_dict().items()) if isinstance(v, P.Tensor)]; [bool((a != b).any()) for a, b in zip(s, t)]"),
    "paddle.save": programs("import io; b = io.BytesIO(); P.save({'x': x}, b); b.seek(0); y = P.load(b); [x, y['x']]", on=((array(2, 3, grad=False),),)),
    "paddle.autograd.PyLayer": [program(passed_on, X)],
    **{
        f"paddle.nn.{name}": [call(*settings).on(inputs)]
        for name, settings, inputs in (
            ("Identity", (), X), ("Dropout", (0.0,), X), ("Dropout2D", (0.0,), IMAGE), ("Dropout3D", (0.0,), VOLUME), ("AlphaDropout", (0.0,), X), ("FeatureAlphaDropout", (0.0,), IMAGE), ("Flatten", (), CUBE), ("Unflatten", (1, [3]), X),
            ("Upsample", ([4, 4],), IMAGE), ("ZeroPad2D", (0,), IMAGE), ("Pad1D", (0,), SEQUENCE), ("Pad2D", (0,), IMAGE), ("Pad3D", (0,), VOLUME), ("ConstantPad1D", (0,), SEQUENCE), ("PixelShuffle", (1,), IMAGE), ("PixelUnshuffle", (1,), IMAGE), ("ChannelShuffle", (1,), IMAGE), ("Linear", (3, 2), X), ("ReLU", (), X), ("Softmax", (), X), ("RReLU", (), X), ("Sequential", (), X), ("MaxPool2D", (1,), IMAGE), ("AvgPool2D", (1,), IMAGE), ("AdaptiveAvgPool2D", (4,), IMAGE),
        )
    },
}  # fmt: skip
LATER = {
    "paddle.nn.RReLU": programs("l = P.nn.RReLU(); l.eval(); l(x)"),
    "paddle.nn.Dropout": programs("l = P.nn.Dropout(0.5); l.eval(); l(x)", "l = P.nn.Dropout(0.5, mode='downscale_in_infer'); l.eval(); l(x)"),
}  # fmt: skip

CASES = merged(IDENTITY, PROGRAMS, LATER)
