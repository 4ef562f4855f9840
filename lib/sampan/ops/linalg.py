"""Products of matrices and sums of products."""

import functools
import math
from typing import Any

import torch

from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, Tensor
from .elementwise import Buffer
from .indexing import diagonal, spread
from .shape import _free, _ints, assign, expand_view, permute, reshape, swapaxes

times_transposed = torch.nn.functional.linear  # x @ y.t() without the view in between


def _mm_by_left(g: Any, mat2: Any) -> Any:
    return times_transposed(g, mat2) if g.__class__ is Buffer else g.mm(mat2.t())


@operator(
    _mm_by_left, lambda g, input: input.t().mm(g), method="", product=True, holomorphic=True, amp="half"
)
def mm(input, mat2, name=None):
    """The product of two matrices, [n, k] and [k, m]."""
    return torch.mm(input, mat2)


def _left(g: Any, y: Any, transpose_x: bool, transpose_y: bool) -> Any:
    """The gradient of x in x @ y."""
    other = y if transpose_y else y.mT
    return other.mT @ g.mT if transpose_x else g @ other


def _right(g: Any, x: Any, transpose_x: bool, transpose_y: bool) -> Any:
    other = x if transpose_x else x.mT
    return g.mT @ other.mT if transpose_y else other @ g


@operator(_left, _right, broadcasts=True, product=True, holomorphic=True, amp="half")
def batched_matmul(x, y, transpose_x=False, transpose_y=False):
    """The matrix product of the last two axes of arrays with at least two; leading axes broadcast."""
    return (x.mT if transpose_x else x) @ (y.mT if transpose_y else y)


@composite(method="", out=True)
def matmul(x, y, transpose_x=False, transpose_y=False, name=None) -> Tensor:
    """The matrix product of the last two axes; leading axes broadcast; a vector is a row on the left, a
    column on the right, and its axis is gone from the result.

    x: [..., n, k], or [..., k, n] with transpose_x; y: [..., k, m], or [..., m, k] with transpose_y.
    Raises ValueError when the inner lengths differ.

    >>> x, y = paddle.ones([5, 2, 3]), paddle.ones([3, 4])
    >>> paddle.matmul(x, y).shape
    paddle.Size([5, 2, 4])
    """
    if x.dtype != y.dtype and (x.dtype.is_complex or y.dtype.is_complex):
        kind = torch.promote_types(x.data.dtype, y.data.dtype)
        x, y = x.astype(kind), y.astype(kind)
    dims = x.ndim, y.ndim
    if dims == (2, 2) and not (transpose_x or transpose_y):
        return mm(x, y)
    if 0 in dims:
        raise InvalidArgument(
            f"matmul: expected at least one axis each, got shapes {[*x.shape]} and {[*y.shape]}"
        )
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


@composite(method="", out=True)
def bmm(x, y, name=None) -> Tensor:
    """The products of two batches of matrices, [b, n, k] and [b, k, m]."""
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0]:
        raise InvalidArgument(
            f"bmm: expected shapes [b, n, k] and [b, k, m], got {[*x.shape]} and {[*y.shape]}"
        )
    return batched_matmul(x, y)


@composite(method="")
def mv(x, vec, name=None) -> Tensor:
    """A matrix [n, k] times a vector [k]."""
    return matmul(x, vec)


@composite(method="", out=True)
def dot(x, y, name=None) -> Tensor:
    """The sum of products of two vectors, or of the rows of two matrices."""
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise InvalidArgument(
            f"dot: expected two vectors or matrices of one shape, got {[*x.shape]} and {[*y.shape]}"
        )
    return (x * y).sum(axis=-1)


@composite(method="", aliases="ger", out=True)
def outer(x, y, name=None) -> Tensor:
    """The products of all pairs of entries of x and y, [x.size, y.size]."""
    return reshape(x, [-1, 1]) * reshape(y, [1, -1])


@composite(method="", inplace="rewrite")
def addmm(input, x, y, beta=1.0, alpha=1.0, name=None) -> Tensor:
    """beta input + alpha x @ y."""
    return input * beta + mm(x, y) * alpha


@composite(method="", inplace="rewrite")
def baddbmm(input, x, y, beta=1.0, alpha=1.0, name=None) -> Tensor:
    """beta input + alpha x @ y, for batches of matrices."""
    if input.ndim != 3:
        raise InvalidArgument(f"baddbmm: input: expected 3 axes, got shape {list(input.shape)}")
    return input * beta + bmm(x, y) * alpha


@composite(method="")
def inner(x, y, name=None) -> Tensor:
    """The sums of products over the last axes of x and y: [..., k] and [*, k] give [..., *]; a single number
    scales."""
    if 1 in (x.size, y.size):
        return x * y
    return tensordot(x, y, [[-1], [-1]])


@composite(method="")
def tensordot(x, y, axes=2, name=None) -> Tensor:
    """The sums of products over axes of x and y: the last and first `axes` of them, or those of a list or two
    lists.

    Of two lists of different lengths the shorter one continues with the other's entries; axes of length 1
    broadcast.
    """
    axes = axes.tolist() if isinstance(axes, Tensor) else axes
    if isinstance(axes, int):
        if axes < 0:
            raise InvalidArgument(f"tensordot: axes: expected 0 or more, got {axes}")
        pairs = [list(range(x.ndim - axes, x.ndim)), list(range(axes))]
    else:
        lists = [axes] if not axes or isinstance(axes[0], int) else axes
        pairs = [_ints(a, "axes") for a in lists[:2]]
        pairs += [[]] * (2 - len(pairs))
        longest = pairs[len(pairs[0]) < len(pairs[1])]
        pairs = [own + longest[len(own) :] for own in pairs]
    first, second = ([_free(t, a) for a in own] for t, own in zip((x, y), pairs, strict=True))
    for i, j in zip(first, second, strict=True):
        if x.shape[i] != y.shape[j] and 1 not in (x.shape[i], y.shape[j]):
            raise InvalidArgument(
                f"tensordot: axis {i} of {list(x.shape)} and axis {j} of {list(y.shape)} differ"
            )
        x = x.sum(axis=i, keepdim=True) if y.shape[j] == 1 else x
        y = y.sum(axis=j, keepdim=True) if x.shape[i] == 1 else y
    own_x, own_y = ([i for i in range(t.ndim) if i not in u] for t, u in ((x, first), (y, second)))
    shapes = [x.shape[i] for i in own_x], [x.shape[i] for i in first], [y.shape[j] for j in own_y]
    n, k, m = (math.prod(s) for s in shapes)
    left, right = permute(x, [*own_x, *first]), permute(y, [*second, *own_y])
    return reshape(mm(reshape(left, [n, k]), reshape(right, [k, m])), [*shapes[0], *shapes[2]])


@composite(method="")
def kron(x, y, name=None) -> Tensor:
    """The Kronecker product: every entry of x times the whole of y, as blocks."""
    n = max(x.ndim, y.ndim)
    a, b = ([1] * (n - t.ndim) + t.shape for t in (x, y))
    product = reshape(x, [s for i in a for s in (i, 1)]) * reshape(y, [s for i in b for s in (1, i)])
    return reshape(product, [i * j for i, j in zip(a, b, strict=True)])


@operator(
    lambda g, y, axis: cross_product(y, g, axis),
    lambda g, x, axis: cross_product(g, x, axis),
    broadcasts=True,
    holomorphic=True,
)
def cross_product(x, y, axis):
    """The vector products along an axis of length 3."""
    return torch.cross(x, y, axis)


@composite(method="")
def cross(x, y, axis=9, name=None) -> Tensor:
    """The vector products along `axis`, of length 3; 9 means the first such axis."""
    if axis == 9:
        axis = next((i for i, n in enumerate(x.shape) if n == 3), None)
        if axis is None:
            raise InvalidArgument(f"cross: expected an axis of length 3, got shape {list(x.shape)}")
    if x.shape != y.shape:
        raise InvalidArgument(
            f"cross: expected tensors of one shape, got {list(x.shape)} and {list(y.shape)}"
        )
    return cross_product(x, y, axis)


@composite()
def vecdot(x, y, axis=-1, name=None) -> Tensor:
    """The sums of products of x (conjugated where complex) and y over one axis."""
    return ((x.conj() if x.dtype.is_complex else x) * y).sum(axis)


@composite(method="")
def trace(x, offset=0, axis1=0, axis2=1, name=None) -> Tensor:
    """The sum of the diagonal `offset` of two axes."""
    return diagonal(x, offset, axis1, axis2).sum(axis=-1, dtype=x.dtype)


@composite(method="")
def matrix_transpose(x, name=None) -> Tensor:
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise InvalidArgument(f"matrix_transpose: expected at least 2 axes, got shape {list(x.shape)}")
    return swapaxes(x, -2, -1)


@composite(method="")
def multi_dot(x, name=None) -> Tensor:
    """The product of a list of matrices (the first and the last may be vectors), multiplied in the cheapest
    order."""
    chain = list(x)
    if len(chain) < 2:
        raise InvalidArgument(f"multi_dot: expected at least two matrices, got {len(chain)}")
    sizes = [1 if chain[0].ndim == 1 else chain[0].shape[0], *(t.shape[0] for t in chain[1:])]
    sizes.append(1 if chain[-1].ndim == 1 else chain[-1].shape[-1])

    @functools.cache
    def best(i: int, j: int) -> tuple[int, int]:
        """What the product of chain[i] to chain[j] costs at least, and behind which of them it is cut for
        that."""
        ways = (
            (best(i, k)[0] + best(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
            for k in range(i, j)
        )
        return min(ways, default=(0, i))

    def product(i: int, j: int) -> Any:
        cut = best(i, j)[1]
        return chain[i] if i == j else matmul(product(i, cut), product(cut + 1, j))

    return product(0, len(chain) - 1)


@operator(
    lambda g, weight: _mm_by_left(g, weight),
    lambda g, x: x.t().mm(g),
    lambda g: g.sum(axis=0),
    product=True,
    holomorphic=True,
    amp="half",
)
def affine(x, weight, bias):
    """x @ weight + bias in one call: x [n, in], weight [in, out], bias [out]."""
    return torch.addmm(bias, x, weight)


def linear(x, weight, bias=None, name=None) -> Tensor:
    """x @ weight + bias: x [..., in], weight [in, out] (Paddle's order), bias [out] or None; a weight of 1 or
    more than 2 axes as in `matmul`."""
    given, own = x.shape, weight.shape
    if len(own) not in (0, 2):
        product = matmul(x, weight)
    elif not own or given[-1:] != own[:1]:
        raise InvalidArgument(
            f"linear: expected x [..., in] and weight [in, out], got {[*given]} and {[*own]}"
        )
    else:
        rows = x if len(given) == 2 else reshape(x, [-1, own[0]])
        if bias is not None and bias.data.shape == weight.data.shape[1:]:
            product, bias = affine(rows, weight, bias), None
        else:  # another bias spreads, as in any sum
            product = mm(rows, weight)
        if len(given) != 2:
            product = reshape(product, given[:-1] + own[1:])
    return product if bias is None else product + bias


# --- einsum -------------------------------------------------------------------------------------------------


def einsum(equation, *operands) -> Tensor:
    """Sums of products by Einstein's notation: letters name axes, letters missing after `->` are summed over.

    Supports `...`, repeated letters (diagonals, of the result too) and any number of operands. Raises
    ValueError for an equation that does not fit its operands.

    >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> paddle.einsum("ij,ij->i", x, x).tolist()
    [5.0, 25.0]
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, output = _parse(equation.replace(" ", ""), operands)
    sizes: dict[str, int] = {}
    tensors = []
    for place, tensor in enumerate(operands):
        for letter in dict.fromkeys(inputs[place]):
            while inputs[place].count(letter) > 1:
                first, second = (i for i, c in enumerate(inputs[place]) if c == letter)
                tensor = diagonal(tensor, 0, first, second)
                inputs[place] = inputs[place].replace(letter, "") + letter
        tensors.append(tensor)
        for letter, n in zip(inputs[place], tensor.shape, strict=True):
            if sizes.setdefault(letter, n) != n and 1 not in (n, sizes[letter]):
                raise InvalidArgument(
                    f"einsum: axis {letter!r} of {equation!r} is {sizes[letter]} and {n} long"
                )
            sizes[letter] = max(sizes[letter], n)
    if len(tensors) == 1 and inputs[0] == output:  # nothing to do but to take a diagonal
        return tensors[0] if tensors[0] is operands[0] else assign(tensors[0])
    once = "".join(dict.fromkeys(output))
    value = contract(*tensors, letters=tuple(inputs), output=once)
    if once == output:
        return value
    # a letter that the result repeats: the values lie on a diagonal of it
    places = {c: torch.arange(sizes[c]).reshape([-1 if c == d else 1 for d in once]) for c in once}
    return spread(value, tuple(places[c] for c in output), tuple(sizes[c] for c in output))


def _contract_back(g: Any, tensors: Any, letters: Any, output: str, needed: list[bool]) -> tuple[Any, ...]:
    return tuple(_share_of(i, g, tensors, letters, output) if n else None for i, n in enumerate(needed))


@operator(joint=_contract_back, holomorphic=True, amp="half")
def contract(*tensors, letters, output):
    """The sums of products of `einsum`, for operands that name no axis twice."""
    value = torch.einsum(f"{','.join(letters)}->{output}", *tensors)
    if len(tensors) == 1 and len(output) == len(letters[0]):  # a transpose, for which torch gives a view
        value = value.clone(memory_format=torch.contiguous_format)
    return value


def _share_of(place: int, g: Any, tensors: Any, letters: Any, output: str) -> Any:
    """The gradient of one operand: the result's times all the others, by the same notation."""
    others = [t for i, t in enumerate(tensors) if i != place]
    names = (output, *(n for i, n in enumerate(letters) if i != place))
    mine, shape = letters[place], tensors[place].shape
    part = contract(g, *others, letters=names, output="".join(c for c in mine if c in "".join(names)))
    lengths = iter(part.shape)
    part = reshape(part, [next(lengths) if c in "".join(names) else 1 for c in mine])
    repeated = [i for i, n in enumerate(shape) if n == 1 and part.shape[i] != 1]
    return expand_view(part.sum(axis=repeated, keepdim=True) if repeated else part, shape)


def _parse(equation: str, operands: Any) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with `...` replaced by capital letters not in use."""
    left, arrow, output = equation.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise InvalidArgument(f"einsum: {equation!r} names {len(inputs)} operands, got {len(operands)}")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
    widest = 0
    for letters, tensor in zip(inputs, operands, strict=True):
        named = len(letters.replace("...", ""))
        if ("..." not in letters and named != tensor.ndim) or named > tensor.ndim:
            raise InvalidArgument(
                f"einsum: {letters!r} does not fit an operand of shape {list(tensor.shape)}"
            )
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
    if unknown:
        raise InvalidArgument(
            f"einsum: the result of {equation!r} names {sorted(unknown)}, which no operand does"
        )
    return filled, result
