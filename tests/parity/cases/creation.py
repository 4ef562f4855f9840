"""Tensors from nothing, from values, from smaller ones, and at random."""

from tools.parity.spec import array, call, given, made, spread

SHAPES = [call([2, 3]), call((2,)), call([]), call([0, 3]), call(given([2, 3], "int64")), call(3), call([-1])]


def typed(*kinds: str):  # type: ignore[no-untyped-def]
    return [call([2, 3], kind) for kind in kinds]


def quiet(calls):  # type: ignore[no-untyped-def]
    """Random or uninitialised: shapes and dtypes only."""
    return [c.but(values=False, grad=False) for c in calls]


LIKE = [call(array(2, 3)), call(array(2, dtype="int64")), call(array(), dtype="float64"), call(array(0, 2))]
P_ONE = made(lambda P: P.to_tensor(2), "2")

CASES = {
    **spread("zeros ones", SHAPES + typed("int64", "bool", "complex64", "float16", "int32")),
    **spread("empty", quiet(SHAPES + typed("int64", "bool"))),
    **spread("zeros_like ones_like", LIKE),
    **spread("empty_like", quiet(LIKE)),
    **spread(
        "full",
        [
            call([2], 3), call([2], 1.5, "float64"), call([2], True), call([2], 1 + 2j), call([2], "3"), call([], 7, "int64"),
            call([2], given(2.0, grad=False)), call([P_ONE, 3], 1), call([2], [1]), call(3, 1),
            call([2], float("nan")), call([2], 2.5, "int64"),
        ],
    ),
    **spread("full_like", [call(array(2), 3), call(array(2, dtype="int64"), 2.5), call(array(2, dtype="int64"), 2.5, "float32")]),
    **spread("eye", [call(2), call(2, 3, "int32"), call(0), call(-1), call(2.0), call(2, num_columns=1)]),
    **spread(
        "arange",
        [
            call(5), call(1, 5, 2), call(1.0, 2.0, 0.3), call(5, 0, -2), call(5, 0), call(0, 5, 0), call(3, dtype="float64"),
            call(given(1, "int64"), given(5, "int64")), call(given(4.0, grad=False)),
        ],
    ),
    **spread("range", [call(5), call(1, 5), call(0, 3, 1, "int64"), call(0.0, 1.0, 0.25)]),
    **spread(
        "linspace",
        [call(0, 10, 5), call(0, 10, 5, "int32"), call(0, 10, 1), call(0.0, 1.0, 0), call(5, -5, 4, "float64")],
    ),
    **spread("logspace", [call(0, 3, 4), call(0, 3, 4, 2.0), call(0, 3, 4, dtype="int64"), call(-1.0, 1.0, 3, 10.0, "float64")]),
    **spread(
        "tril_indices",
        [call(3, 4), call(3, 3, -1), call(2, 5, 2, "int32"), call(0, 2), call(-1, 3), call(3, 3, 1.5)],
    ),
    **spread("triu_indices", [call(3, 4), call(3), call(3, 3, -1), call(3, dtype="int32"), call(-1), call(4, 2, 1)]),
    **spread(
        "meshgrid",
        [
            call(array(2), array(3)), call([array(2), array(3), array(1)]), call(array(), array(3)), call([array(2), array(3)], indexing="xy"),
            call([array(2)], indexing="zz"),
        ],
    ),
    **spread("clone", [call(array(2, 3)), call(array(0)), call(array(2, dtype="int64"))]),
    **spread("assign", [call(array(2, 3)), call([1.0, 2.0]), call(1.5), call(True), call(array(2, dtype="int64", numpy=True))]),
    **spread("diagflat", [call(array(2, 2)), call(array(3), -1), call(array()), call(array(0)), call(array(2), 2)]),
    **spread(
        "diag_embed",
        [call(array(2, 3, grad=False), *rest) for rest in ((), (1,), (-1,), (0, 0, 2), (0, 1, 1))],
    ),
    **spread("block_diag", [call([array(1, 2), array(3), array()]), call([array(2, 2)]), call([array(0, 2), array(2, 1)])], "paddle"),
    **spread("cartesian_prod", [call([array(2), array(3)]), call([array(2)]), call([array(2), array(0)]), call([array(2, 2)])]),
    **spread(
        "combinations",
        [call(array(4)), call(array(3), 3, True), call(array(3), 1), call(array(3), 0), call(array(2), 4), call(array(2, 2)), call(array(3), -1)],
    ),
    **spread(
        "vander",
        [call(array(3)), call(array(3), 2, True), call(array(3, dtype="int64", low=1, high=4), 4), call(array(2), 0), call(array(2), -1), call(array(2, 2))],
    ),
    **spread("new_zeros new_ones", [call(array(2, dtype="int64"), [2, 3]), call(array(2), (1,), dtype="float64"), call(array(2), 2, 3)]),
    **spread("new_full", [call(array(2, dtype="int64"), [2, 3], 5), call(array(2), [1], 2.5, dtype="float64")]),
    **spread("new_empty", quiet([call(array(2, dtype="int64"), [2, 3])])),
    **spread("rand randn", quiet(SHAPES + typed("float64", "complex64", "int32", "float16"))),
    **spread("standard_normal", quiet([call([2, 3]), call([2], "float64"), call([]), call([2], "int32")])),
    **spread("uniform", quiet([call([2]), call([2], "float64", 2, 3), call([2], "int32"), call([2], min=3.0, max=4.0, seed=3)])),
    **spread(
        "normal",
        quiet([call(shape=[2]), call(0.0, 1.0, [2, 3]), call(array(2, grad=False)), call(0.0, array(2, low=1, grad=False)), call(1 + 1j, 2.0, [2])]),
    ),
    **spread("log_normal", quiet([call(1.0, 2.0, [3]), call(array(2, grad=False), 1.0), call(0.0, array(2, low=1, grad=False))])),
    **spread(
        "randint",
        quiet([call(5), call(0, 5, [2]), call(-5, 5, (2,), "int32"), call(0), call(5, 3), call(0, 5, given([2], "int64"))]),
    ),
    **spread("rand_like randn_like", quiet([call(array(2)), call(array(2, 3), dtype="float64"), call(array(2, dtype="int64"))])),
    **spread("randint_like", quiet([call(array(2), 5), call(array(2), 0, 5, "int32"), call(array(2), 5, 3), call(array(2), -1)])),
    **spread("randperm", quiet([call(5), call(0), call(3, "int32"), call(3, "float32"), call(-1)])),
    **spread("poisson standard_gamma", quiet([call(array(2, 3, low=1, high=3)), call(array(0)), call(array(dtype="float64", low=1)), call(array(2, dtype="int64"))])),
    **spread("bernoulli", quiet([call(array(2, 3, low=0, high=1)), call(array(2), 0.3), call(given([1.5])), call(array(2), 1.5), call(array(low=0, high=1))])),
    **spread("binomial", quiet([call(given([5, 5], "int64"), array(2, low=0, high=1)), call(given([5.0]), array(2, 1, low=0, high=1))])),
    **spread(
        "multinomial",
        quiet([
            call(array(3, low=1, high=2)), call(array(2, 3, low=1, high=2), 3), call(array(2, low=1), 5), call(array(2, low=1), 5, True),
            call(given([-0.2, 0.8])), call(given([0.0, 0.0])), call(array(2, low=1), 0), call(array(2, 2, 2, low=1)),
        ]),
    ),
    **spread("normal_ uniform_ exponential_ cauchy_ bernoulli_ log_normal_ random_", quiet([call(array(2, 3)), call(array()), call(array(0))])),
    **spread("geometric_", quiet([call(array(2, 3), 0.3), call(array(2), given([0.5, 0.2], grad=False))])),
    **spread("random_", quiet([call(array(2, grad=False), 3), call(array(2, grad=False), 9, 3), call(array(2, dtype="int64"), 2, 5)])),
}  # fmt: skip
