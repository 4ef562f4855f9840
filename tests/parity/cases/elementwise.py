"""Functions of one and two tensors, element by element, their twins in place, logic, bits, complex numbers."""

from tools.parity.spec import Call, array, binary, call, given, spread, unary

SPECIAL = given([float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.5])

PARTS = [
    spread(
        "abs ceil cos exp expm1 sin sinh cosh tanh asinh atan square floor trunc round frac sign neg sigmoid erf rad2deg "
        "deg2rad sinc i0 i0e i1 i1e negative positive sgn isfinite isinf isnan isreal logical_not signbit isneginf isposinf",
        unary(0.1, 2),
    ),
    spread("log log2 log10 log1p sqrt rsqrt reciprocal lgamma gammaln digamma", unary(0.2, 3)),
    spread("asin acos atanh erfinv tan logit", unary(0.1, 0.9, also="float64 float16 int64 bool")),
    spread("acosh", unary(1.2, 3)),
    spread(
        "abs sin cos tan tanh exp log sqrt square reciprocal sinh cosh asin acos atan asinh atanh acosh expm1 log1p log2 log10 "
        "neg sgn conj real imag angle as_real view_as_real isreal",
        [call(array(2, 3, dtype="complex64")), call(array(2, 3, dtype="complex128", low=0.2))],
    ),
    spread(
        "abs_ ceil_ cos_ exp_ expm1_ sin_ sinh_ cosh_ tanh_ asinh_ atan_ square_ floor_ trunc_ round_ frac_ neg_ sigmoid_ "
        "erf_ sinc_ i0_ log_ log2_ log10_ log1p_ sqrt_ rsqrt_ reciprocal_ lgamma_ gammaln_ digamma_ asin_ acos_ atanh_ "
        "erfinv_ tan_ logit_",
        unary(0.2, 0.9, also="float64 int64"),
    ),
    spread("acosh_", unary(1.2, 3, also="float64")),
    spread("add subtract sub multiply mul divide div true_divide maximum minimum fmax fmin", binary(0.3, 3)),
    spread("atan2 hypot logaddexp copysign heaviside nextafter", binary(0.3, 3, also="float64 bfloat16 int64")),
    spread("remainder mod floor_mod floor_divide pow", binary(1, 5)),
    spread("equal not_equal less_than less_equal greater_than greater_equal eq ne lt le gt ge less greater", binary()),
    spread("logical_and logical_or logical_xor", binary(numbers=False, also="float64 int32 int64 bool complex64")),
    spread("bitwise_and bitwise_or bitwise_xor", binary(-9, 9, also="int32 int64 uint8 bool", numbers=False)),
    spread("bitwise_not bitwise_invert", unary(-9, 9, also="int32 int64 uint8 bool")),
    spread("bitwise_left_shift bitwise_right_shift", binary(1, 5, also="int32 int64 uint8", numbers=False)),
    spread("gcd lcm", binary(-20, 20, also="int32 int64", numbers=False)),
    spread("gammainc gammaincc", binary(0.4, 3, also="float64", numbers=False)),
    spread(
        "add_ subtract_ sub_ multiply_ mul_ divide_ div_ remainder_ mod_ floor_mod_ floor_divide_ pow_ hypot_ copysign_ "
        "gammainc_ gammaincc_ ldexp_",
        [call(array(2, 3, low=0.4), array(3, low=0.4)), call(array(3, low=0.4), array(2, 3, low=0.4))],
    ),
    spread(
        "equal_ not_equal_ less_than_ less_equal_ greater_than_ greater_equal_ less_ logical_and_ logical_or_ logical_xor_",
        [call(array(2, 3, grad=False), array(3, grad=False)), call(array(2, 3, dtype="bool"), array(3, dtype="bool"))],
    ),
    spread(
        "bitwise_and_ bitwise_or_ bitwise_xor_ bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_",
        [call(array(2, 3, dtype="int64", low=1, high=9), array(3, dtype="int64", low=1, high=5))],
    ),
    spread("bitwise_not_ bitwise_invert_ logical_not_", [call(array(2, 3, dtype="bool"))]),
    spread("add subtract sub", [call(array(2, 3), array(3), alpha=0.5), call(array(2), array(2), alpha=3)]),
    spread(
        "divide div",
        [call(array(2, 3), array(3), rounding_mode=m) for m in ("floor", "trunc", "ceil")]
        + [call(array(2, 3, dtype="int64", low=3, high=9), given([2, 2, 2], "int64"), rounding_mode="trunc")],
    ),
    spread(
        "multiply divide add subtract pow",
        [
            call(array(2, 3, dtype="complex64"), array(3, dtype="complex64", low=0.2)),
            call(array(2, 3, dtype="complex64"), array(3, low=0.2)),
            call(array(2, 3, low=0.2), array(3, dtype="complex128", low=0.2)),
        ],
    ),
    spread(
        "isnan isinf isfinite isposinf isneginf signbit nan_to_num sign abs maximum",
        [call(SPECIAL)],
    ),
    spread("less_than greater_equal remainder hypot", [call(array(2, dtype="complex64"), array(2, dtype="complex64"))]),
    spread("log_ expm1_", [call(array(0, dtype="int64"))]),
    spread(
        "bitwise_right_shift bitwise_left_shift",
        [call(given([8, -8, -3], "int32"), given([1, 31, 40], "int32"), flag) for flag in (True, False)],
    ),
    spread(
        "clip clamp clip_ clamp_",
        [
            call(array(2, 3), -1.0, 1.0), call(array(2, 3), max=0.5), call(array(2, 3), given(0.1, grad=False)),
            call(array(0, 3), 0.0, 1.0), call(array(), 0.0), call(array(2, 3), 1.0, 0.0), call(array(2, 3)),
            call(array(2, 3, dtype="int64", low=-5, high=5), -1, 2),
        ],
    ),
    spread("clip clamp", [call(array(4, dtype="int64", low=-5, high=5), -1.5, 1.5)]),
    spread(
        "lerp lerp_",
        [
            call(array(2, 3), array(2, 3), 0.3), call(array(2, 3), array(3), given(0.4, grad=False)),
            call(array(2, 3), array(3), array(2, 3, grad=False)), call(array(0, 3), array(3), 0.5),
        ],
    ),
    spread(
        "scale scale_",
        [
            call(array(2, 3), 2.0, 1.0), call(array(2, 3), 2.0, 1.0, False), call(array(2, 3)), call(array(), bias=1.0),
            call(array(4, dtype="int64", low=-5, high=5), 2.5, 1.5), call(array(0, 3), 2.0, 1.0),
        ],
    ),
    spread("scale", [call(array(2, 3), given(3.0, grad=False)), call(array(2, 3), 2.0, act="relu")]),
    spread("stanh", unary(also="float64") + [call(array(2, 3), 0.5, scale_b=2.0)]),
    spread(
        "nan_to_num nan_to_num_",
        [call(SPECIAL), call(SPECIAL, 1.0, 2.0, 3.0), call(array(0, 3)), call(array(dtype="float64"))],
    ),
    spread(
        "round round_",
        [call(given([0.5, 1.5, -2.5, 1.25])), call(given([1.235, 12.5]), 1), call(given([1234.5]), -2)],
    ),
    spread("logit logit_", [call(given([0.0, 0.05, 0.5, 1.0]), 0.1), call(given([-0.1, 0.05, 0.5, 1.1]), eps=None)]),
    spread(
        "polygamma polygamma_",
        [call(array(2, 3, low=0.4), n) for n in (0, 1, 3, -1)] + [call(array(3, low=0.4), 1.5), call(array(0, 2), 1)],
    ),
    spread(
        "multigammaln multigammaln_",
        [call(array(2, 3, low=2, high=4), 2), call(array(low=2, high=4), 3), call(array(3), 0), call(array(0, 2), 2)],
    ),
    spread(
        "ldexp",
        binary(-2, 3, also="float64 int64", numbers=True),
    ),
    spread("frexp", [call(array(2, 3)), call(array(dtype="float64")), call(array(0, 3)), call(array(3, dtype="int64"))]),
    spread(
        "complex",
        [call(array(2, 3), array(3)), call(array(), array()), call(array(2, dtype="float64"), array(2, dtype="float64"))],
    ),
    spread("polar", [call(array(2, 3, low=0.1), array(2, 3)), call(array(2, dtype="float64"), array(2, dtype="float64"))]),
    spread(
        "as_complex view_as_complex",
        [call(array(2, 2)), call(array(2)), call(array(0, 2)), call(array(2, 3)), call(array(3, 2, dtype="float64"))],
    ),
    spread("angle conj", unary(also="float64")),
    spread(
        "isclose allclose",
        [
            call(SPECIAL, SPECIAL), call(SPECIAL, SPECIAL, equal_nan=True), call(array(2, 3), array(2, 3), rtol=5.0),
            call(array(2, 3), array(2, 3), 0.0, 9.0), call(array(), array()), call(array(0, 2), array(0, 2)),
        ],
    ),
    spread("equal_all", [call(array(2), array(2)), call(array(2), array(3)), call(SPECIAL, SPECIAL), call(array(), array())]),
    spread(
        "isin",
        [
            call(array(2, 3, dtype="int64", low=0, high=6), given([1, 4], "int64")), call(array(3), array(3)),
            call(given(2, "int64"), given([[2, 3]], "int64"), False, True), call(array(0), array(2)),
            call(given([1, 2], "int64"), given([2], "int64"), assume_unique=True),
        ],
    ),
    spread("is_complex is_integer is_floating_point is_empty", unary(also="float64 int64") + [call(array(2, dtype="complex64"))]),
    spread(
        "increment",
        [call(array(1, grad=False)), call(given([3], "int64"), 2), call(array(grad=False), 1.5), call(array(2, grad=False))],
    ),
    spread(
        "add_n",
        [call([array(2, 3), array(2, 3), array(2, 3)]), call(array(2)), call([array(2), array(3)]), call([array()])],
    ),
    spread(
        "multiplex",
        [call([array(2, 3), array(2, 3, low=3, high=5)], given([[1], [0]], "int32")), call([array(2, 3)], given([[0]], "int32"))],
    ),
    spread("where_", [call(array(2, 3, dtype="bool"), array(2, 3), array(2, 3))], "paddle"),
]  # fmt: skip
CASES: dict[str, list[Call]] = {}
for part in PARTS:
    for name, calls in part.items():
        CASES[name] = CASES[name] + calls if name in CASES else calls
