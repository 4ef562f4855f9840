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
    "paddle.gather_nd": [
        "r = P.gather_nd(P.ones([5, 4]), t([[], []], 'int32'))",
        "x = t([[1., 2.]], sg=False); P.gather_nd(x, t([[], []], 'int32')).sum().backward(); r = x.grad",
    ],
    "paddle.scatter_nd_add": [
        "x = P.zeros([3, 3]); x.stop_gradient = False; u = P.ones([2, 3, 3]); u.stop_gradient = False; "
        "y = P.scatter_nd_add(x, t([[], []], 'int32'), u); y.sum().backward(); r = [y, x.grad, u.grad]",
        "r = P.scatter_nd(t([[], []], 'int64'), P.ones([2, 3, 3]), [3, 3])",
    ],
    "paddle.squeeze": ["r = P.squeeze(P.ones([1, 4, 1, 5]), [])", "r = P.ones([1, 4, 1, 5]).squeeze_([])"],
    "paddle.reshape": [
        f"r = P.reshape(P.ones({x}), {s})"
        for x in ([0], [0, 3], [2, 0], [0, 2, 0])
        for s in ([2, 0, -1], [0, -1], [-1, 0], [2, 0], [-1], [1, -1], [-1, 2], [0, 3, -1], [0, 0, 0], [])
    ],
    "Tensor.__add__": [
        f"r = {left} {o} {right}"
        for kind in ("float16", "bfloat16", "float32", "int64", "bool")
        for o in ("+", "-", "*", "/")
        for left, right in ((f"t([1, 2], '{kind}')", "2j"), ("2j", f"t([1, 2], '{kind}')"))
    ]
    + ["r = t([1, 2], 'float16') ** 2j", "r = complex(t(3 + 4j))", "r = complex(t(3.0))", "r = t([1., 2.]).__div__(t([2., 4.]))"]
    + [f"r = t([-8, 2]).__{d}shift__(t([1, 1]), {flag})" for d in "lr" for flag in (False, True)],
    "Tensor.backward": [
        "x = P.ones([5]); x.sum().backward(); r = x.grad",
        "x = P.ones([5]); x.backward(); r = x.grad",
    ],
    "paddle.grad": [
        "x = t([2.], sg=False); r = P.grad([(x * x).sum()], [x], [t([3.])])",
        "x = t([1., 2.], sg=False); g, = P.grad([x + 1], [x], create_graph=True); g.sum().backward(); "
        "r = [g, g.stop_gradient, x.grad]",
        "x = t([1., 2.], sg=False); g, = P.grad([x * 2.], [x], create_graph=True); "
        "r = [g, g.stop_gradient, P.grad(g, x, allow_unused=True)]",
    ],
    "paddle.linalg.matrix_power": [
        "x = P.ones([2, 3, 3]); x.stop_gradient = False; y = P.linalg.matrix_power(x, 0); y.sum().backward(); r = [y, x.grad]"
    ],
    "paddle.polygamma": [
        f"r = P.polygamma(t([-1., -2., -0.5, 0., 0.5], '{kind}'), {n})" for kind in KINDS[2:4] for n in range(4)
    ],
    "paddle.nanmedian": [
        "x = t([[nan, nan], [1., 2.]], sg=False); y = P.nanmedian(x, 1, mode='min'); y[0].sum().backward(); r = [*y, x.grad]",
    ],
    "paddle.nn.functional.elu_": ["r = F.elu_(t([1., -1.]), -0.2)", "r = F.elu_(t([1., -1.]), 0.2)"],
    "paddle.einsum": [
        f"a = t([1., 2.], sg=False); m = t([[1., 2.], [3., 4.]], sg=False); y = P.einsum({e}); (y * y).sum().backward(); "
        "r = [y, a.grad, m.grad]"
        for e in (
            "'i->ii', a", "'i->iii', a", "'ij,j->ii', m, a", "'ii->ii', m", "'...i->...ii', m", "'i,i->ii', a, a",
        )
    ]  # of the next two the gradient fails in Paddle
    + [f"r = P.einsum('{e}->iij', *[t([[1., 2.], [3., 4.]])] * 2)" for e in ("ij,ij", "ik,kj")],
    "paddle.nn.functional.smooth_l1_loss": [
        f"r = F.smooth_l1_loss(t([[.2, .4]], '{a}'), t([[1, 0]], '{b}'))"
        for a, b in (("float32", "float64"), ("float64", "float32"), ("float16", "float32"), ("bfloat16", "float32"))
    ],
    "Tensor.is_leaf": ["x = P.Tensor(t([1., 2.]).numpy(), P.CPUPlace()); r = [x, x.stop_gradient, x.is_leaf]"],
    "paddle.cumsum": [
        "r = P.cumsum(t([[1., 2.], [3., 4.]]), axis=t([1], 'int32'))",
        "x = t([[1., 2.], [3., 4.]], sg=False); y = P.cumsum(x, axis=t(0)); (y * y).sum().backward(); r = [y, x.grad]",
    ],
    "paddle.stack": ["x = t([1., 2.]); r = P.stack([x, x], axis=t(1))"],
    "paddle.nn.functional.ctc_loss": [
        "x = P.zeros([1, 1, 3]); r = F.ctc_loss(x, t([[1, 2]], 'int32'), t([1]), t([2]), reduction='none')",
        "x = t([[[0., -200., 1.]], [[0., -200., 1.]]], sg=False); r = F.ctc_loss(x, t([[1]], 'int32'), t([2]), t([1]), reduction='none')",
        "x = t([[[0., 2., 1.]], [[0., 2., 1.]]], sg=False); r = F.ctc_loss(x, t([[1]], 'int32'), t([0]), t([0]), reduction='none')",
        "x = t([[[0., 2., 1.]], [[0., float('nan'), 1.]]], sg=False); r = F.ctc_loss(x, t([[1]], 'int32'), t([2]), t([1]), reduction='none')",
    ],
    "paddle.optimizer.Adam": [
        f"e = P.nn.Embedding(3, 2, sparse={sparse}); e.weight.set_value(P.arange(6, dtype='float32').reshape([3, 2])); "
        f"o = P.optimizer.Adam(0.1, parameters=e.parameters(), lazy_mode={lazy})\n"
        "for i in range(3): (e(t([0, 1])) * t([[1., 2.], [3., -1.]]) * (i + 1)).sum().backward(); o.step(); o.clear_grad()\n"
        "r = e.weight.detach()"
        for sparse in (True, False)
        for lazy in (True, False)
    ],
    "paddle.increment": [
        "x = t(2., sg=False); P.increment(x, 1.); r = [x, x.is_leaf]",
        "x = t(2., sg=False); y = x * 3; P.increment(y, 1.); (y * y).backward(); r = [x.grad, y]",
    ],
    "paddle.broadcast_shape": [
        f"r = P.broadcast_shape({a}, {b})"
        for a in ([-1, 1, 3], [-1, 2], [2, -1], [-1], [3], [0, 3])
        for b in ([1, 3, 1], [-1], [2], [3, 1], [-1, -1], [1], [0], [5])
    ],
    "paddle.nn.functional.interpolate": [
        f"r = F.interpolate(P.arange(4, dtype='{kind}').reshape([1, 1, 2, 2]), size=[4, 4], mode='nearest')"
        for kind in ("int64", "int32", "uint8")
    ],
    "paddle.nn.Sequential": [
        "r = [n for n, _ in P.nn.Sequential(['l1', P.nn.Linear(1, 1)], ['l2', P.nn.ReLU()]).named_sublayers()]"
    ],
    "paddle.io.RandomSampler": [
        "r = list(P.io.RandomSampler(list(range(5)), generator=iter([3, 1, 2, 0, 4])))",
        "r = list(P.io.RandomSampler(list(range(5)), generator=iter([3, 1])))",
        "r = list(P.io.RandomSampler(list(range(5)), True, 3, generator=iter([3, 1, 2, 0, 4])))",
    ],
    "paddle.summary": [
        "s = P.summary(P.nn.LSTM(16, 32, 2), [(-1, 23, 16), ((2, None, 32), (2, -1, 32))]); r = int(s['total_params'])"
    ],
    "paddle.fft.fft2": [
        f"r = P.fft.{name}(P.ones([2, 2, 4]), axes=None)"
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")
    ],
    "Layer.set_state_dict": [
        "class L(P.nn.Layer):\n"
        "    def __init__(self):\n        super().__init__(); self.a = P.nn.Linear(1, 1)\n"
        "    def state_dict(self, *a, **k):\n        return {'x.' + n: v for n, v in super(L, self).state_dict(*a, **k).items()}\n"
        "    def set_state_dict(self, d):\n        return super(L, self).set_state_dict({n[2:]: v for n, v in d.items()})\n"
        "l, m = L(), L(); found = m.set_state_dict(l.state_dict()); "
        "r = [bool((m.a.weight == l.a.weight).all()), sorted(l.state_dict()), found, sorted(P.nn.Sequential(l).state_dict())]"
    ],
}  # fmt: skip
IMAGE = "x = P.arange(0, {n}, dtype='float32').cos().reshape({shape}); x.stop_gradient = False"
SIZES = {1: (14, [1, 2, 7]), 2: (84, [1, 2, 6, 7]), 3: (210, [1, 1, 5, 6, 7])}
PADS = {
    1: ("1", "[1, 2]", "'SAME'"),
    2: ("1", "[0, 1, 1, 0]", "'SAME'"),
    3: ("1", "[0, 1, 1, 0, 1, 0]", "'SAME'"),
}


def pooled(n: int, name: str, settings: tuple[str, ...], also: str = "") -> list[str]:
    """Pooling with windows that begin or lie in the padding, and its gradient."""
    size, shape = SIZES[n]
    start = IMAGE.format(n=size, shape=shape)
    return [
        f"{start}; y = F.{name}{n}d(x, {also}2, {step}, {pad}, {more}); "
        # with a mask Paddle's gradient of a window in the padding writes to the place -1
        + ("r = y" if "mask" in more else "(y * y).sum().backward(); r = [y, x.grad]")
        for step in (2, 3)
        for pad in PADS[n]
        for more in settings
        if "mask" not in more or "[" not in pad
    ]


LOG_PROBS = {
    "Gamma": "({0}, {0}), .3", "Chi2": "({0},), .3", "Beta": "({0}, {0}), .3", "Dirichlet": "(t([.4, .5], {1}),), [.2, .8]",
    "Exponential": "({0},), .3", "Normal": "({0}, {0}), .3", "Uniform": "(0., 1.), .3", "Laplace": "({0}, {0}), .3",
    "Gumbel": "({0}, {0}), .3", "Cauchy": "({0}, {0}), .3", "StudentT": "({0}, {0}, {0}), .3",
    "Poisson": "({0},), 2.", "Bernoulli": "({0},), 1.",
}  # fmt: skip
CDFS = ("Exponential", "Laplace", "Cauchy")


def likelihoods(name: str) -> list[str]:
    """The dtypes of a distribution's answers, of parameters and values of other dtypes."""
    made = []
    for kind in ("'float32'", "'float64'"):
        for value in ("float32", "float64"):
            args = LOG_PROBS[name].format(f"t(.7, {kind})", kind)
            ways = ("log_prob", "prob", "cdf")[: 3 if name in CDFS else 2]
            made.append(
                f"a, v = {args}; d = P.distribution.{name}(*a); v = t(v, '{value}'); r = [{', '.join(f'(d.{w}(v) * 10000).round()' for w in ways)}, d.entropy()]"
            )
    return made


WEIGHTED = "x = F.log_softmax(t([[.1, .5, .2, .9], [.3, .2, .8, .1], [.5, .5, .1, .7]]), 1).detach(); x.stop_gradient = False"

MORE: dict[str, list[str]] = {
    **{
        f"paddle.nn.functional.avg_pool{n}d": pooled(
            n, "avg_pool", tuple(
                f"ceil_mode={ceil}, exclusive={exclusive}" + (f", divisor_override={divisor}" if n > 1 else "")
                for ceil in (True, False) for exclusive in (True, False) for divisor in ((None, 3) if n > 1 else (None,))
            ),
        )
        for n in (1, 2, 3)
    },
    **{
        f"paddle.nn.functional.max_pool{n}d": pooled(
            n, "max_pool", ("ceil_mode=True", "ceil_mode=False", "ceil_mode=True, return_mask=True", "ceil_mode=False, return_mask=True")
        )
        for n in (1, 2, 3)
    },
    **{f"paddle.nn.functional.lp_pool{n}d": pooled(n, "lp_pool", ("ceil_mode=True", "ceil_mode=False"), "2., ")
       + (["r = F.lp_pool1d(P.ones([1, 1, 4]), 2., 2, 2, True)"] if n == 1 else []) for n in (1, 2)},
    **{f"paddle.distribution.{name}": likelihoods(name) for name in LOG_PROBS},
    "paddle.distribution.Binomial": [
        f"r = P.distribution.Binomial(t({n}), t(.5)).sample({shape})" for n in ("nan", "inf", "-2.") for shape in ("", "[2]")
    ],
    "paddle.nanmedian": [
        f"x = t({v}, sg=False); y = P.nanmedian(x{a}, mode='{m}'); z = y[0] if isinstance(y, tuple) else y; "
        "(z * P.arange(1., z.size + 1).reshape(z.shape)).sum().backward(); r = [y, x.grad]"
        for v in ("[[nan, nan], [nan, nan]]", "[[nan, nan], [1., nan]]", "[[nan, nan, nan], [1., nan, 2.]]")
        for a in ("", ", 0", ", 1", ", [0, 1]") for m in ("avg", "min")
    ] + [f"r = P.nanmedian(t({v}, '{d}'), {a}, {k}, 'min')" for v in ("[nan, nan]", "nan", "[]") for d in ("float32", "float64")
         for a in ("None", "0", "-1") for k in (True, False)],
    "paddle.median": [f"r = P.median(t([]), {a}, {k}, '{m}')" for a in ("None", "0") for k in (True, False) for m in ("avg", "min")],
    "paddle.softmax": [
        f"x = P.arange(0., {n}).cos().reshape({s}); r = [x.softmax(), P.softmax(x), F.softmax(x), P.softmax(input=x, dim=-1)]"
        for n, s in ((1, []), (3, [3]), (6, [2, 3]), (12, [2, 3, 2]), (24, [2, 3, 2, 2]), (12, [2, 1, 3, 1, 2]))
    ],
    "paddle.transpose": [
        f"x = P.arange(24.).reshape([2, 3, 4]); r = {c}"
        for c in ("x.transpose(0, 1)", "P.transpose(x, 0, -1)", "x.transpose(dim0=0, dim1=2)", "P.transpose(x, axis0=1, axis1=2)")
    ],
    "paddle.sum": [f"x = P.ones([2, 3]); r = P.sum(x, {c})" for c in ("0, True", "1, False", "1, True, 'float64'", "1, 'float64', True")],
    "paddle.index_select": ["r = P.index_select(P.ones([2, 3]), 1, t([0]))"],
    "paddle.index_add": ["r = P.index_add(P.ones([2, 3]), 1, t([0]), P.ones([2, 1]))"],
    "paddle.tensor_split": [f"r = P.tensor_split(P.arange(6.), {c})" for c in ("sections=2", "indices=[2]", "indices_or_sections=2")],
    "paddle.io.DataLoader": [
        f"r = list(P.io.DataLoader(P.io.TensorDataset([P.arange(4)]), batch_size=2, collate_fn=lambda b: {batch}))"
        for batch in ("[1, P.ones([1])]", "(P.ones([2]), 'a', 3)")
    ],
    "paddle.nn.functional.npair_loss": [
        "a = P.arange(12.).sin().reshape([3, 4]); p = P.arange(12.).cos().reshape([3, 4]); a.stop_gradient = False; "
        f"y = F.npair_loss(a, p, t({labels}), {k}); y.backward(); r = [y, a.grad]"
        for labels in ("[0, 1, 0]", "[0, 0, 0]", "[-1, 2, -1]", "[.5, 1., .5]", "[[0], [1], [1]]") for k in (".1", "0.")
    ],
    "paddle.nn.functional.nll_loss": [
        f"{WEIGHTED}; y = F.nll_loss(x, t({labels}), weight={w}, ignore_index={i}, reduction='{how}'); y.sum().backward(); r = [y, x.grad]"
        for w in ("None", "t([.1, .2, .3, .4])", "P.zeros([4])") for i in (-100, 0, 5, -1)
        for labels in ("[0, 1, 2]", "[-1, 2, 3]", "[5, 5, 5]", "[-100, -100, -100]") for how in ("mean", "none")
    ],
}  # fmt: skip
for _name, _codes in MORE.items():
    PROGRAMS[_name] = PROGRAMS.get(_name, []) + _codes
CASES = {name: [short(code) for code in codes] for name, codes in PROGRAMS.items()}
