"""Short programs for values, dtypes and gradients that were once different: each line is a program that leaves `r`."""

from __future__ import annotations

from tools.parity.spec import Call, program

KINDS = "float16 bfloat16 float32 float64 int32 int64 bool complex64 complex128".split()  # noqa: SIM905


def short(code: str) -> Call:
    """A program: P is the library, `t(values, dtype, stop_gradient)` makes a tensor."""

    def run(P):
        def t(values, dtype=None, sg=True):
            return P.to_tensor(values, dtype=dtype, stop_gradient=sg)

        names = {"P": P, "t": t, "F": P.nn.functional, "inf": float("inf"), "nan": float("nan")}
        exec(code, names)
        return names["r"]

    return program(run, text=code)


def promoted(names: str, low: int = 1) -> dict[str, list[str]]:
    """Operators in place on every pair of dtypes."""
    return {
        f"Tensor.{name}_": [
            f"r = x = t([1, 2], '{a}'); x.{name}_(t([{low}, 1], '{b}'))" for a in KINDS for b in KINDS
        ]
        for name in names.split()
    }


def retained(calls: str) -> list[str]:
    """The gradient that retain_grads keeps of a tensor that is changed in place afterwards."""
    start = "x = t([[.2, .4], [.5, .1]], sg=False); y = x * 1; y.retain_grads()"
    return [
        f"{start}; {one}; z = y * 3.0; z.sum().backward(); r = [y.grad, x.grad]" for one in calls.split("|")
    ]


PROGRAMS: dict[str, list[str]] = {
    **promoted("add subtract multiply divide copysign floor_divide hypot ldexp"),
    "Tensor.where_": [
        f"r = x = t([1, 2], '{a}'); P.where_(t([True, False]), x, t([1, 1], '{b}'))" for a in KINDS for b in KINDS
    ],
    "Tensor.exp_": [f"r = t([1, 2], '{kind}').exp_()" for kind in KINDS[2:6]],
    "Tensor.log_": [f"r = t([1, 2], '{kind}').log_()" for kind in KINDS[2:6]],
    "Tensor.retain_grads": retained(
        "y.add_(P.ones([2, 2]))|y.add_(P.ones([2, 2])); y.multiply_(P.ones([2, 2]) * 2)|y.fill_(2.)|y.zero_()|y.normal_()"
        "|y.uniform_()|y.cauchy_()|y.log_normal_()|y.geometric_(0.5)|y.exponential_()|y.bernoulli_()|y.fill_diagonal_(1.)"
        "|y.fill_diagonal_tensor_(t([1., 2.]))|y.add_(P.ones([2, 2], 'float64'))|y.exp_()|y.reshape_([4])|y.flatten_()"
        "|y.squeeze_()|y.unsqueeze_(0)|y.transpose_([1, 0])|y.t_()|y.cast_('float64')|y.clip_(0., 3.)|y.scale_(2.)|y[0] = 1."
        "|y[0, 0] = t(1.)|y.tril_()|y.index_fill_(t([0]), 0, 1.)|y.cumsum_()|y.cumsum_(0)|y.multiply_(P.ones([2, 2]) * 2); y.retain_grads(); y.multiply_(P.ones([2, 2]) * 5)"
        "|F.elu_(y)|P.where_(t([[True, False], [False, True]]), y, P.ones([2, 2]))|y.abs_()|y.pow_(2)"
    ),
    "Tensor.cumsum_": [
        "r = x = t([[1., 2.], [3., 4.]]); z = x.reshape([-1]); x.cumsum_(); r = [x, z]",
        "x = t([[1., 2.], [3., 4.]], sg=False); y = x * 1; y.cumsum_(); (y * y).sum().backward(); r = [y, x.grad]",
        "r = t([[1., 2.], [3., 4.]]).cumsum_(0, dtype='float64')",
    ],
    "Tensor.cumprod_": ["r = t([[1., 2.], [3., 4.]]).cumprod_()"],
    "Tensor.pow_": ["r = t([2, 3], 'int64').pow_(2.5)"],
    "Tensor.clip_": ["r = t([2, 3], 'int64').clip_(0.0, 2.5)"],
    "Tensor.addmm_": [
        "o = P.ones([2, 2]); r = P.addmm_(o, x=o * 2, y=o * 3)",
        "o = P.ones([2, 2]); r = P.addmm_(input=o, x=o * 2, y=o * 3, beta=2.0)",
    ],
    "Tensor.multiply_": [
        "x = t([1., 2.], sg=False); y = t([2., 3.], sg=False); z = x * 1; z.multiply_(y=y); (z * z).sum().backward(); "
        "r = [z, x.grad, y.grad]",
        "x = t([1., 2.], sg=False); y = t([2., 3.], 'float64', sg=False); z = x * 2; z.multiply_(y); (z * z).sum().backward(); "
        "r = [z, x.grad, y.grad]",
        "x = t([1., 2.], sg=False); z = x * 2; z.multiply_(t([1j, 2])); z.abs().sum().backward(); r = [z, x.grad]",
        "x = t([1., 2.], sg=False)\nwith P.no_grad(): x.multiply_(t([1., 2.], 'float64'))\nr = [x, x.stop_gradient, x.is_leaf]",
    ],
    "Tensor.__setitem__": [
        f"r = x = t([1, 2, 3], '{a}'); x[{key}] = t([3, 1], '{b}')"
        for a in KINDS
        for b in KINDS
        for key in ("t([True, False, True])", "t([0, 2])", "0:2")
    ]
    + [
        f"x = t([1., 2., 3.], sg=False); y = x * 1; v = t([5, 6], '{kind}', sg=False); y[{key}] = v * 1; (y * y).sum().backward(); "
        "r = [y, x.grad, v.grad]"
        for kind in ("float64", "complex64")
        for key in ("0:2", "t([0, 2])", "t([True, False, True])")
    ],
    "paddle.index_put": [
        "r = P.index_put(P.zeros([2, 3]), (t([[False] * 3] * 2),), P.ones([2, 1]))",
        "r = P.index_put(P.zeros([3]), (t([False] * 3),), P.ones([2]), True)",
        "r = P.index_put(t([1j, 2]), (t([1]),), P.ones([1]))",
        "x = P.zeros([2, 3]); x.stop_gradient = False; v = P.ones([2, 1]); v.stop_gradient = False; "
        "P.index_put(x, (t([[False] * 3] * 2),), v).sum().backward(); r = [x.grad, v.grad]",
    ],
}  # fmt: skip
CASES = {name: [short(code) for code in codes] for name, codes in PROGRAMS.items()}
