"""Arrays joined into one and cut into several."""

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import torch

from ..dtype import name_of
from ..engine.errors import with_name
from ..engine.operator import as_method, composite, operator
from ..engine.spelling import spelled
from ..engine.tensor import InvalidArgument, InvalidType, Tensor, to_tensor
from .shape import _free, _ints, along, expand, flatten, reshape, unsqueeze

# fmt: off
__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shape", "broadcast_shapes", "broadcast_tensors",
    "cat", "chunk", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit", "hstack",
    "repeat_interleave", "row_stack", "split", "stack", "tensor_split", "unbind", "unstack", "vsplit",
    "vstack",
]
# fmt: on

# --- joining ------------------------------------------------------------------------------------------------


@operator(joint=lambda g, saved: tuple(split_view(g, *saved)))
def concat_tensors(*tensors, axis=0):
    """Joined along an axis that they have already."""
    kinds = {name_of(t.dtype) for t in tensors}
    if len(kinds) > 1:
        raise InvalidType(f"tensors to join have several dtypes: {', '.join(sorted(kinds))}")
    if len({t.ndim for t in tensors}) > 1:
        raise RuntimeError("tensors to join have different numbers of axes")
    axis = _free(tensors[0], axis)
    return torch.cat(tensors, axis), ([t.shape[axis] for t in tensors], axis)


@operator(joint=lambda g, axis: tuple(g.unbind(axis)))
def stack_tensors(*tensors, axis=0):
    """Joined along a new axis."""
    if len({t.dtype for t in tensors}) > 1:
        raise InvalidType("tensors to stack have several dtypes")
    return torch.stack(tensors, axis)


@spelled(out=True)
def concat(x, axis=0, name=None) -> Tensor:
    """The tensors of the list `x` joined along `axis`; their other axes must agree.

    >>> paddle.concat([paddle.zeros([2, 3]), paddle.ones([1, 3])]).shape
    paddle.Size([3, 3])
    """
    return concat_tensors(*_tensors(x), axis=int(axis))


cat, concatenate = with_name("cat", concat), with_name("concatenate", concat)


@spelled(out=True)
def stack(x, axis=0, name=None) -> Tensor:
    """The tensors of the list `x`, all of one shape, joined along a new axis."""
    tensors = _tensors(x)
    shapes = [list(t.shape) for t in tensors]
    if any(s != shapes[0] for s in shapes):
        raise InvalidArgument(f"stack: expected tensors of one shape, got {shapes}")
    return stack_tensors(*tensors, axis=_free(tensors[0], int(axis), 1))


def _tensors(x: Any) -> list[Any]:
    if not isinstance(x, (list, tuple)) or not x:
        got = "an empty one" if isinstance(x, (list, tuple)) else type(x).__name__
        raise InvalidType(f"x: expected a non-empty list of tensors, got {got}")
    return list(x)


def _atleast(n: int, doc: str) -> Any:
    """Make atleast_1d, atleast_2d or atleast_3d. New axes go around a vector and after a matrix."""

    def grown(x: Any) -> Any:
        x = x if isinstance(x, Tensor) else to_tensor(x)
        before = min(n - 1, 1) if x.ndim < 2 else 0
        shape = [1] * (before if x.ndim else n) + x.shape
        return x if x.ndim >= n else reshape(x, shape + [1] * (n - len(shape)))

    def atleast(*inputs, name=None) -> Any:
        listed = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
        if listed and any(isinstance(x, Tensor) for x in inputs[0]):
            inputs = tuple(inputs[0])
        found = [grown(x) for x in inputs]
        return found[0] if len(found) == 1 else found

    atleast.__name__ = f"atleast_{n}d"
    atleast.__doc__ = f"{doc}; of several inputs, a list."
    as_method(atleast)
    return atleast


atleast_1d = _atleast(1, "The input, a scalar as [1]")
atleast_2d = _atleast(2, "The input with at least two axes: a vector becomes a row")
atleast_3d = _atleast(3, "The input with at least three axes: [n] as [1, n, 1], and [n, m] as [n, m, 1]")


def _rows(name: str, n: int, axis: int, doc: str) -> Callable[..., Tensor]:
    """Make hstack and its kin: inputs of at least n axes joined along `axis` (vectors along their only
    one)."""

    def joined(x, name=None) -> Tensor:
        tensors = [_LEAST[n](t) for t in (x if isinstance(x, Tensor) else _tensors(x))]
        return concat_tensors(*tensors, axis=min(axis, tensors[0].ndim - 1))

    joined.__name__ = name
    joined.__doc__ = doc
    return spelled()(joined)


_LEAST = {1: atleast_1d, 2: atleast_2d, 3: atleast_3d}
_BELOW = "The tensors of the list `x` one below the other; a vector counts as a row."
hstack = _rows("hstack", 1, 1, "The tensors of the list `x` side by side along axis 1, vectors along axis 0.")
vstack, row_stack = _rows("vstack", 2, 0, _BELOW), _rows("row_stack", 2, 0, _BELOW)
dstack = _rows("dstack", 3, 2, "The tensors of the list `x` one behind the other: along axis 2.")


@spelled()
def column_stack(x, name=None) -> Tensor:
    """The tensors of the list `x` side by side as columns; a vector counts as a column."""
    return hstack([reshape(t, [-1, 1]) if t.ndim < 2 else t for t in _tensors(x)])


@spelled()
def broadcast_tensors(input, name=None) -> list[Tensor]:
    """The tensors of a list, repeated to the shape that they broadcast to."""
    tensors = _tensors(input)
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return [expand(t, shape) for t in tensors]


def broadcast_shapes(*shapes) -> list[int]:
    """The shape that arrays of these shapes broadcast to."""
    try:
        return list(torch.broadcast_shapes(*(_ints(s, "shape") for s in shapes)))
    except RuntimeError:
        raise InvalidArgument(f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast") from None


def broadcast_shape(x_shape, y_shape) -> list[int]:
    """The shape that arrays of two shapes broadcast to; -1 means an unknown length."""
    first, second = _ints(x_shape, "x_shape"), _ints(y_shape, "y_shape")
    if -1 not in (*first, *second):
        return broadcast_shapes(first, second)
    found = []
    for a, b in zip_longest(reversed(first), reversed(second), fillvalue=1):
        if a != b and not {1, -1} & {a, b}:
            raise InvalidArgument(f"broadcast_shape: shapes {first} and {second} do not broadcast")
        weak = (1,) if -1 not in (a, b) else (1, -1)  # a known length settles an unknown one
        found.append(-1 if {a, b} in ({-1}, {-1, 1}) else b if a in weak else a)
    return found[::-1]


@composite(method="")
def repeat_interleave(x, repeats, axis=None, name=None, *, output_size=None) -> Tensor:
    """Each slice along `axis` (of the flattened array when None) repeated: as often as an int or a vector
    says."""
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    axis = _free(x, axis)
    n = x.shape[axis]
    if isinstance(repeats, Tensor) and repeats.ndim:
        if repeats.shape != [n]:
            raise InvalidArgument(f"repeat_interleave: repeats: expected shape [{n}], got {[*repeats.shape]}")
        repeats = repeats.data.to(x.data.device)
        places = torch.repeat_interleave(torch.arange(n, device=repeats.device), repeats)
        return x.index_select(Tensor(places), axis)
    times = int(repeats)
    if times <= 0:
        raise InvalidArgument(f"repeat_interleave: repeats: expected at least 1, got {times}")
    before, after = list(x.shape[:axis]), list(x.shape[axis + 1 :])
    wide = expand(unsqueeze(x, axis + 1), [*before, n, times, *after])
    return reshape(wide, [*before, n * times, *after]) if wide.size else flatten(wide, axis, axis + 1)


# --- cutting ------------------------------------------------------------------------------------------------


@operator(lambda g, axis: concat_tensors(*g, axis=axis), view=True, returns=tuple[Tensor, ...])
def split_view(x, sizes, axis):
    """`split_sizes` without a copy: views, for code that only reads them."""
    axis = _free(x, axis)
    if x.shape[axis] != sum(sizes):
        raise RuntimeError(f"the sizes {list(sizes)} do not add up to {x.shape[axis]}")
    return torch.split(x, list(sizes), axis)


def equal_views(x: Any, count: int, axis: int) -> Any:
    """`split_view` into `count` equal parts."""
    return split_view(x, [x.shape[axis] // count] * count, axis)


@operator(lambda g, axis: concat_tensors(*g, axis=axis), returns=tuple[Tensor, ...])
def split_sizes(x, sizes, axis):
    """Cut along `axis` into pieces of the given sizes."""
    return _copies(split_view(x, sizes, axis))


def _copies(views: Any) -> tuple[Any, ...]:
    return tuple(v.clone(memory_format=torch.contiguous_format) for v in views)


@operator(lambda g, axis: stack_tensors(*g, axis=axis), view=True, returns=tuple[Tensor, ...])
def slices(x, axis):
    """The slices along `axis`, which is gone from them. Views."""
    return x.unbind(axis)


@operator(lambda g, axis: stack_tensors(*g, axis=axis), returns=tuple[Tensor, ...])
def unstacked(x, axis):
    """Copies of the slices along `axis`, which is gone from them."""
    return _copies(x.unbind(axis))


@spelled()
def split(x, num_or_sections, axis=0, name=None) -> list[Tensor]:
    """A list of the parts of `x` along `axis`: so many equal ones, or by a list of sizes (one may be -1)."""
    axis = _free(x, int(axis))
    length = x.shape[axis]
    if isinstance(num_or_sections, int):
        if num_or_sections <= 0 or length % num_or_sections:
            parts = f"{num_or_sections} equal parts"
            raise InvalidArgument(f"split: {parts} cannot be cut from an axis of length {length}")
        sizes = [length // num_or_sections] * num_or_sections
    elif isinstance(num_or_sections, (list, tuple)):
        sizes = _ints(num_or_sections, "num_or_sections")
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = length - sum(sizes) - 1
    else:
        raise InvalidType(f"split: num_or_sections: expected an int or a list, got {num_or_sections!r}")
    return list(split_sizes(x, sizes, axis))


@spelled()
def chunk(x, chunks, axis=0, name=None) -> list[Tensor]:
    """A list of `chunks` equal parts of `x` along `axis`."""
    return split(x, chunks, axis)


def unbind(input, axis=0) -> list[Tensor]:
    """A list of the slices of `input` along `axis`, which is gone from them. Views."""
    return list(slices(input, _free(input, axis)))


@spelled()
def unstack(x, axis=0, num=None) -> list[Tensor]:
    """A list of copies of the slices of `x` along `axis`; `num` says how many are expected."""
    found = list(unstacked(x, _free(x, axis)))
    if num is not None and num != len(found):
        raise InvalidArgument(f"unstack: num is {num}, but axis {axis} has length {len(found)}")
    return found


@spelled()
def tensor_split(x, num_or_indices, axis=0, name=None) -> list[Tensor]:
    """A list of the parts of `x` along `axis`: so many, as equal as can be, or cut before the given places
    (views)."""
    axis = _free(x, int(axis))
    length = x.shape[axis]
    if isinstance(num_or_indices, int):
        if num_or_indices <= 0:
            raise InvalidArgument(f"tensor_split: num_or_indices: expected at least 1, got {num_or_indices}")
        size, more = divmod(length, num_or_indices)
        return list(split_sizes(x, [size + (i < more) for i in range(num_or_indices)], axis))
    if not isinstance(num_or_indices, (list, tuple)):
        raise InvalidArgument(
            f"tensor_split: num_or_indices: expected an int or a list, got {num_or_indices!r}"
        )
    cuts = [slice(i).indices(length)[1] for i in _ints(num_or_indices, "num_or_indices")]
    return [x[along(axis, slice(a, b))] for a, b in zip([0, *cuts], [*cuts, length], strict=True)]


def _axis_split(name: str, axis: int, least: int, doc: str) -> Callable[..., list[Tensor]]:
    """Make hsplit and its kin: tensor_split along a fixed axis."""

    def cut(x, num_or_indices, name=None) -> list[Tensor]:
        if x.ndim < least:
            raise InvalidArgument(f"{cut.__name__}: expected at least {least} axes, got shape {[*x.shape]}")
        return tensor_split(x, num_or_indices, min(axis, x.ndim - 1))

    cut.__name__ = name
    cut.__doc__ = doc
    found = spelled()(cut)
    as_method(found)
    return found


hsplit = _axis_split(
    "hsplit", 1, 1, "A list of the parts of `x` along axis 1, of a vector along axis 0; see tensor_split."
)
vsplit = _axis_split("vsplit", 0, 2, "A list of the parts of `x` along axis 0; see tensor_split.")
dsplit = _axis_split("dsplit", 2, 3, "A list of the parts of `x` along axis 2; see tensor_split.")

for _function in (
    broadcast_shape,
    broadcast_shapes,
    broadcast_tensors,
    chunk,
    concat,
    split,
    stack,
    tensor_split,
    unbind,
    unstack,
):
    as_method(_function)
