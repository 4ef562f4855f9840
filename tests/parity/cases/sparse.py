"""Sparse tensors: made, looked at, converted; their operators with gradients; layers. Each answer is the parts of what
came: layout, shape, places and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tools.parity.spec import Call, program

COO = np.array([[0, 0, 1, 3, 3], [1, 3, 2, 0, 4]])
CSR = (np.array([0, 2, 3, 3, 5]), COO[1])
SHAPE = [4, 5]
UNIT = ("asin", "atanh")  # defined between -1 and 1
ABOVE = ("sqrt", "log1p")  # defined above 0
UNARY = "abs asin asinh atan atanh deg2rad expm1 isnan log1p neg rad2deg sin sinh sqrt square tan tanh"
FLOATS = ("float32", "float64")


def entries(count: int, dtype: str = "float32", low: float = -0.9, high: float = 0.9, place: int = 0) -> Any:
    """Values that are all different, none of them 0."""
    steps = (np.arange(count) * 7 % max(count, 1) + 0.37 + 0.11 * place) / max(count, 1)
    values = low + (high - low) * steps
    if dtype == "bool":
        return values > 0
    return (values * 10 if "int" in dtype else values).astype(dtype)


def sparse(P, layout="coo", dtype="float32", leaf=False, low=-0.9, high=0.9, place=0):  # type: ignore[no-untyped-def]
    x = made(P, layout, dtype, low, high, place).detach()
    x.stop_gradient = not leaf
    return x


def made(P, layout, dtype, low, high, place):  # type: ignore[no-untyped-def]
    """A sparse tensor of each layout: coo, csr, hybrid (a dense axis of 3), cube (three sparse axes), batch (CSR of two
    matrices), loose (places twice and in no order)."""

    def values(*shape: int) -> Any:
        found = entries(int(np.prod(shape)), "float32" if "float16" in dtype else dtype, low, high, place)
        return P.to_tensor(found.reshape(shape)).astype(dtype)

    def coo(indices: Any, shape: list[int], *dense: int) -> Any:
        return P.sparse.sparse_coo_tensor(P.to_tensor(indices), values(indices.shape[1], *dense), shape)

    if layout == "coo":
        return coo(COO, SHAPE)
    if layout == "other":  # some of COO's places, and some of its own
        return coo(np.array([[0, 1, 2, 3], [1, 2, 2, 1]]), SHAPE)
    if layout == "hybrid":
        return coo(COO, [*SHAPE, 3], 3)
    if layout == "cube":
        return coo(np.vstack([[0, 0, 1, 1, 1], COO]), [2, *SHAPE])
    if layout == "loose":
        return coo(np.array([[3, 0, 3, 1, 0], [4, 1, 4, 2, 1]]), SHAPE)
    parts = {
        "csr": (*CSR, SHAPE),
        "csr other": (np.array([0, 1, 2, 3, 4]), np.array([1, 2, 2, 1]), SHAPE),
        "batch": (np.array([0, 2, 3, 3, 5, 0, 0, 1, 2, 3]), np.array([1, 3, 2, 0, 4, 0, 2, 3]), [2, *SHAPE]),
    }
    crows, cols, shape = parts[layout]
    return P.sparse.sparse_csr_tensor(P.to_tensor(crows), P.to_tensor(cols), values(len(cols)), shape)


def dense(P, shape, dtype="float32", leaf=False, place=1):  # type: ignore[no-untyped-def]
    made = P.to_tensor(entries(int(np.prod(shape)), dtype, 0.2, 1.7, place).reshape(shape))
    made.stop_gradient = not leaf
    return made


def shown(x: Any) -> Any:
    """The parts of a sparse tensor; anything else is itself."""
    if isinstance(x, (list, tuple)):
        return [shown(v) for v in x]
    if not hasattr(x, "is_sparse") or not x.is_sparse():
        return x
    places = [x.indices()] if x.is_sparse_coo() else [x.crows(), x.cols()]
    return ["coo" if x.is_sparse_coo() else "csr", list(x.shape), *places, x.values()]


def back(P, out, *leaves):  # type: ignore[no-untyped-def]
    """The gradients of the leaves, for weights that differ from entry to entry."""
    kind = str(out.dtype).rpartition(".")[2]
    if out.is_sparse():
        shape = list(out.values().shape)
        g = P.to_tensor(entries(int(np.prod(shape)), kind, 0.5, 1.5, 2).reshape(shape))
        made = P.sparse.sparse_coo_tensor if out.is_sparse_coo() else P.sparse.sparse_csr_tensor
        places = [out.indices()] if out.is_sparse_coo() else [out.crows(), out.cols()]
        out.backward(made(*places, g, out.shape))
    else:
        shape = list(out.shape)
        out.backward(P.to_tensor(entries(int(np.prod(shape)), kind, 0.5, 1.5, 2).reshape(shape)))
    return [shown(leaf.grad) for leaf in leaves]


def both(
    make: Callable[..., Any], text: str, *kinds: str, grad: bool = True, cloudy: bool = False
) -> list[Call]:
    """Calls of `make(P, dtype, leaf)`, which returns (result, leaves): values in each dtype, and gradients.
    cloudy: its entries may come in any order."""

    def value(P, kind):  # type: ignore[no-untyped-def]
        out = make(P, kind, False)[0]
        return shown(out.coalesce() if cloudy else out)

    def gradient(P, kind):  # type: ignore[no-untyped-def]
        out, *leaves = make(P, kind, True)
        if not cloudy:
            return back(P, out, *leaves)
        (out.values() ** 2).sum().backward()  # whatever the order of the entries
        return [shown(leaf.grad) for leaf in leaves]

    calls = [program(value, kind, text=text) for kind in kinds or FLOATS]
    floats = [kind for kind in kinds or FLOATS if kind in FLOATS][-1:] if grad else []
    return calls + [program(gradient, kind, text=f"{text}, gradient") for kind in floats]


CASES: dict[str, list[Call]] = {}


def case(name: str, text: str, *kinds: str, **facts: bool) -> Callable[[Callable[..., Any]], None]:
    return lambda make: CASES.setdefault(f"paddle.sparse.{name}", []).extend(
        both(make, text, *kinds, **facts)
    )


def look(name: str, text: str) -> Callable[[Callable[..., Any]], None]:
    """One program, as it is."""
    return lambda make: CASES.setdefault(f"paddle.sparse.{name}", []).append(
        program(lambda P: shown(make(P)), text=text).but(grad=False)
    )


# --- functions of each entry ----------------------------------------------------------------------------------------

for _name in UNARY.split():
    _span = (0.1, 0.9) if _name in ABOVE else (-0.9, 0.9)
    for _layout in ("coo", "csr", "hybrid", "batch"):
        _kinds = ("float32", "float16", "int64", "float64") if _layout in ("coo", "csr") else ("float32",)

        @case(_name, _layout, *_kinds, grad=_name != "isnan")
        def _(P, kind, leaf, name=_name, layout=_layout, span=_span):  # type: ignore[no-untyped-def]
            x = sparse(P, layout, kind, leaf, *span)
            return getattr(P.sparse, name)(x), x


for _layout in ("coo", "csr", "hybrid", "batch"):
    for _factor in (2, 3.0, 0.5):

        @case(
            "pow", f"{_layout} {_factor}", *(("float32", "float64", "int64") if _layout == "coo" else FLOATS)
        )
        def _(P, kind, leaf, layout=_layout, factor=_factor):  # type: ignore[no-untyped-def]
            x = sparse(P, layout, kind, leaf, 0.1)
            return P.sparse.pow(x, factor), x

    for _name, _more in (("relu", ()), ("relu6", ()), ("leaky_relu", (0.1,)), ("softmax", ())):

        @case(f"nn.functional.{_name}", _layout)
        def _(P, kind, leaf, layout=_layout, name=_name, more=_more):  # type: ignore[no-untyped-def]
            x = sparse(P, layout, kind, leaf, -9, 9)
            return getattr(P.sparse.nn.functional, name)(x, *more), x

    for _index, _value in (("int32", "float64"), (None, "float32"), ("int64", None), ("int32", "int32")):

        @case("cast", f"{_layout} {_index} {_value}", "float32", "int64", grad=_value != "int32")
        def _(P, kind, leaf, layout=_layout, index=_index, value=_value):  # type: ignore[no-untyped-def]
            x = sparse(P, layout, kind, leaf)
            return P.sparse.cast(x, index, value), x


@case("nn.functional.softmax", "axis 1", grad=False)
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    return (P.sparse.nn.functional.softmax(sparse(P, "coo", kind), 1),)


@case("nn.functional.softmax", "axis 0 of a cube", grad=False)
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    return (P.sparse.nn.functional.softmax(sparse(P, "cube", kind), 0),)


# --- two tensors ----------------------------------------------------------------------------------------------------

for _name in ("add", "subtract", "multiply", "divide"):
    for _a, _b in (
        ("coo", "coo"),
        ("coo", "other"),
        ("csr", "csr"),
        ("csr", "csr other"),
        ("hybrid", "hybrid"),
        ("cube", "cube"),
    ):
        _kinds = ("float32", "float64", "int32", "int64") if _a == "coo" or _a == "csr" else FLOATS

        @case(_name, f"{_a} {_b}", *_kinds)
        def _(P, kind, leaf, name=_name, a=_a, b=_b):  # type: ignore[no-untyped-def]
            x, y = sparse(P, a, kind, leaf), sparse(P, b, kind, leaf, 0.3, 1.4, 1)
            return getattr(P.sparse, name)(x, y), x, y

    for _layout in ("coo", "csr"):

        @case(_name, f"{_layout} with dense")
        def _(P, kind, leaf, name=_name, layout=_layout):  # type: ignore[no-untyped-def]
            x, y = sparse(P, layout, kind, leaf), dense(P, SHAPE, kind, leaf)
            return getattr(P.sparse, name)(x, y), x, y

        @look(_name, f"{_layout} with a number")
        def _(P, name=_name, layout=_layout):  # type: ignore[no-untyped-def]
            return getattr(P.sparse, name)(sparse(P, layout), 2.0)

        @look(_name, f"{_layout} and the other layout")
        def _(P, name=_name, layout=_layout):  # type: ignore[no-untyped-def]
            return getattr(P.sparse, name)(sparse(P, layout), sparse(P, "csr" if layout == "coo" else "coo"))

    @look(_name, "shapes that differ")
    def _(P, name=_name):  # type: ignore[no-untyped-def]
        return getattr(P.sparse, name)(sparse(P), sparse(P, "cube"))


# --- products -------------------------------------------------------------------------------------------------------


for _layout in ("coo", "csr"):

    @case("matmul", f"{_layout} with dense")
    def _(P, kind, leaf, layout=_layout):  # type: ignore[no-untyped-def]
        x, y = sparse(P, layout, kind, leaf), dense(P, [5, 3], kind, leaf)
        return P.sparse.matmul(x, y), x, y

    @case("matmul", f"{_layout} with {_layout}")
    def _(P, kind, leaf, layout=_layout):  # type: ignore[no-untyped-def]
        x, y = sparse(P, layout, kind, leaf), P.sparse.transpose(sparse(P, layout, kind, place=1), [1, 0])
        return P.sparse.matmul(x, y), x

    @case("mv", _layout)
    def _(P, kind, leaf, layout=_layout):  # type: ignore[no-untyped-def]
        x, y = sparse(P, layout, kind, leaf), dense(P, [5], kind, leaf)
        return P.sparse.mv(x, y), x, y

    @case("addmm", _layout)
    def _(P, kind, leaf, layout=_layout):  # type: ignore[no-untyped-def]
        i, x, y = dense(P, [4, 3], kind, leaf, 3), sparse(P, layout, kind, leaf), dense(P, [5, 3], kind, leaf)
        return P.sparse.addmm(i, x, y, 0.5, 2.0), i, x, y


@case("masked_matmul", "csr")
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    x, y = dense(P, [4, 3], kind, leaf), dense(P, [3, 5], kind, leaf, 3)
    return P.sparse.masked_matmul(x, y, sparse(P, "csr", kind)), x, y


# --- shape ----------------------------------------------------------------------------------------------------------

for _layout, _perms in {
    "coo": ([1, 0],),
    "cube": ([2, 0, 1],),
    "csr": ([1, 0],),
    "batch": ([0, 2, 1], [2, 1, 0]),
}.items():
    for _perm in _perms:

        @case("transpose", f"{_layout} {_perm}", "float32", "float64", "int64")
        def _(P, kind, leaf, layout=_layout, perm=_perm):  # type: ignore[no-untyped-def]
            x = sparse(P, layout, kind, leaf)
            return P.sparse.transpose(x, perm), x


for _layout, _shape in (("coo", [2, 10]), ("coo", [2, 2, 5]), ("coo", [-1, 2]), ("cube", [8, 5]), ("csr", [2, 10]), ("batch", [1, 8, 5]), ("coo", [3, 5])):  # fmt: skip

    @case("reshape", f"{_layout} {_shape}", "float32", "int64")
    def _(P, kind, leaf, layout=_layout, shape=_shape):  # type: ignore[no-untyped-def]
        x = sparse(P, layout, kind, leaf)
        return P.sparse.reshape(x, shape), x


for _layout, _arguments in (
    ("coo", ([0, 1], [0, 1], [3, 4])), ("coo", ([1], [-3], [5])), ("coo", ([0], [1], [100])), ("cube", ([0, 2], [1, 0], [2, 3])),
    ("csr", ([0, 1], [0, 1], [3, 4])), ("csr", ([1], [2], [2])), ("batch", ([0, 1], [0, 1], [1, 4])), ("hybrid", ([0], [1], [4])), ("hybrid", ([2], [0], [2])),
):  # fmt: skip

    @case("slice", f"{_layout} {_arguments}", "float32", "int64")
    def _(P, kind, leaf, layout=_layout, arguments=_arguments):  # type: ignore[no-untyped-def]
        x = sparse(P, layout, kind, leaf)
        return P.sparse.slice(x, *arguments), x


for _layout, _axis in (("coo", None), ("coo", 0), ("coo", 1), ("coo", -1), ("coo", [0, 1]), ("cube", 1), ("cube", [0, 2]), ("csr", None), ("csr", -1), ("csr", 1), ("csr", 0), ("batch", -1), ("hybrid", 0), ("hybrid", 2)):  # fmt: skip
    for _keep in (False, True):

        @case("sum", f"{_layout} {_axis} {_keep}", "float32", "int64", "int32")
        def _(P, kind, leaf, layout=_layout, axis=_axis, keep=_keep):  # type: ignore[no-untyped-def]
            x = sparse(P, layout, kind, leaf)
            return P.sparse.sum(x, axis, keepdim=keep), x


@case("sum", "to float64", "float32", "int64", grad=False)
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    return (P.sparse.sum(sparse(P, "coo", kind), 0, "float64"),)


@case("coalesce", "loose", "float32", "float64", "int64", grad=False)
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    return (P.sparse.coalesce(sparse(P, "loose", kind)),)


for _layout in ("coo", "csr", "hybrid", "batch"):

    @case("mask_as", _layout, "float32", "float64", "int64")
    def _(P, kind, leaf, layout=_layout):  # type: ignore[no-untyped-def]
        mask = sparse(P, layout, kind)
        x = dense(P, list(mask.shape), kind, leaf)
        return P.sparse.mask_as(x, mask), x


@look("is_same_shape", "pairs")
def _(P):  # type: ignore[no-untyped-def]
    x = sparse(P)
    return [P.sparse.is_same_shape(x, y) for y in (sparse(P, "csr"), sparse(P, "cube"), dense(P, SHAPE))]


@look("pca_lowrank", "a matrix of rank 2")
def _(P):  # type: ignore[no-untyped-def]
    u, s, v = P.sparse.pca_lowrank(sparse(P, "coo", "float64"), 3, True, 4)
    full = u @ P.diag(s) @ v.T
    return [list(u.shape), list(v.shape), s.sort()[1:], full]


# --- made, looked at, converted -------------------------------------------------------------------------------------


@look("sparse_coo_tensor", "what it is")
def _(P):  # type: ignore[no-untyped-def]
    x = P.sparse.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0], [3, 3])
    facts = [
        x.nnz(),
        x.is_sparse(),
        x.is_sparse_coo(),
        x.is_sparse_csr(),
        x.is_dense(),
        x.stop_gradient,
        x.ndim,
        x.sparse_dim(),
        x.dense_dim(),
    ]
    return [x, facts, x.to_dense(), list(x.shape), x.is_coalesced(), x.coalesce().is_coalesced()]


@look("sparse_coo_tensor", "no entries")
def _(P):  # type: ignore[no-untyped-def]
    return P.sparse.sparse_coo_tensor(P.zeros([2, 0], "int64"), P.zeros([0]), SHAPE)


@look("sparse_coo_tensor", "the shape from the indices")
def _(P):  # type: ignore[no-untyped-def]
    return P.sparse.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1, 2, 3])


@look("sparse_coo_tensor", "a dense axis")
def _(P):  # type: ignore[no-untyped-def]
    x = P.sparse.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]])
    return [x, x.sparse_dim(), x.dense_dim(), x.to_dense()]


for _kind in ("float16", "bfloat16", "float32", "float64", "int32", "int64", "bool", "complex64"):

    @look("sparse_coo_tensor", f"dtype {_kind}")
    def _(P, kind=_kind):  # type: ignore[no-untyped-def]
        return P.sparse.sparse_coo_tensor([[0, 2]], [1, 0], [3], dtype=kind)

    @look("sparse_csr_tensor", f"dtype {_kind}")
    def _(P, kind=_kind):  # type: ignore[no-untyped-def]
        return P.sparse.sparse_csr_tensor([0, 1, 2], [2, 0], [1, 0], [2, 3], dtype=kind)

    @look("sparse_coo_tensor", f"there and back {_kind}")
    def _(P, kind=_kind):  # type: ignore[no-untyped-def]
        x = (
            sparse(P, "coo", kind)
            if kind != "complex64"
            else P.sparse.sparse_coo_tensor(COO, entries(5).astype("complex64"), SHAPE)
        )
        return [
            x.to_dense(),
            x.to_sparse_csr(),
            x.to_sparse_csr().to_dense(),
            x.to_sparse_csr().to_sparse_coo(2),
        ]


for _text, _arguments in {
    "a negative index": ([[0, -1], [0, 1]], [1.0, 2.0], [3, 3]),
    "an index outside": ([[0, 3], [0, 1]], [1.0, 2.0], [3, 3]),
    "too few values": ([[0, 1], [0, 1]], [1.0], [3, 3]),
    "too many values": ([[0, 1], [0, 1]], [1.0, 2.0, 3.0], [3, 3]),
    "a shape too short": ([[0, 1], [0, 1]], [1.0, 2.0], [3]),
    "a shape too small": ([[0, 1], [0, 1]], [1.0, 2.0], [1, 3]),
    "flat indices": ([0, 1], [1.0, 2.0], [3]),
    "floats for indices": ([[0.5, 1.0]], [1.0, 2.0], [3]),
}.items():

    @look("sparse_coo_tensor", _text)
    def _(P, arguments=_arguments):  # type: ignore[no-untyped-def]
        return P.sparse.sparse_coo_tensor(*arguments)


for _text, _arguments in {
    "too few values": ([0, 1, 2], [0, 1], [1.0], [2, 3]),
    "crows too short": ([0, 2], [0, 1], [1.0, 2.0], [2, 3]),
    "a shape of one": ([0, 1, 2], [0, 1], [1.0, 2.0], [2]),
    "a shape of four": ([0, 1, 2], [0, 1], [1.0, 2.0], [1, 1, 2, 3]),
    "crows of two axes": ([[0, 1, 2]], [0, 1], [1.0, 2.0], [2, 3]),
}.items():

    @look("sparse_csr_tensor", _text)
    def _(P, arguments=_arguments):  # type: ignore[no-untyped-def]
        return P.sparse.sparse_csr_tensor(*arguments)


@look("sparse_csr_tensor", "what it is")
def _(P):  # type: ignore[no-untyped-def]
    x = sparse(P, "csr")
    facts = [
        x.nnz(),
        x.is_sparse(),
        x.is_sparse_coo(),
        x.is_sparse_csr(),
        x.is_dense(),
        x.stop_gradient,
        x.ndim,
    ]
    return [x, facts, x.to_dense(), x.to_sparse_coo(2)]


@look("sparse_csr_tensor", "a batch")
def _(P):  # type: ignore[no-untyped-def]
    x = sparse(P, "batch")
    return [x, x.nnz(), x.to_dense(), x.to_sparse_coo(3)]


for _axes in (1, 2, 3):

    @look("sparse_coo_tensor", f"from dense, {_axes} sparse axes")
    def _(P, axes=_axes):  # type: ignore[no-untyped-def]
        values = (
            entries(24).reshape(2, 3, 4)
            * (np.arange(24).reshape(2, 3, 4) % 3 == 0)
            * (np.arange(3)[:, None] < 2)
        )
        x = P.to_tensor(values.astype("float32")).to_sparse_coo(axes)
        return [x, x.to_dense()]


@look("sparse_csr_tensor", "from dense")
def _(P):  # type: ignore[no-untyped-def]
    values = entries(24).reshape(2, 3, 4) * (np.arange(24).reshape(2, 3, 4) % 3 == 0)
    x = P.to_tensor(values.astype("float32"))
    return [x.to_sparse_csr(), x[0].to_sparse_csr(), x[0].to_sparse_csr().to_sparse_coo(2)]


@look("sparse_coo_tensor", "gradients through conversions")
def _(P):  # type: ignore[no-untyped-def]
    x = sparse(P, leaf=True)
    back(P, x.to_dense(), x)
    y = dense(P, [2, 3], leaf=True)
    z = dense(P, [2, 3], leaf=True)
    (y.to_sparse_coo(2).to_dense() * 2).sum().backward()
    z.to_sparse_coo(2).values().sum().backward()
    return [x.grad, y.grad, z.grad]


@look("sparse_coo_tensor", "values carry their gradient")
def _(P):  # type: ignore[no-untyped-def]
    values = dense(P, [5], leaf=True)
    x = P.sparse.sparse_coo_tensor(COO, values, SHAPE, stop_gradient=False)
    back(P, P.sparse.sin(x))
    return values.grad


METHODS: dict[str, Callable[..., Any]] = {
    "size": lambda P, x: x.size, "dim": lambda P, x: x.dim(), "len": lambda P, x: len(x), "is_coalesced": lambda P, x: x.is_coalesced(),
    "is_same_shape": lambda P, x: x.is_same_shape(x), "detach": lambda P, x: x.detach(), "nnz": lambda P, x: x.nnz(),
    "to_dense": lambda P, x: x.to_dense(), "to_sparse_coo": lambda P, x: x.to_sparse_coo(2), "to_sparse_csr": lambda P, x: x.to_sparse_csr(),
    "is_leaf": lambda P, x: [x.is_leaf, x.stop_gradient, x.grad],
}  # fmt: skip

for _layout in ("coo", "csr"):
    for _name, _method in METHODS.items():

        @look(f"sparse_{_layout}_tensor", f"method {_name}")
        def _(P, layout=_layout, method=_method):  # type: ignore[no-untyped-def]
            return method(P, sparse(P, layout, low=0.1))


@look("sparse_coo_tensor", "printed")
def _(P):  # type: ignore[no-untyped-def]
    x = P.sparse.sparse_coo_tensor([[0, 1, 1], [1, 2, 0]], [1.5, -2.0, 1e-3], [2, 3])
    hybrid = P.sparse.sparse_coo_tensor([[1, 0]], [[1, 2], [3, -4]], [2, 2], dtype="int32")
    return [str(x), str(P.sparse.sqrt(x)), str(hybrid)]


@look("sparse_csr_tensor", "printed")
def _(P):  # type: ignore[no-untyped-def]
    return str(P.sparse.sparse_csr_tensor([0, 1, 2], [1, 2], [1.0, 2.0], [2, 3], stop_gradient=False))


# --- what is not in order stays so, unless places repeat ------------------------------------------------------------

STAYS: dict[str, Callable[..., Any]] = {
    "sin": lambda P, x: P.sparse.sin(x), "pow": lambda P, x: P.sparse.pow(x, 2), "nn.functional.relu": lambda P, x: P.sparse.nn.functional.relu(x),
    "nn.functional.leaky_relu": lambda P, x: P.sparse.nn.functional.leaky_relu(x, 0.1),
    "nn.functional.softmax": lambda P, x: P.sparse.nn.functional.softmax(x), "multiply": lambda P, x: P.sparse.multiply(x, 3.0),
    "divide": lambda P, x: P.sparse.divide(x, 2.0), "transpose": lambda P, x: P.sparse.transpose(x, [1, 0]),
    "add": lambda P, x: P.sparse.add(x, P.sparse.sparse_coo_tensor(x.indices(), dense(P, [4]), x.shape, stop_gradient=False)),
    "reshape": lambda P, x: P.sparse.reshape(x, [0, -1, 1]), "mask_as": lambda P, x: P.sparse.mask_as(dense(P, SHAPE, str(x.dtype).rpartition(".")[2]), x),
}  # fmt: skip

for _name, _function in STAYS.items():

    @case(_name, "not in order", grad=_name != "mask_as" and "softmax" not in _name)
    def _(P, kind, leaf, function=_function):  # type: ignore[no-untyped-def]
        places = P.to_tensor(np.array([[3, 0, 1, 0], [2, 4, 0, 1]]))
        x = P.sparse.sparse_coo_tensor(places, P.to_tensor(entries(4, kind)), SHAPE).detach()
        x.stop_gradient = not leaf
        return function(P, x), x


@case("add", "a bias", grad=False)
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    return (P.sparse.add(sparse(P, "hybrid", kind), dense(P, [3], kind)),)


@look("nn.functional.softmax", "hybrid, a sparse axis")
def _(P):  # type: ignore[no-untyped-def]
    one = P.sparse.sparse_coo_tensor([[2, 0, 1]], entries(6).reshape(3, 2), [3, 2])
    return [P.sparse.nn.functional.softmax(one, 0), P.sparse.nn.functional.softmax(sparse(P, "hybrid"), 1)]


@look("reshape", "input=")
def _(P):  # type: ignore[no-untyped-def]
    return P.sparse.reshape(input=sparse(P), shape=[2, 10])


@look("sparse_coo_tensor", "values that had no gradient")
def _(P):  # type: ignore[no-untyped-def]
    values = dense(P, [5])
    x = P.sparse.sparse_coo_tensor(COO, values, SHAPE, stop_gradient=False)
    x.retain_grads()
    back(P, P.sparse.sin(x))
    return [values.stop_gradient, values.grad, shown(x.grad)]


@look("sparse_coo_tensor", "facts of any tensor")
def _(P):  # type: ignore[no-untyped-def]
    x = sparse(P)
    x.name, x.persistable = "here", True
    same = [x.is_same_shape(dense(P, SHAPE)), dense(P, SHAPE).is_same_shape(x)]
    facts = [
        x.is_floating_point(),
        x.is_complex(),
        x.is_integer(),
        x.element_size(),
        x.device,
        x.requires_grad,
    ]
    return [x.name, x.persistable, x.rank(), x.ndimension(), *same, *facts]


LAYERS: dict[str, Callable[..., Any]] = {
    "Conv3D": lambda nn: nn.Conv3D(3, 2, (1, 2, 3), 2, [1, 2, 3], dilation=2), "SubmConv2D": lambda nn: nn.SubmConv2D(3, 2, 3, padding=1, key="a"),
    "BatchNorm": lambda nn: nn.BatchNorm(3), "SyncBatchNorm": lambda nn: nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm(3)),
    "MaxPool3D": lambda nn: nn.MaxPool3D(2, stride=1, return_mask=True), "ReLU": lambda nn: nn.ReLU(name="a"), "Softmax": lambda nn: nn.Softmax(),
}  # fmt: skip

for _name, _layer in LAYERS.items():

    @look(f"nn.{_name}", "printed")
    def _(P, layer=_layer):  # type: ignore[no-untyped-def]
        return repr(layer(P.sparse.nn))


# --- layers and functions of clouds ---------------------------------------------------------------------------------


def cloud(P, kind="float32", leaf=False, channels=2, axes=3):  # type: ignore[no-untyped-def]
    """Five places with channels; and their values, which have the gradient."""
    places = np.array([[0, 0, 0, 1, 1], [0, 1, 2, 0, 3], [1, 1, 2, 3, 0], [2, 2, 3, 0, 1]])[: axes + 1]
    values = P.to_tensor(entries(5 * channels, kind).reshape(5, channels))
    values.stop_gradient = not leaf
    shape = [2, *[4] * axes, channels]
    return P.sparse.sparse_coo_tensor(P.to_tensor(places), values, shape, stop_gradient=not leaf), values


def kernel(P, axes, inside, outside, kind="float32", leaf=False):  # type: ignore[no-untyped-def]
    return dense(P, [3] * axes + [inside, outside], kind, leaf)


for _name, _axes in (("conv3d", 3), ("subm_conv3d", 3), ("conv2d", 2), ("subm_conv2d", 2)):
    for _text, _settings in {
        "plain": {}, "padded": {"padding": 1}, "stride 2": {"padding": 1, "stride": 2}, "dilation 2": {"padding": 2, "dilation": 2},
    }.items():  # fmt: skip
        if _name.startswith("subm") and _text == "stride 2":
            continue

        @case(f"nn.functional.{_name}", _text, cloudy=True)
        def _(P, kind, leaf, name=_name, axes=_axes, settings=_settings):  # type: ignore[no-untyped-def]
            x, values = cloud(P, kind, leaf, 2, axes)
            w, b = kernel(P, axes, 2, 3, kind, leaf), dense(P, [3], kind, leaf)
            return getattr(P.sparse.nn.functional, name)(x, w, b, **settings), values, w, b


for _text, _arguments in {"2": (2,), "3 by 1": (3, 1), "3 by 2 padded": (3, 2, 1)}.items():

    @case("nn.functional.max_pool3d", _text, cloudy=True)
    def _(P, kind, leaf, arguments=_arguments):  # type: ignore[no-untyped-def]
        x, values = cloud(P, kind, leaf)
        return P.sparse.nn.functional.max_pool3d(x, *arguments), values


def parameters(layer: Any) -> list[Any]:
    return [[name, list(p.shape)] for name, p in layer.state_dict().items()]


for _name, _arguments in {
    "Conv3D": (2, 3, 3), "SubmConv3D": (2, 3, 3), "Conv2D": (2, 3, 3), "SubmConv2D": (2, 3, 3), "BatchNorm": (2,), "SyncBatchNorm": (2,),
    "ReLU": (), "ReLU6": (), "LeakyReLU": (0.2,), "Softmax": (), "MaxPool3D": (2,),
}.items():  # fmt: skip

    @look(f"nn.{_name}", "state and output")
    def _(P, name=_name, arguments=_arguments):  # type: ignore[no-untyped-def]
        layer = getattr(P.sparse.nn, name)(*arguments)
        layer.eval()
        for place, p in enumerate(layer.parameters()):
            p.set_value(dense(P, list(p.shape), place=place))
        x = sparse(P) if name == "Softmax" else cloud(P, axes=2 if "2D" in name else 3)[0]
        made = layer(x)
        return [parameters(layer), made.coalesce()]


@look("nn.BatchNorm", "training")
def _(P):  # type: ignore[no-untyped-def]
    layer = P.sparse.nn.BatchNorm(2)
    x, values = cloud(P, leaf=True)
    out = layer(x)
    grads = back(P, out, values)
    return [out, layer._mean, layer._variance, grads, layer.weight.grad, layer.bias.grad]


@look("nn.SubmConv3D", "a network trained for three steps")
def _(P):  # type: ignore[no-untyped-def]
    net = P.nn.Sequential(
        P.sparse.nn.SubmConv3D(2, 3, 3, padding=1),
        P.sparse.nn.ReLU(),
        P.sparse.nn.SubmConv3D(3, 1, 3, padding=1),
    )
    for place, p in enumerate(net.parameters()):
        p.set_value(dense(P, list(p.shape), place=place) * 0.2)
    sgd = P.optimizer.SGD(0.01, parameters=net.parameters())
    losses = []
    for _ in range(3):
        loss = (net(cloud(P)[0]).values() ** 2).mean()
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        losses.append(loss.detach())
    return losses


@case("nn.functional.attention", "a mask")
def _(P, kind, leaf):  # type: ignore[no-untyped-def]
    q, k, v = (dense(P, [1, 2, 4, 3], kind, leaf, place) for place in (1, 2, 3))
    crows, cols = np.tile([0, 2, 4, 5, 8], 2), np.tile([0, 1, 1, 2, 3, 0, 2, 3], 2)
    mask = P.sparse.sparse_csr_tensor(crows, cols, np.ones(16, kind), [2, 4, 4])
    return P.sparse.nn.functional.attention(q, k, v, mask), q, k, v
