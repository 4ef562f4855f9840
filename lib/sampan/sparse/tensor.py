"""The sparse tensor: a pattern that never changes, and the values at its entries, an ordinary Tensor on the tape."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..dtype import Place, Size, as_dtype
from ..ops.indexing import getitem
from ..ops.shape import reshape
from ..tensor import Tensor, to_tensor
from .operators import entries_joined, entries_placed
from .pattern import Coo, Csr, Rows, sorted_rows

__all__ = ["SparseTensor", "sparse_coo_tensor", "sparse_csr_tensor"]


class SparseTensor:
    """A tensor that keeps only some of its entries: coordinates (COO) or compressed rows (CSR).

    pattern: where the entries are, over the first, sparse axes. entries: a Tensor [nnz, dense axes ...] with their
    values; it is what the tape knows, so gradients are sparse: `.grad` has this tensor's pattern.
    """

    __slots__ = ("__weakref__", "entries", "pattern")
    __array_priority__ = 100  # so that `ndarray * SparseTensor` comes here

    if TYPE_CHECKING:  # the room's functions become methods: see its __init__

        def __getattr__(self, name: str) -> Any: ...

    pattern: Any  # Coo or Csr; which of them, callers ask is_sparse_coo()
    entries: Tensor

    def __init__(self, pattern: Coo | Csr, entries: Tensor) -> None:
        self.pattern, self.entries = pattern, entries

    # --- what it is ---

    @property
    def shape(self) -> Size:
        return Size([*self.pattern.shape, *self.entries.shape[1:]])

    @property
    def dtype(self) -> torch.dtype:
        return self.entries.dtype

    @property
    def place(self) -> Place:
        return self.entries.place

    @property
    def ndim(self) -> int:
        return len(self.pattern.shape) + self.entries.ndim - 1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def T(self) -> "SparseTensor":
        return self.transpose(list(range(self.ndim))[::-1])

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.size

    def sparse_dim(self) -> int:
        return len(self.pattern.shape)

    def dense_dim(self) -> int:
        return self.entries.ndim - 1

    def is_sparse(self) -> bool:
        return True

    def is_dense(self) -> bool:
        return False

    def is_sparse_coo(self) -> bool:
        return isinstance(self.pattern, Coo)

    def is_sparse_csr(self) -> bool:
        return isinstance(self.pattern, Csr)

    def is_coalesced(self) -> bool:
        return self.pattern.coalesced

    def nnz(self) -> int:
        return self.pattern.nnz

    def indices(self) -> Tensor:
        """[sparse axes, nnz]. Raises ValueError for compressed rows."""
        return Tensor(self._laid_out(Coo, "indices").indices)

    def crows(self) -> Tensor:
        """[rows + 1], for each batch one after the other. Raises ValueError for coordinates."""
        return Tensor(self._laid_out(Csr, "crows").crows)

    def cols(self) -> Tensor:
        """[nnz]. Raises ValueError for coordinates."""
        return Tensor(self._laid_out(Csr, "cols").cols)

    def values(self) -> Tensor:
        """[nnz, dense axes ...], on the tape."""
        return self.entries

    def _laid_out(self, layout: Any, what: str) -> Any:
        if not isinstance(self.pattern, layout):
            raise ValueError(
                f"{what}: expected a {layout.layout.upper()} tensor, got {self.pattern.layout.upper()}"
            )
        return self.pattern

    # --- the tape ---

    @property
    def stop_gradient(self) -> bool:
        return self.entries.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self.entries.stop_gradient = value

    @property
    def is_leaf(self) -> bool:
        return self.entries.is_leaf

    @property
    def grad(self) -> "SparseTensor | None":
        """The gradient of the values, at the same entries."""
        gradient = self.entries.grad
        return None if gradient is None else SparseTensor(self.pattern, gradient)

    def clear_grad(self, set_to_zero: bool = True) -> None:
        self.entries.clear_grad(set_to_zero)

    clear_gradient = clear_grad

    def backward(self, grad_tensor: "SparseTensor | None" = None, retain_graph: bool = False) -> None:
        """As of a dense tensor; `grad_tensor` has this tensor's entries."""
        if grad_tensor is not None and grad_tensor.nnz() != self.nnz():
            raise ValueError(
                f"grad_tensor: expected {self.nnz()} entries, as the tensor has, got {grad_tensor.nnz()}"
            )
        self.entries.backward(None if grad_tensor is None else grad_tensor.entries, retain_graph)

    def detach(self) -> "SparseTensor":
        return SparseTensor(self.pattern, self.entries.detach())

    def clone(self) -> "SparseTensor":
        return SparseTensor(self.pattern, self.entries.clone())

    # --- other layouts ---

    def coalesce(self, name: str | None = None) -> "SparseTensor":
        """Entries in lexicographic order of their places, those of one place added up."""
        if self.pattern.coalesced:
            return self
        pattern, segments = self._laid_out(Coo, "coalesce").grouped
        return SparseTensor(
            pattern, self.entries if segments is None else entries_joined(self.entries, segments)
        )

    def to_dense(self) -> Tensor:
        """The whole tensor; what has no entry is 0."""
        if isinstance(self.pattern, Csr):
            return self.to_sparse_coo().to_dense()
        total = math.prod(self.pattern.shape)
        return reshape(entries_placed(self.entries, self.pattern.flat, total), self.shape)

    def to_sparse_coo(self, sparse_dim: int | None = None) -> "SparseTensor":
        """Coordinates over the first `sparse_dim` axes (the layout's own where None)."""
        if sparse_dim is not None and sparse_dim != self.sparse_dim():
            return dense_to_coo(self.to_dense(), sparse_dim)
        if isinstance(self.pattern, Coo):
            return self
        pattern = Coo(None, self.pattern.shape, rows=self.pattern.by_rows, kind=self.pattern.kind)
        return SparseTensor(pattern, self.entries)

    def to_sparse_csr(self) -> "SparseTensor":
        """Compressed rows of a matrix, or of a batch of matrices. Raises ValueError for other shapes."""
        if isinstance(self.pattern, Csr):
            return self
        if self.sparse_dim() not in (2, 3) or self.dense_dim():
            raise ValueError(
                f"to_sparse_csr: expected 2 or 3 sparse axes and no dense ones, got {self.sparse_dim()} and "
                f"{self.dense_dim()}"
            )
        coo = self.coalesce()
        return SparseTensor(Csr(None, coo.pattern.shape, coo.pattern.by_rows, coo.pattern.kind), coo.entries)

    def numpy(self) -> np.ndarray:
        return self.to_dense().numpy()

    def astype(self, dtype: Any) -> "SparseTensor":
        return SparseTensor(self.pattern, self.entries.astype(dtype))

    def to(self, *args: Any, **settings: Any) -> "SparseTensor":
        """Values and pattern elsewhere, or the values in another dtype: `to("gpu:0")`, `to("float64")`, as a Tensor's."""
        entries = self.entries.to(*args, **settings)
        return SparseTensor(self.pattern.on(entries.data.device), entries)

    def cpu(self) -> "SparseTensor":
        return self.to("cpu")

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> "SparseTensor":
        return self.to(f"gpu:{device_id or 0}")

    def like(self, entries: Tensor) -> "SparseTensor":
        """Other values at the same entries."""
        return SparseTensor(self.pattern, entries)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        parts = (
            {"indices": self.indices} if self.is_sparse_coo() else {"crows": self.crows, "cols": self.cols}
        )
        shown = [
            f"{name}={_indented(part(), name)}" for name, part in {**parts, "values": self.values}.items()
        ]
        head = f"Tensor(shape={list(self.shape)}, dtype={str(self.dtype).removeprefix('torch.')}, place={self.place}"
        return f"{head}, stop_gradient={self.stop_gradient},\n       " + ",\n       ".join(shown) + ")"


def _indented(tensor: Tensor, name: str) -> str:
    return np.array2string(tensor.detach().numpy(), separator=", ", prefix=" " * 8 + name, threshold=40)


# --- making them ----------------------------------------------------------------------------------------------


def _integers(value: Any, name: str) -> torch.Tensor:
    found = value.data if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))
    if found.dtype not in (torch.int32, torch.int64):
        if found.is_floating_point() or found.is_complex() or found.dtype is torch.bool:
            raise TypeError(f"{name}: expected integers, got {str(found.dtype).removeprefix('torch.')}")
        found = found.long()
    return found.contiguous()


def _entries(values: Any, dtype: Any, place: Any, stop_gradient: bool) -> Tensor:
    made = to_tensor(values, dtype=dtype, place=place) if not isinstance(values, Tensor) else values
    if dtype is not None and made.dtype is not as_dtype(dtype):
        made = made.astype(dtype)
    if not stop_gradient and made.stop_gradient:
        made = made.detach()
        made.stop_gradient = False
    return made


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> SparseTensor:
    """A tensor by coordinates. indices: [sparse axes, nnz] integers; values: [nnz, dense axes ...].

    shape: of the whole tensor, dense axes included; None takes the smallest that holds the indices. Places may repeat:
    their values add up (see coalesce). Raises ValueError for lengths that differ, a shape that does not fit, and
    an index outside the shape, naming which.
    """
    entries = _entries(values, dtype, place, stop_gradient)
    places = _integers(indices, "indices").to(entries.data.device)
    if places.ndim != 2:
        raise ValueError(f"indices: expected [sparse axes, nnz], got shape {list(places.shape)}")
    axes, count = places.shape
    if entries.ndim < 1 or entries.shape[0] != count:
        raise ValueError(
            f"values: expected {count}, one for each column of indices, got shape {entries.shape}"
        )
    dense = list(entries.shape[1:])
    if shape is None:
        if count == 0:
            raise ValueError("shape: must be given where there are no indices to take it from")
        shape = [*(int(row.max()) + 1 for row in places), *dense]
    shape = [int(n) for n in shape]
    if any(n < 0 for n in shape):
        raise ValueError(f"shape: expected lengths of 0 or more, got {shape}")
    if len(shape) != axes + len(dense) or shape[axes:] != dense:
        raise ValueError(
            f"shape: expected {axes} sparse lengths followed by those of the values, {dense}, got {shape}"
        )
    low, high = places.aminmax(dim=1) if count else (places[:, 0:0], places[:, 0:0])
    for axis in range(axes if count else 0):
        if int(low[axis]) < 0 or int(high[axis]) >= shape[axis]:
            at = int(((places[axis] < 0) | (places[axis] >= shape[axis])).nonzero()[0])
            raise ValueError(
                f"indices[{axis}, {at}]: expected 0 to {shape[axis] - 1}, for shape {shape}, got {int(places[axis, at])}"
            )
    return SparseTensor(Coo(places, tuple(shape[:axes])), entries)


def sparse_csr_tensor(
    crows: Any,
    cols: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> SparseTensor:
    """A matrix by compressed rows, or a batch of them. crows: [rows + 1] for each batch, one after the other.

    Row r has the entries crows[r] to crows[r + 1]: columns `cols`, values `values`, both [nnz]. Columns that do not
    ascend within a row are sorted. Raises ValueError for crows that do not start at 0, decrease, or do not end at the
    number of entries, and for a column outside the shape, naming the place.
    """
    entries = _entries(values, dtype, place, stop_gradient)
    starts, columns = (
        _integers(v, name).to(entries.data.device) for v, name in ((crows, "crows"), (cols, "cols"))
    )
    if starts.ndim != 1 or columns.ndim != 1 or entries.ndim != 1:
        raise ValueError(
            f"crows, cols, values: expected one axis each, got {starts.ndim}, {columns.ndim}, {entries.ndim}"
        )
    count = columns.shape[0]
    if entries.shape[0] != count:
        raise ValueError(f"values: expected {count}, one for each of cols, got {entries.shape[0]}")
    if shape is None:
        if count == 0:
            raise ValueError("shape: must be given where there are no columns to take it from")
        shape = [starts.shape[0] - 1, int(columns.max()) + 1]
    shape = [int(n) for n in shape]
    if len(shape) not in (2, 3) or any(n < 0 for n in shape):
        raise ValueError(f"shape: expected [rows, columns] or [batch, rows, columns], got {shape}")
    *lead, height, width = shape
    batch = math.prod(lead)
    if starts.shape[0] != batch * (height + 1):
        raise ValueError(f"crows: expected {batch * (height + 1)} for shape {shape}, got {starts.shape[0]}")
    table = starts.reshape(batch, height + 1)
    if batch and bool((table[:, 0] != 0).any()):
        raise ValueError(f"crows: expected 0 at the start of each matrix, got {table[:, 0].tolist()}")
    falls = (table[:, 1:] < table[:, :-1]).flatten().nonzero()
    if len(falls):
        at = int(falls[0]) + 1 + int(falls[0]) // max(height, 1)
        raise ValueError(
            f"crows[{at}]: expected {int(starts[at - 1])} or more, as before it, got {int(starts[at])}"
        )
    if int(table[:, -1].sum() if batch else 0) != count:
        raise ValueError(
            f"crows: expected to end at the number of entries, {count}, got {int(table[:, -1].sum())}"
        )
    outside = (columns < 0) | (columns >= width)
    if count and bool(outside.any()):
        at = int(outside.nonzero()[0])
        raise ValueError(f"cols[{at}]: expected 0 to {width - 1}, for shape {shape}, got {int(columns[at])}")
    pattern = Csr((starts, columns), tuple(shape))
    blocks = pattern.by_rows
    rows, segments = sorted_rows(blocks.rows, blocks.cols, blocks.shape)
    if segments is None:
        return SparseTensor(pattern, entries)
    summed = entries_joined(entries, segments)
    return SparseTensor(Csr(None, tuple(shape), rows, columns.dtype), summed)


def dense_to_coo(x: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """Coordinates of what is not 0 over the first `sparse_dim` axes; the other axes stay dense."""
    axes = x.ndim if sparse_dim is None else int(sparse_dim)
    if not 1 <= axes <= x.ndim:
        raise ValueError(f"sparse_dim: expected 1 to {x.ndim}, for shape {x.shape}, got {sparse_dim}")
    there = x.data != 0
    if axes < x.ndim:
        there = there.flatten(axes).any(-1)
    places = there.nonzero(as_tuple=True)
    return SparseTensor(Coo(torch.stack(places), tuple(x.shape[:axes]), True), getitem(x, places))


def dense_to_csr(x: Tensor) -> SparseTensor:
    """Compressed rows of what is not 0, of a matrix or a batch of them."""
    if x.ndim not in (2, 3):
        raise ValueError(f"to_sparse_csr: expected 2 or 3 axes, got shape {x.shape}")
    return dense_to_coo(x).to_sparse_csr()


def rows_of(x: SparseTensor, what: str) -> Rows:
    """The entries by rows, of coordinates too. Raises ValueError for entries that are themselves arrays."""
    if x.dense_dim():
        raise ValueError(f"{what}: expected no dense axes, got {x.dense_dim()} in shape {list(x.shape)}")
    return x.coalesce().pattern.by_rows


def with_rows(rows: Rows, entries: Tensor, like: SparseTensor, shape: Sequence[int]) -> SparseTensor:
    """A tensor with these entries, in the layout of `like`."""
    if isinstance(like.pattern, Csr):
        return SparseTensor(Csr(None, tuple(shape), rows, like.pattern.kind), entries)
    return SparseTensor(Coo(None, tuple(shape), rows=rows, kind=like.pattern.kind), entries)
