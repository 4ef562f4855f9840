"""The sparse tensor: a pattern that never changes, and the values at its entries, an ordinary Tensor on the
tape."""

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..dtype import DataType, Place, Size, name_of
from ..engine.error_translation import InvalidOperand
from ..engine.printing import layout
from ..engine.tensor import Count, HookHandle, Tensor
from ..kernels.device import buffer
from ..ops.indexing import getitem
from ..ops.shape import reshape
from .operators import entries_joined, entries_picked, entries_placed
from .pattern import Coo, Csr, Rows


class NotDense(InvalidOperand, AttributeError):
    """A sparse tensor where a function reads the buffer of a dense one."""


def _no_buffer(x: "SparseTensor") -> Any:
    """`data` of a sparse tensor is refused."""
    error = NotDense("expected a dense Tensor, got a sparse one; to_dense() gives all its values")
    error.culprit = (x,)
    raise error


def _of_values(name: str) -> Any:
    def get(self: "SparseTensor") -> Any:
        return getattr(self.entries, name)

    def put(self: "SparseTensor", value: Any) -> None:
        setattr(self.entries, name, value)

    return property(get, put, doc=f"`{name}` of the values.")


class SparseTensor(Tensor):
    """A tensor that keeps only some of its entries: coordinates (COO) or compressed rows (CSR).

    It is a Tensor, as in Paddle, without a buffer of all its values: an operator of dense tensors refuses it
    by name.

    pattern: where the entries are, over the first, sparse axes. Loops index by it without a check, so nothing
    that is passed in or given out shares its memory. entries: a Tensor [nnz, dense axes ...] with their
    values; it is what the tape knows, so gradients are sparse: `.grad` has this tensor's pattern.
    """

    __slots__ = ("entries", "pattern")

    if TYPE_CHECKING:  # the functions of `sparse` become methods: see its __init__

        def __getattr__(self, name: str) -> Any: ...

    pattern: Any  # Coo or Csr; which of them, callers ask is_sparse_coo()
    entries: Tensor
    data: Any = property(_no_buffer)
    stop_gradient: Any = _of_values("stop_gradient")
    node: Any = _of_values("node")
    _grad: Any = _of_values("_grad")
    _name: Any = _of_values("_name")

    def __init__(self, pattern: Coo | Csr, entries: Tensor) -> None:
        self.pattern, self.entries = pattern, entries

    # --- what it is ---

    @property
    def shape(self) -> Size:
        """Lengths of the sparse axes, then of the dense axes."""
        return Size([*self.pattern.shape, *self.entries.data.shape[1:]])

    @property
    def dtype(self) -> DataType:
        """The dtype of the values."""
        return self.entries.dtype

    @property
    def place(self) -> Place:
        """The place of the values."""
        return self.entries.place

    @property
    def ndim(self) -> int:
        """The number of axes, sparse and dense."""
        return len(self.pattern.shape) + self.entries.ndim - 1

    @property
    def size(self) -> Count:
        """The number of elements of the dense tensor."""
        count = Count(math.prod(self.shape))
        count.lengths = self.shape
        return count

    @property
    def T(self) -> Any:
        """The tensor with its axes in reverse order."""
        return self.transpose(list(range(self.ndim))[::-1])

    def dim(self) -> int:
        """The number of axes, sparse and dense."""
        return self.ndim

    ndimension = dim

    def rank(self) -> Tensor:
        """The number of axes, an int32 Tensor."""
        return Tensor(torch.tensor(self.ndim, dtype=torch.int32))

    def numel(self, name: str | None = None) -> Tensor:
        """The number of elements of the dense tensor, an int64 Tensor."""
        return Tensor(torch.tensor(self.size))

    def sparse_dim(self) -> int:
        """How many axes the indices name: of compressed rows the two of each matrix, also where they form a
        batch."""
        return 2 if isinstance(self.pattern, Csr) else len(self.pattern.shape)

    def dense_dim(self) -> int:
        """The number of dense axes: those of the values after the first."""
        return self.entries.ndim - 1

    def is_sparse(self) -> bool:
        """True."""
        return True

    def is_dense(self) -> bool:
        """False."""
        return False

    def is_sparse_coo(self) -> bool:
        """Whether the layout is coordinates (COO)."""
        return isinstance(self.pattern, Coo)

    def is_sparse_csr(self) -> bool:
        """Whether the layout is compressed rows (CSR)."""
        return isinstance(self.pattern, Csr)

    def is_coalesced(self) -> bool:
        """Whether the indices are sorted and without duplicates."""
        return self.pattern.coalesced

    def nnz(self) -> int:
        """The number of stored entries, zeros and duplicates included."""
        return self.pattern.nnz

    def indices(self) -> Tensor:
        """[sparse axes, nnz], a copy. Raises ValueError for compressed rows."""
        return Tensor(self._laid_out(Coo, "indices").indices.clone())

    def crows(self) -> Tensor:
        """[rows + 1], for each batch one after the other, a copy. Raises ValueError for coordinates."""
        return Tensor(self._laid_out(Csr, "crows").crows.clone())

    def cols(self) -> Tensor:
        """[nnz], a copy. Raises ValueError for coordinates."""
        return Tensor(self._laid_out(Csr, "cols").cols.clone())

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
    def grad(self) -> Any:
        """The gradient of the values, at the same entries."""
        gradient = self.entries.grad
        return None if gradient is None else SparseTensor(self.pattern, gradient)

    @grad.setter
    def grad(self, value: Any) -> None:
        self.entries.grad = None if value is None else value.entries

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradient (set_to_zero), or remove it."""
        self.entries.clear_grad(set_to_zero)

    clear_gradient = clear_grad

    def retain_grads(self) -> None:
        """Keep the gradient of a tensor that is not a leaf in its `.grad`."""
        self.entries.retain_grads()

    def register_hook(self, hook: Any) -> HookHandle:
        """Call `hook(gradient)` when backward reaches this tensor; what it returns replaces the gradient."""

        def of_entries(gradient: Tensor) -> Tensor | None:
            changed = hook(self.like(gradient))
            return None if changed is None else changed.entries

        return self.entries.register_hook(of_entries)

    def backward(
        self, grad_tensor: Any = None, retain_graph: bool = False, dump_backward_graph_path: Any = None
    ) -> None:
        """As of a dense tensor; `grad_tensor` has this tensor's entries."""
        if grad_tensor is not None and grad_tensor.nnz() != self.nnz():
            raise ValueError(
                f"grad_tensor: expected {self.nnz()} entries, as the tensor has, got {grad_tensor.nnz()}"
            )
        self.entries.backward(None if grad_tensor is None else grad_tensor.entries, retain_graph)

    def detach(self) -> "SparseTensor":
        """The same values and pattern, outside of the tape."""
        return SparseTensor(self.pattern, self.entries.detach())

    def clone(self) -> "SparseTensor":
        """A copy of the values, on the tape; the pattern is shared."""
        return SparseTensor(self.pattern, self.entries.clone())

    def copy_(self, other: Any, blocking: bool = True) -> "SparseTensor":
        """Become a copy of `other`: its shape, its pattern and its values, outside of the tape. Returns this
        tensor.

        Raises RuntimeError, as Paddle does, for a dense tensor, another layout or another dtype.
        """
        if not isinstance(other, SparseTensor) or type(other.pattern) is not type(self.pattern):
            kind = other.pattern.layout.upper() if isinstance(other, SparseTensor) else type(other).__name__
            raise RuntimeError(f"copy_: expected a {self.pattern.layout.upper()} tensor, got {kind}")
        if other.dtype != self.dtype:
            raise RuntimeError(f"copy_: expected dtype {name_of(self.dtype)}, got {name_of(other.dtype)}")
        values = Tensor(
            other.entries.data.to(self.entries.data.device, copy=True), stop_gradient=self.stop_gradient
        )
        self.pattern, self.entries = other.pattern.on(values.data.device), values
        return self

    # --- other layouts ---

    def _unshared(self, made: "SparseTensor") -> "SparseTensor":
        """`made` with a copy of the values if it shares this tensor's, as Paddle's conversions do."""
        return made.like(made.entries.clone()) if made.entries is self.entries else made

    def coalesce(self, name: str | None = None) -> "SparseTensor":
        """Entries in lexicographic order of their places, those of one place added up; a copy."""
        return self._unshared(self.ordered())

    def ordered(self) -> "SparseTensor":
        """`coalesce` without a copy where nothing is to be done."""
        if self.pattern.coalesced:
            return self
        pattern, segments = self._laid_out(Coo, "coalesce").grouped
        return SparseTensor(
            pattern, self.entries if segments is None else entries_joined(self.entries, segments)
        )

    def distinct(self) -> "SparseTensor":
        """The tensor itself, its entries in any order, unless places repeat: then coalesced."""
        if self.pattern.coalesced or self.pattern.grouped[0].nnz == self.nnz():
            return self
        return self.ordered()

    def in_order(self, entries: Tensor) -> "SparseTensor":
        """A tensor of these values of `coalesce()`'s entries, with its places in the order that `distinct()`
        has."""
        once, segments = (self.pattern, None) if self.pattern.coalesced else self.pattern.grouped
        if segments is None or once.nnz != self.nnz():
            return SparseTensor(once, entries)
        order = buffer(segments[1]).long()
        places = torch.empty_like(order)
        places[order] = torch.arange(len(order), device=order.device)
        return self.like(entries_picked(entries, places))

    def to_dense(self) -> Tensor:
        """The whole tensor; what has no entry is 0."""
        if isinstance(self.pattern, Csr):
            return self.as_coo().to_dense()
        total = math.prod(self.pattern.shape)
        return reshape(entries_placed(self.entries, self.pattern.flat, total), self.shape)

    def to_sparse_coo(self, sparse_dim: int | None = None) -> "SparseTensor":
        """Coordinates over the first `sparse_dim` axes (the layout's own where None), with values of its
        own."""
        if sparse_dim is not None and sparse_dim != len(self.pattern.shape):
            return dense_to_coo(self.to_dense(), sparse_dim)
        return self if isinstance(self.pattern, Coo) else self._unshared(self.as_coo())

    def as_coo(self) -> "SparseTensor":
        """`to_sparse_coo` without a copy of the values."""
        return self if isinstance(self.pattern, Coo) else SparseTensor(self.pattern.as_coo(), self.entries)

    def to_sparse_csr(self) -> "SparseTensor":
        """Compressed rows of a matrix, or of a batch of matrices, with values of their own.

        Raises ValueError for other shapes.
        """
        return self if isinstance(self.pattern, Csr) else self._unshared(self.as_csr())

    def as_csr(self) -> "SparseTensor":
        """`to_sparse_csr` without a copy of the values."""
        if isinstance(self.pattern, Csr):
            return self
        if len(self.pattern.shape) not in (2, 3) or self.dense_dim():
            raise ValueError(
                "to_sparse_csr: expected 2 or 3 sparse axes and no dense ones, got "
                f"{len(self.pattern.shape)} and {self.dense_dim()}"
            )
        coo = self.ordered()
        return SparseTensor(Csr(None, coo.pattern.shape, coo.pattern.by_rows, coo.pattern.kind), coo.entries)

    def numpy(self, blocking: bool = True) -> np.ndarray:
        """The dense array."""
        return self.to_dense().numpy()

    def astype(self, dtype: Any) -> "SparseTensor":
        """A copy with the values in another dtype; the pattern is shared."""
        return SparseTensor(self.pattern, self.entries.astype(dtype))

    def to(self, *args: Any, **settings: Any) -> "SparseTensor":
        """Values and pattern elsewhere, or the values in another dtype: `to("gpu:0")`, `to("float64")`, as a
        Tensor's."""
        entries = self.entries.to(*args, **settings)
        return SparseTensor(self.pattern.on(entries.data.device), entries)

    def cpu(self) -> "SparseTensor":
        """`to("cpu")`."""
        return self.to("cpu")

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> "SparseTensor":
        """`to` a GPU, by default GPU 0."""
        return self.to(f"gpu:{device_id or 0}")

    def like(self, entries: Tensor) -> "SparseTensor":
        """Other values at the same entries."""
        return SparseTensor(self.pattern, entries)

    def contiguous(self) -> "SparseTensor":
        """Returns self: indices and values are contiguous."""
        return self

    def _move(self, device: Any, dtype: Any) -> None:
        self.entries._move(device, dtype)
        self.pattern = self.pattern.on(self.entries.data.device)

    def __len__(self) -> int:
        return self.shape[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> "SparseTensor":
        copied = memo[id(self)] = self.like(copy.deepcopy(self.entries, memo))  # the pattern never changes
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseTensor, (self.pattern, self.entries)

    def __repr__(self) -> str:
        parts = (
            {"indices": self.indices} if self.is_sparse_coo() else {"crows": self.crows, "cols": self.cols}
        )
        shown = [  # the blanks that end lines are Paddle's
            f"{name}={_written(part(), 8 + len(name))}"
            for name, part in {**parts, "values": self.values}.items()
        ]
        head = f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, place={self.place}"
        return f"{head}, stop_gradient={self.stop_gradient}, \n       " + ", \n       ".join(shown) + ")"


def _written(tensor: Tensor, indent: int) -> str:
    data = tensor.data.cpu().resolve_conj()
    return layout((data.float() if data.dtype is torch.bfloat16 else data).numpy(), indent)


# --- from dense tensors, and by rows ------------------------------------------------------------------------


def dense_to_coo(x: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """Coordinates of what is not 0 over the first `sparse_dim` axes; the other axes stay dense."""
    axes = x.ndim if sparse_dim is None else int(sparse_dim)
    if not 1 <= axes <= x.ndim:
        raise ValueError(f"sparse_dim: expected 1 to {x.ndim}, for shape {[*x.shape]}, got {sparse_dim}")
    there = x.data != 0
    if axes < x.ndim:
        there = there.flatten(axes).any(-1)
    places = there.nonzero(as_tuple=True)
    return SparseTensor(Coo(torch.stack(places), tuple(x.shape[:axes]), True), getitem(x, places))


def dense_to_csr(x: Tensor) -> SparseTensor:
    """Compressed rows of what is not 0, of a matrix or a batch of them."""
    if x.ndim not in (2, 3):
        raise ValueError(f"to_sparse_csr: expected 2 or 3 axes, got shape {[*x.shape]}")
    return dense_to_coo(x).as_csr()


def expect_sparse(x: Any, name: str = "x") -> SparseTensor:
    """`x`. Raises TypeError unless it is sparse."""
    if not isinstance(x, SparseTensor):
        raise TypeError(f"{name}: expected a sparse tensor, got {type(x).__name__}")
    return x


def by_rows(x: Any, function: str) -> tuple[Rows, Tensor]:
    """(the pattern in rows, the values in its order) of a sparse tensor, of coordinates too.

    Raises TypeError for a dense tensor, ValueError for entries that are themselves arrays.
    """
    x = expect_sparse(x).ordered()
    if x.entries.data.ndim > 1:
        raise ValueError(f"{function}: expected no dense axes, got {x.dense_dim()} in shape {list(x.shape)}")
    return x.pattern.by_rows, x.entries


def with_rows(rows: Rows, entries: Tensor, like: SparseTensor, shape: Sequence[int]) -> SparseTensor:
    """A tensor with these entries, in the layout of `like`."""
    if isinstance(like.pattern, Csr):
        return SparseTensor(Csr(None, tuple(shape), rows, like.pattern.kind), entries)
    return SparseTensor(Coo(None, tuple(shape), rows=rows, kind=like.pattern.kind), entries)
