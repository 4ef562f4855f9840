"""Products of matrices and sums of products."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..operator import composite, operator
from .elementwise import Buffer
from .shape import expand, permute, reshape

times_transposed = torch.nn.functional.linear  # x @ y.t() without the view in between


@operator(method="", value=torch.mm, reference=torch.mm, samples=[((3, 4), (4, 5)), ((0, 2), (2, 3))])
def mm(input, mat2, name=None):  # type: ignore[no-untyped-def]
    """The product of two matrices, [n, k] and [k, m]."""
    return torch.mm(input, mat2), (
        lambda g: times_transposed(g, mat2) if g.__class__ is Buffer else g.mm(mat2.t()),
        lambda g: input.t().mm(g),
    )


@operator(broadcasts=True, reference=lambda x, y, a=False, b=False: (x.mT if a else x) @ (y.mT if b else y), samples=[((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4, 3), (4, 5), True), ((2, 3, 4), (2, 5, 4), False, True)])  # fmt: skip
def batched_matmul(x, y, transpose_x=False, transpose_y=False):  # type: ignore[no-untyped-def]
    """The matrix product of the last two axes of arrays with at least two; leading axes broadcast."""
    value = (x.mT if transpose_x else x) @ (y.mT if transpose_y else y)
    return value, (
        lambda g, tx=transpose_x, ty=transpose_y: _left(g, y, tx, ty),
        lambda g, tx=transpose_x, ty=transpose_y: _right(g, x, tx, ty),
    )


def _left(g: Any, y: Any, tx: bool, ty: bool) -> Any:
    """The gradient of x in x @ y, given which of the two were transposed."""
    other = y if ty else y.mT
    return other.mT @ g.mT if tx else g @ other


def _right(g: Any, x: Any, tx: bool, ty: bool) -> Any:
    other = x if tx else x.mT
    return g.mT @ other.mT if ty else other @ g


@composite(method="", reference=torch.matmul, samples=[((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3))])  # fmt: skip
def matmul(x, y, transpose_x=False, transpose_y=False, name=None):  # type: ignore[no-untyped-def]
    """The matrix product of the last two axes; leading axes broadcast; a vector is a row on the left, a column on
    the right, and its axis is gone from the result.

    x: [..., n, k], or [..., k, n] with transpose_x; y: [..., k, m], or [..., m, k] with transpose_y.
    Raises ValueError when the inner lengths differ.
    """
    dims = len(x.shape), len(y.shape)
    if dims == (2, 2) and not (transpose_x or transpose_y):
        return mm(x, y)
    if 0 in dims:
        raise ValueError(f"matmul: expected at least one axis each, got shapes {x.shape} and {y.shape}")
    if 1 not in dims:
        return batched_matmul(x, y, transpose_x, transpose_y)
    a = reshape(x, [1, -1]) if dims[0] == 1 else x
    b = reshape(y, [-1, 1]) if dims[1] == 1 else y
    product = batched_matmul(a, b, transpose_x and dims[0] > 1, transpose_y and dims[1] > 1)
    shape = list(product.shape)
    if dims[1] == 1:
        shape.pop(-1)
    if dims[0] == 1:
        shape.pop(-1 if dims[1] == 1 else -2)
    return reshape(product, shape)


@composite(method="", reference=torch.bmm, samples=[((2, 3, 4), (2, 4, 5))])
def bmm(x, y, name=None):  # type: ignore[no-untyped-def]
    """The products of two batches of matrices, [b, n, k] and [b, k, m]."""
    if len(x.shape) != 3 or len(y.shape) != 3 or x.shape[0] != y.shape[0]:
        raise ValueError(
            f"bmm: expected shapes [b, n, k] and [b, k, m], got {list(x.shape)} and {list(y.shape)}"
        )
    return batched_matmul(x, y)


@composite(method="", reference=torch.mv, samples=[((3, 4), (4,))])
def mv(x, vec, name=None):  # type: ignore[no-untyped-def]
    """A matrix [n, k] times a vector [k]."""
    return matmul(x, vec)


@composite(method="", reference=lambda x, y: (x * y).sum(-1), samples=[((4,), (4,)), ((2, 3), (2, 3))])
def dot(x, y, name=None):  # type: ignore[no-untyped-def]
    """The sum of products of two vectors, or of the rows of two matrices."""
    if x.ndim not in (1, 2) or list(x.shape) != list(y.shape):
        raise ValueError(
            f"dot: expected two vectors or matrices of one shape, got {list(x.shape)} and {list(y.shape)}"
        )
    return (x * y).sum(axis=-1)


@composite(method="", reference=torch.outer, samples=[((3,), (4,))])
def outer(x, y, name=None):  # type: ignore[no-untyped-def]
    """The products of all pairs of entries of x and y, [x.size, y.size]."""
    return reshape(x, [-1, 1]) * reshape(y, [1, -1])


@composite(method="", reference=lambda c, x, y, beta=1.0, alpha=1.0: torch.addmm(c, x, y, beta=beta, alpha=alpha), samples=[((3, 5), (3, 4), (4, 5)), ((5,), (3, 4), (4, 5), 0.5, 2.0)])  # fmt: skip
def addmm(input, x, y, beta=1.0, alpha=1.0, name=None):  # type: ignore[no-untyped-def]
    """beta input + alpha x @ y."""
    return input * beta + mm(x, y) * alpha


@operator(broadcasts=False, reference=lambda x, w, b: x @ w + b, samples=[((3, 4), (4, 5), (5,))])
def affine(x, weight, bias):  # type: ignore[no-untyped-def]
    """x @ weight + bias in one call: x [n, in], weight [in, out], bias [out]."""
    return torch.addmm(bias, x, weight), (
        lambda g: times_transposed(g, weight) if g.__class__ is Buffer else g.mm(weight.t()),
        lambda g: x.t().mm(g),
        lambda g: g.sum(axis=0),
    )


def linear(x, weight, bias=None, name=None):  # type: ignore[no-untyped-def]
    """x @ weight + bias: x [..., in], weight [in, out] (Paddle's order), bias [out] or None."""
    if len(weight.shape) != 2 or not x.shape or x.shape[-1] != weight.shape[0]:
        raise ValueError(
            f"linear: expected x [..., in] and weight [in, out], got {list(x.shape)} and {list(weight.shape)}"
        )
    if len(x.shape) == 2:
        return mm(x, weight) if bias is None else affine(x, weight, bias)
    product = reshape(mm(reshape(x, [-1, x.shape[-1]]), weight), [*x.shape[:-1], weight.shape[1]])
    return product if bias is None else product + bias


# --- einsum --------------------------------------------------------------------------------------------------


def einsum(equation, *operands):  # type: ignore[no-untyped-def]
    """Sums of products by Einstein's notation: letters name axes, letters missing after `->` are summed over.

    Supports `...`, repeated letters (diagonals) and any number of operands; two operands at a time become one
    batched matrix product. Raises ValueError for an equation that does not fit its operands.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, output = _parse(equation.replace(" ", ""), operands)
    sizes: dict[str, int] = {}
    for letters, tensor in zip(inputs, operands, strict=True):
        for letter, n in zip(letters, tensor.shape, strict=True):
            if sizes.setdefault(letter, n) != n and 1 not in (n, sizes[letter]):
                raise ValueError(
                    f"einsum: axis {letter!r} of {equation!r} has lengths {sizes[letter]} and {n}"
                )
            sizes[letter] = max(sizes[letter], n)
    letters, value = _alone(inputs[0], operands[0], set("".join(inputs[1:])) | set(output))
    for i in range(1, len(operands)):
        rest = set("".join(inputs[i + 1 :])) | set(output)
        mine, other = _alone(inputs[i], operands[i], rest | set(letters))
        letters, value = _pair(letters, value, mine, other, rest, sizes)
    extra = [i for i, letter in enumerate(letters) if letter not in output]
    if extra:
        value = value.sum(axis=extra)
        letters = "".join(c for c in letters if c in output)
    return permute(value, [letters.index(c) for c in output]) if letters != output else value


def _parse(equation: str, operands: Any) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with `...` replaced by capital letters not in use."""
    left, arrow, output = equation.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise ValueError(f"einsum: {equation!r} names {len(inputs)} operands, got {len(operands)}")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
    widest = 0
    for letters, tensor in zip(inputs, operands, strict=True):
        named = len(letters.replace("...", ""))
        if ("..." not in letters and named != tensor.ndim) or named > tensor.ndim:
            raise ValueError(f"einsum: {letters!r} does not fit an operand of shape {list(tensor.shape)}")
        if "..." in letters:
            widest = max(widest, tensor.ndim - named)
    dots = "".join(free[:widest])
    filled = []
    for letters, tensor in zip(inputs, operands, strict=True):
        own = tensor.ndim - len(letters.replace("...", ""))
        filled.append(letters.replace("...", dots[widest - own :] if own else ""))
    if not arrow:
        counted = "".join(inputs).replace("...", "")
        output = ("..." if widest else "") + "".join(sorted(c for c in set(counted) if counted.count(c) == 1))
    result = output.replace("...", dots)
    unknown = set(result) - set("".join(filled))
    if unknown or len(set(result)) != len(result):
        raise ValueError(f"einsum: the result of {equation!r} names {sorted(unknown) or 'an axis twice'}")
    return filled, result


def _alone(letters: str, tensor: Any, needed: set[str]) -> tuple[str, Any]:
    """One operand with its diagonals taken and the axes that nobody else needs summed."""
    from .indexing import diagonal

    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            tensor = diagonal(tensor, 0, first, second)
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    gone = [i for i, c in enumerate(letters) if c not in needed]
    if gone:
        tensor = tensor.sum(axis=gone)
        letters = "".join(c for c in letters if c in needed)
    return letters, tensor


def _pair(a: str, x: Any, b: str, y: Any, needed: set[str], sizes: dict[str, int]) -> tuple[str, Any]:
    """Two operands as one batched matrix product: [shared, own of a, summed] @ [shared, summed, own of b]."""
    shared = [c for c in a if c in b and c in needed]
    summed = [c for c in a if c in b and c not in needed]
    own_a = [c for c in a if c not in b]
    own_b = [c for c in b if c not in a]
    x = _arranged(x, a, [*shared, *own_a, *summed], sizes, set(shared) | set(summed))
    y = _arranged(y, b, [*shared, *summed, *own_b], sizes, set(shared) | set(summed))
    lengths = [[sizes[c] for c in group] for group in (shared, own_a, summed, own_b)]
    n = [math.prod(group) for group in lengths]
    product = batched_matmul(reshape(x, [n[0], n[1], n[2]]), reshape(y, [n[0], n[2], n[3]]))
    letters = "".join([*shared, *own_a, *own_b])
    return letters, product.reshape([*lengths[0], *lengths[1], *lengths[3]])


def _arranged(tensor: Any, letters: str, order: list[str], sizes: dict[str, int], full: set[str]) -> Any:
    tensor = permute(tensor, [letters.index(c) for c in order])
    shape = [sizes[c] if c in full else n for c, n in zip(order, tensor.shape, strict=True)]
    return expand(tensor, shape) if shape != list(tensor.shape) else tensor
