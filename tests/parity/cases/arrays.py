"""Reductions, statistics, search and sort, shape and index functions."""

from tools.parity.spec import array, call, given, reduction, spread, unary

X = array(2, 3)
WIDE = array(2, 3, 4)
INT = array(2, 3, dtype="int64", low=-5, high=5)
BOOL = array(2, 3, dtype="bool")
EMPTY = array(0, 3)
TIES = given([[3.0, 1, 3], [1, 3, 1]])
HOLES = given(
    [[1.0, float("nan"), 3.0], [float("nan"), float("nan"), float("nan")], [4.0, 2.0, float("nan")]]
)
ROW = given([0, 2, 1], "int64")
AXIS = given(1, "int64")

CASES = {
    **spread("sum prod", reduction(0.5, 2) + [call(X, dtype="float64"), call(INT, dtype="float32"), call(BOOL, dtype="int32"), call(X, AXIS), call(X, axis=None, dtype="int64")]),
    **spread("mean", reduction(also="float64 bfloat16 int64 complex64") + [call(X, AXIS)]),
    **spread("max min amax amin", reduction() + [call(TIES), call(TIES, axis=1), call(HOLES, axis=1), call(X, AXIS)]),
    **spread("all any", reduction(also="bool int32 float64")),
    **spread("logsumexp", reduction(also="float64 int64")),
    **spread("std var", reduction(also="float64 int64") + [call(X, 1, False), call(X, unbiased=False), call(X, correction=0), call(array(1)), call(X, 1, True, True)]),
    **spread("nansum nanmean", reduction(also="float64 bfloat16") + [call(HOLES), call(HOLES, 1), call(HOLES, 0, keepdim=True)]),
    **spread("count_nonzero", reduction()),
    **spread("median nanmedian", reduction(many=False, also="float64 int64") + [call(HOLES), call(HOLES, 1), call(array(4)), call(array(2, 4), 1, mode="min"), call(array(2, 4), axis=1, keepdim=True)]),
    **spread("quantile nanquantile", [call(X, 0.3), call(X, [0.2, 0.8], 1), call(X, 0.5, 0, True), call(HOLES, 0.5, 1), call(X, 1.5), *(call(X, 0.3, 1, interpolation=i) for i in ("lower", "higher", "nearest", "midpoint")), call(WIDE, 0.3, [0, 1]), call(array(2, 3, dtype="float64"), 0.25)]),
    **spread("argmax argmin", reduction(many=False, also="float64 int32 int64") + [call(TIES), call(TIES, 1), call(X, dtype="int32"), call(X, 1, dtype="float32"), call(X, AXIS)]),
    **spread("cumsum", [call(X), call(X, 1), call(X, -1), call(X, 5), call(INT, 0), call(array()), call(EMPTY, 0), call(X, dtype="float64"), call(BOOL, 1)]),
    **spread("cumprod", [call(X, 1), call(X, -1), call(INT, 0), call(X, 0, dtype="float64"), call(given([1.0, 0.0, 2.0, 0.0]), 0), call(X)]),
    **spread("cummax cummin", [call(X), call(X, 1), call(TIES, 0), call(INT, -1), call(X, 0, dtype="int32"), call(array())]),
    **spread("logcumsumexp", [call(X), call(X, 1), call(X, 0, dtype="float64"), call(INT, 0)]),
    **spread("diff", [call(X), call(X, 2), call(X, axis=0), call(X, prepend=array(2, 1)), call(X, 1, 1, array(2, 1), array(2, 2)), call(BOOL), call(INT), call(X, 0)]),
    **spread("trapezoid cumulative_trapezoid", [call(X), call(X, given([1.0, 2.0, 4.0])), call(X, dx=0.5), call(WIDE, axis=1), call(X, X)]),
    **spread("sort argsort", [call(X), call(X, 0), call(X, descending=True), call(TIES, 1, stable=True), call(TIES, 1, True, True), call(INT), call(array()), call(EMPTY), call(X, 5), call(HOLES, 1)]),
    **spread("msort", [call(X), call(INT)]),
    **spread("topk", [call(X, 2), call(X, 1, 0), call(X, 2, largest=False), call(X, 2, sorted=False).but(values=False), call(X, given(2, "int64")), call(INT, 2), call(X, 9), call(array(), 1), call(TIES, 1)]),
    **spread("kthvalue", [call(X, 2), call(X, 1, 0), call(X, 2, 1, True), call(X, 0), call(INT, 1)]),
    **spread("mode", [call(given([[1.0, 2, 2], [3, 3, 1]])), call(given([[1, 2, 2], [3, 3, 1]], "int64"), 0), call(TIES, -1, True)]),
    **spread("nonzero", [call(TIES), call(BOOL), call(BOOL, as_tuple=True), call(given([0.0, 0.0])), call(array()), call(EMPTY)]),
    **spread("argwhere", [call(BOOL), call(INT)]),
    **spread("searchsorted", [call(given([1.0, 3, 5]), X), call(given([[1.0, 3, 5], [2, 4, 6]]), X), call(given([1.0, 3, 5]), X, right=True), call(given([1, 3, 5], "int64"), INT), call(given([1.0, 3, 5]), X, out_int32=True)], "paddle"),
    **spread("bucketize", [call(X, given([-1.0, 0, 1])), call(X, given([-1.0, 0, 1]), True, True)]),
    **spread("unique", [call(INT), call(INT, True, True, True), call(INT, axis=0), call(given([2, 1, 2], "int32"), return_counts=True), call(TIES), call(EMPTY), call(INT, dtype="int32", return_inverse=True)]),
    **spread("unique_consecutive", [call(given([1, 1, 2, 2, 1], "int64")), call(given([1, 1, 2, 2, 1], "int64"), True, True), call(TIES, axis=1)]),
    **spread("histogram", [call(X), call(X, 4, -1, 1), call(INT, 3), call(X, 4, density=True), call(X, 4, weight=array(2, 3, low=0, high=1, grad=False)), call(X, 0), call(X, 4, 2, 1)]),
    **spread("histogram_bin_edges", [call(X, 4), call(X, 4, -1, 1)]),
    **spread("bincount", [call(given([0, 1, 1, 3], "int64")), call(given([0, 1], "int64"), minlength=4), call(given([0, 1, 1], "int64"), array(3, grad=False)), call(given([-1], "int64")), call(X)]),
    **spread("reshape", [call(X, [3, 2]), call(X, (-1,)), call(X, [-1, 1]), call(X, [0, -1]), call(X, given([3, 2], "int32")), call(X, [given(3, "int32"), 2]), call(X, [4, 2]), call(X, [-1, -1]), call(array(), [1]), call(EMPTY, [3, 0]), call(X, [])]),
    **spread("transpose", [call(X, [1, 0]), call(WIDE, [2, 0, 1]), call(WIDE, (-1, 0, 1)), call(X, [0, 0]), call(X, [0]), call(array(), [])]),
    **spread("squeeze unsqueeze", [call(array(1, 3, 1), 0), call(array(1, 3, 1), -1), call(array(1, 3, 1), [0, 2]), call(array(1, 3, 1), given(0, "int64")), call(array(1, 3, 1), 7), call(X, 1), call(array(), 0)]),
    **spread("flatten", [call(WIDE), call(WIDE, 1), call(WIDE, 0, 1), call(WIDE, -2), call(array()), call(WIDE, 2, 1)]),
    **spread("ravel", [call(WIDE), call(array())]),
    **spread("unflatten", [call(array(2, 6), 1, [2, 3]), call(array(2, 6), -1, (3, -1)), call(array(2, 6), 1, [4, 3])]),
    **spread("expand broadcast_to", [call(array(1, 3), [2, 3]), call(array(3), [2, -1]), call(array(), [2, 2]), call(X, [2, 4]), call(array(3), given([2, 3], "int64")), call(INT, [1, 2, 3])]),
    **spread("expand_as", [call(array(1, 3), X), call(array(4), X)]),
    **spread("tile", [call(X, [2, 1]), call(X, 2), call(X, (2, 1, 2)), call(X, given([1, 2], "int64")), call(array(), [3]), call(X, [0, 1])]),
    **spread("repeat_interleave", [call(X, 2), call(X, 2, 1), call(X, given([1, 0, 2], "int64"), 1), call(INT, 3, 0)]),
    **spread("concat", [call([X, X]), call([X, array(2, 2)], 1), call([X, X], -1), call((X, INT)), call([X, array(2, 2)]), call([X, X], given(1, "int64")), call([EMPTY, X]), call([X]), call([]), call([X, X], 5)], "paddle"),
    **spread("stack", [call([X, X]), call([X, X], 1), call([X, X], -1), call([array(), array()]), call([X, array(3)]), call([X, X], 5)], "paddle"),
    **spread("split", [call(array(6, 2), 3), call(array(6, 2), [1, 2, 3]), call(array(6, 2), [1, -1, 2]), call(X, 3, 1), call(X, 3, -1), call(array(5), 2), call(array(6, 2), [1, 2]), call(X, 2, AXIS)]),
    **spread("chunk", [call(array(6, 2), 3), call(array(4, 2), 2, 1), call(array(5), 2)]),
    **spread("tensor_split", [call(array(7), 3), call(array(7), [2, 5]), call(X, 2, 1)]),
    **spread("hsplit", [call(array(2, 4), 2), call(array(4), [1, 3])]), **spread("vsplit", [call(array(4, 2), 2)]), **spread("dsplit", [call(array(2, 2, 4), 2)]),
    **spread("unbind", [call(X), call(X, 1), call(array(2, 2, dtype="int64"), -1), call(X, 7)]), **spread("unstack", [call(X), call(X, 1), call(X, 1, 3), call(X, 1, 2)]),
    **spread("flip", [call(X, 0), call(X, [0, 1]), call(X, -1), call(X, 5), call(INT, [])]), **spread("rot90", [call(X), call(X, 2), call(X, -1, [1, 0]), call(WIDE, 1, [1, 2]), call(array(3))]),
    **spread("roll", [call(X, 1), call(X, [1, 2], [0, 1]), call(X, -1, 1), call(X, 1, 5), call(X, 2, -1)]),
    **spread("moveaxis", [call(WIDE, 0, 2), call(WIDE, [0, 1], [2, 0]), call(WIDE, -1, 0), call(WIDE, 0, 5)]),
    **spread("gather", [call(X, given([1, 0, 1], "int64")), call(X, given([2, 0], "int64"), 1), call(X, given([0], "int32"), -1), call(X, given(1, "int64")), call(X, given([0], "int64"), AXIS), call(X, given([5], "int64"))]),
    **spread("index_select", [call(X, given([1, 0, 1], "int64")), call(X, ROW, 1), call(X, ROW, -1), call(INT, given([1], "int32")), call(X, given([[0]], "int64"))]),
    **spread("index_sample", [call(X, given([[0, 2], [1, 1]], "int64"))]), **spread("take", [call(X, given([[0, 5], [2, -1]], "int64")), call(X, given([9], "int64")), call(X, given([9, -9], "int64"), mode="wrap"), call(X, given([9], "int64"), mode="clip")]),
    **spread("gather_nd", [call(X, given([[0, 1], [1, 2]], "int64")), call(X, given([[1], [0]], "int64")), call(WIDE, given([[[0, 1]]], "int64"))]),
    **spread("take_along_axis", [call(X, given([[0, 1, 0]], "int64"), 0), call(X, given([[0], [2]], "int64"), 1), call(X, given([[0], [2]], "int64"), 1, False), call(X, given([[0, 7]], "int64"), 1)]),
    **spread("put_along_axis", [call(X, given([[0], [2]], "int64"), given([[9.0], [8.0]]), 1), call(X, given([[0], [2]], "int64"), 5.0, 1), *(call(X, given([[0, 0], [2, 1]], "int64"), array(2, 2), 1, r) for r in ("add", "mul", "multiply", "amin", "amax", "mean")), call(X, given([[0]], "int64"), 5.0, 1, broadcast=False)]),
    **spread("scatter", [call(array(3, 2), given([1, 0], "int64"), array(2, 2)), call(array(3, 2), given([1, 1], "int64"), array(2, 2), overwrite=False), call(array(3), given([2], "int64"), array(1))]),
    **spread("scatter_nd_add", [call(X, given([[0, 1], [0, 1]], "int64"), array(2)), call(X, given([[1]], "int64"), array(1, 3))]), **spread("scatter_nd", [call(given([[1], [1]], "int64"), array(2), [3])]),
    **spread("index_add", [call(X, given([0, 2], "int64"), 1, array(2, 2)), call(X, given([1], "int64"), 0, array(1, 3))]), **spread("index_fill", [call(X, given([0, 2], "int64"), 1, 5.0), call(X, given([0], "int64"), 0, given(3.0))]),
    **spread("index_put", [call(X, (given([0, 1], "int64"), given([2, 0], "int64")), given([5.0, 6.0])), call(X, (given([0, 0], "int64"),), array(3), True), call(X, (BOOL,), given(7.0))]),
    **spread("masked_select", [call(X, BOOL), call(X, array(3, dtype="bool")), call(X, array(2, dtype="bool"))]), **spread("masked_fill", [call(X, BOOL, 5.0), call(X, array(3, dtype="bool"), given(2.0)), call(INT, BOOL, 7)]), **spread("masked_scatter", [call(X, BOOL, array(6)), call(X, array(3, dtype="bool"), array(6))]),
    **spread("where", [call(BOOL, X, X), call(BOOL, X, 0.0), call(BOOL, 1.0, X), call(BOOL), call(BOOL, X, array(3)), call(BOOL, X, INT), call(BOOL, X), call(X, X, X)], "paddle"),
    **spread("slice", [call(X, [0], [0], [1]), call(X, [0, 1], [0, -2], [1, 9]), call(WIDE, [2], [1], [3]), call(X, [1], [given(1, "int64")], [2])]), **spread("strided_slice", [call(X, [1], [0], [3], [2]), call(X, [1], [2], [-9], [-1])]),
    **spread("narrow", [call(X, 1, 0, 2), call(X, 0, -1, 1), call(X, 1, 2, 5)]), **spread("select_scatter", [call(X, array(2), 1, 0)]), **spread("slice_scatter", [call(X, array(2, 1), [1], [0], [1], [1])]), **spread("diagonal_scatter", [call(array(3, 3), array(3)), call(array(3, 3), array(2), 1)]),
    **spread("crop", [call(X, [1, 2], [1, 0]), call(X, [-1, 2])], "paddle"), **spread("diagonal", [call(X), call(WIDE, 1, 0, 2), call(X, -1), call(array(3))]), **spread("diag_embed", [call(X), call(X, 1), call(X, 0, 0, 2)]), **spread("diagflat", [call(array(3)), call(X, 1)]), **spread("tril triu", [call(X), call(array(3, 3), 1), call(array(3, 3), -1), call(WIDE), call(INT), call(array(3))]),
    **spread("reduce_as", [call(WIDE, array(3, 4)), call(X, array(2, 1))]), **spread("renorm", [call(X, 2.0, 0, 1.0), call(WIDE, 1.0, 1, 0.5)]), **spread("unfold", [call(array(6), 0, 3, 2).but(grad=False)]),  # Paddle's gradient leaves memory unwritten
    **spread("as_strided", [call(array(6), [2, 3], [3, 1]), call(array(6), [2, 2], [1, 2], 4)]), **spread("view", [call(X, [3, 2]), call(X, "int32"), call(X, [-1]), call(X, [4])]), **spread("view_as", [call(X, array(3, 2))]),
    **spread("atleast_1d atleast_2d atleast_3d", unary(also="int64") + [call(array(), X)]), **spread("shard_index", [call(given([[1], [6]], "int64"), 8, 2, 0), call(given([[1], [6]], "int64"), 8, 2, 5)]), **spread("vander", [call(array(3)), call(array(3), 2), call(given([1, 2], "int64"), 3, True)]), **spread("meshgrid", [call(array(2), array(3)), call([array(2), array(3)])], "paddle"),
    **spread("broadcast_tensors", [call([array(1, 3), array(2, 1)]), call([X, array(4)])], "paddle"), **spread("broadcast_shape", [call([2, 1], [3]), call([2, 4], [3])], "paddle"), **spread("multiplex", [call([X, X], given([[1], [0]], "int32"))], "paddle"), **spread("clip", [call(X, -1, 1), call(X, min=0), call(X, max=given(0.5)), call(INT, -2, 2), call(X, 1, -1), call(X)]), **spread("isin", [call(INT, given([1, 2, 3], "int64")), call(X, X), call(INT, given([1], "int64"), invert=True)]),
    **spread("allclose isclose equal_all", [call(X, X), call(X, array(3)), call(HOLES, HOLES)]), **spread("hstack vstack dstack column_stack row_stack", [call([array(2, 2), array(2, 2)]), call([array(3), array(3)]), call([array(), array()])], "paddle"), **spread("block_diag", [call([X, array(2)])], "paddle"), **spread("cartesian_prod", [call([array(2), array(3)])], "paddle"), **spread("combinations", [call(array(4)), call(array(3), 2, True)]),
}  # fmt: skip
