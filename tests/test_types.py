"""What type checkers are told is what comes back: every method and property of Tensor, and a user's program under mypy."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pytest

import sampan
from sampan import Tensor
from sampan.engine import tensor
from sampan.engine.operator import composites, names, operators
from tests.ops.samples import SAMPLES
from tests.ops.test_table import drawn, wrapped
from tools.stubs import STUB

ROOT = Path(__file__).parent.parent
# Of what the operators' samples do not call, and what takes more than the tensor: x [2, 3], m symmetric [2, 2], v [4].
CALLS = {
    "_copy_to": "x._copy_to(x.place)",
    "_is_shared_buffer_with": "x._is_shared_buffer_with(x)",
    "_register_backward_hook": "grad._register_backward_hook(lambda: None)",
    "_set_grad_ivar": "x._set_grad_ivar(x)",
    "_share_buffer_to": "x._share_buffer_to(x + 1)",
    "allclose": "x.allclose(x)",
    "apply": "x.apply(lambda t: t)",
    "apply_": "x.apply_(lambda t: t)",
    "as_real": "x.astype('complex64').as_real()",
    "broadcast_shape": "sampan.broadcast_shape([2, 3], [3])",
    "broadcast_tensors": "sampan.broadcast_tensors([x, x])",
    "broadcast_shapes": "sampan.broadcast_shapes([2, 3], [3])",
    "cholesky": "m.cholesky()",
    "cholesky_inverse": "m.cholesky_inverse()",
    "cholesky_solve": "m.cholesky_solve(m)",
    "chunk": "x.chunk(2)",
    "concat": "sampan.concat([x])",
    "create_parameter": "sampan.create_parameter([2], 'float32')",
    "create_tensor": "Tensor.create_tensor('float32')",
    "dsplit": "sampan.ones([2, 2, 2]).dsplit(2)",
    "eig": "m.eig()",
    "eigh": "m.eigh()",
    "eigvals": "m.eigvals()",
    "eigvalsh": "m.eigvalsh()",
    "equal_all": "x.equal_all(x)",
    "gammainc": "v.gammainc(v)",
    "gammainc_": "v.gammainc_(v)",
    "gammaincc": "v.gammaincc(v)",
    "gammaincc_": "v.gammaincc_(v)",
    "geometric_": "x.geometric_(0.5)",
    "hsplit": "m.hsplit(2)",
    "imag": "x.astype('complex64').imag()",
    "increment": "sampan.ones([1]).increment()",
    "index_put": "v.index_put((i,), one)",
    "index_put_": "v.index_put_((i,), one)",
    "is_same_shape": "x.is_same_shape(x)",
    "istft": "v.stft(4).istft(4)",
    "lu_unpack": "m.lu()[0].lu_unpack(m.lu()[1])",
    "masked_scatter": "x.masked_scatter(x > 0, x)",
    "masked_scatter_": "x.masked_scatter_(x > 0, x)",
    "masked_select": "x.masked_select(x > 0)",
    "multiplex": "sampan.multiplex([x, x], sampan.zeros([2, 1], 'int32'))",
    "new_empty": "x.new_empty([2])",
    "new_full": "x.new_full([2], 1.0)",
    "new_ones": "x.new_ones([2])",
    "new_zeros": "x.new_zeros([2])",
    "ormqr": "m.ormqr(sampan.ones([2]), m)",
    "put_along_axis": "v.put_along_axis(i, 1.0, 0)",
    "put_along_axis_": "v.put_along_axis_(i, 1.0, 0)",
    "repeat": "x.repeat(2)",
    "resize_": "x.resize_([3, 2])",
    "scatter": "v.scatter(i, one)",
    "scatter_": "v.scatter_(i, one)",
    "scatter_nd": "sampan.scatter_nd(sampan.zeros([1, 1], 'int64'), one, [4])",
    "scatter_nd_add": "v.scatter_nd_add(sampan.zeros([1, 1], 'int64'), one)",
    "shard_index": "sampan.ones([2, 1], 'int64').shard_index(20, 2, 0)",
    "split": "x.split(2)",
    "split_with_sizes": "x.split_with_sizes([1, 1])",
    "stack": "sampan.stack([x])",
    "stft": "v.stft(4)",
    "tensor_split": "x.tensor_split(2)",
    "to_sparse_coo": "x.to_sparse_coo(2)",
    "top_p_sampling": "x.top_p_sampling(sampan.ones([2]))",
    "triangular_solve": "m.triangular_solve(m)",
    "type_as": "x.type_as(x)",
    "view_as_real": "x.astype('complex64').view_as_real()",
    "vsplit": "x.vsplit(2)",
    "where_": "(x > 0).where_(x > 0, x > 0)",
    "_full_like": "x._full_like(1.0)",
    "_on_device": "x._on_device('cpu')",
    # defined in tensor.py
    "astype": "x.astype('int64')",
    "backward": "grad.backward()",
    "cast": "x.cast('int64')",
    "copy_": "x.copy_(x + 1)",
    "cpu": "x.cpu()",
    "fill_": "x.fill_(1.0)",
    "grad": "grad.grad",
    "grad_fn": "(grad * 2).grad_fn",
    "item": "one.item()",
    "register_hook": "grad.register_hook(lambda g: None)",
    "register_post_accumulate_grad_hook": "grad.register_post_accumulate_grad_hook(lambda t: None)",
    "set_value": "x.set_value(x + 1)",
}
UNCALLED = {"pin_memory": "needs a GPU", "cuda": "needs a GPU"}
# Where a setting decides what comes back, where a sparse tensor does, and what Paddle has for static graphs.
# fmt: off
ANYTHING = {
    "_grad_ivar", "_zero_grads", "atleast_1d", "atleast_2d", "atleast_3d", "block", "create_parameter", "item", "median",
    "nanmedian", "nonzero", "num_shard", "placements", "process_mesh", "qr", "stride", "to_sparse_coo", "to_sparse_csr",
    "tolist", "unique", "unique_consecutive", "where",
}
# fmt: on


def told() -> dict[str, Any]:
    """The types that a checker reads, by the name of the method or property: from the stub and from tensor.py."""
    space = {**vars(builtins), **vars(tensor), "builtins": builtins, "Sequence": Sequence}
    found = {}
    for name, value in vars(Tensor).items():
        function = value.fget if isinstance(value, property) else value
        code = getattr(function, "__code__", None)
        if name[0] != "_" and code is not None and code.co_filename == tensor.__file__:
            found[name] = eval(function.__annotations__["return"], space)
    (methods,) = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)]
    for node in methods.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            assert node.returns is not None
            found[node.name] = eval(ast.unparse(node.returns), space)
    return found


TOLD = told()
DECLARED = {each: name for name, facts in names.items() for each in (name, *facts.aliases.split())}
SAMPLED = (
    {name: name for name in (*operators, *composites)}
    | DECLARED
    | {f"{each}_": n for each, n in DECLARED.items()}
)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the type, with the types of what it holds."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if origin is list:
        return isinstance(value, list) and all(fits(v, inner[0]) for v in value)
    if origin is tuple and inner[-1] is Ellipsis:
        return isinstance(value, tuple) and all(fits(v, inner[0]) for v in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(inner) and all(map(fits, value, inner))
    if kind in (bool, int, None, type(None)):
        return type(value) is (type(None) if kind is None else kind)  # a bool is not a count
    return isinstance(value, origin or kind)


def calls(name: str) -> Iterator[Any]:
    """What calls of the method return, or reading the property."""
    if name in CALLS:
        x = sampan.to_tensor([[0.5, 0.25, 0.125], [0.3, 0.2, 0.1]])
        m, v = sampan.to_tensor([[2.0, 0.5], [0.5, 1.0]]), sampan.to_tensor([0.5, 0.25, 0.125, 0.3])
        i, one, grad = sampan.zeros([1], "int64"), sampan.ones([1]), sampan.ones([1], requires_grad=True)
        yield eval(
            CALLS[name],
            {"sampan": sampan, "Tensor": Tensor, "x": x, "m": m, "v": v, "i": i, "one": one, "grad": grad},
        )
        return
    if isinstance(getattr(Tensor, name), property):
        yield getattr(sampan.ones([2, 3]), name)
        return
    declared = SAMPLED.get(name)
    for sample in SAMPLES[declared].samples if declared in SAMPLES else ():
        first, *others = wrapped(drawn(declared, sample), grad=False)
        if not isinstance(first, Tensor):
            continue  # 2 ** x: no method
        try:
            yield getattr(first, name)(*others)
        except (ValueError, TypeError):
            if not name.endswith("_"):
                raise  # in place a result may have another shape or dtype than x has
    if declared not in SAMPLES:
        yield getattr(sampan.ones([2, 3]), name)()


@pytest.mark.parametrize("name", sorted(set(TOLD) - set(UNCALLED)))
def test_what_comes_back_is_of_the_type_that_is_told(name: str) -> None:
    results = list(calls(name))
    assert results, f"{name}: no call; add one to CALLS"
    for result in results:
        assert fits(result, TOLD[name]), f"{name}: told {TOLD[name]}, returned {type(result)}"


def test_nothing_else_is_any() -> None:
    assert {name for name, kind in TOLD.items() if kind is Any} == ANYTHING
    assert len(TOLD) > 550 and set(CALLS) <= set(TOLD)


def test_the_comparison_sees_a_wrong_type() -> None:
    x = sampan.ones([2])
    assert (
        fits(x, Tensor)
        and fits((x, x), tuple[Tensor, Tensor])
        and fits([1, 2], list[int])
        and fits(None, Tensor | None)
    )
    for value, kind in (
        (True, int),
        (1, Tensor),
        ((x,), tuple[Tensor, Tensor]),
        ([x], list[int]),
        (x, None),
        ((x, 1), tuple[Tensor, ...]),
    ):
        assert not fits(value, kind)


def test_a_users_program_has_types() -> None:
    """`assert_type` in it fails where a type is Any, too."""
    program = Path(__file__).with_name("typed_program.py")
    for options in (["-m", "mypy", "--no-error-summary", str(program)], [str(program)]):
        result = subprocess.run(
            [sys.executable, *options], cwd=ROOT, capture_output=True, text=True, timeout=250
        )
        assert result.returncode == 0, result.stdout + result.stderr
