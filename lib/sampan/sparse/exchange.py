"""Sparse tensors from and to SciPy, torch and files; the values' memory is shared where the layouts agree."""

from typing import Any

import torch

from ..dtype import as_device
from ..engine.tensor import Tensor
from ..serialization import kinds
from .creation import sparse_coo_tensor, sparse_csr_tensor
from .pattern import Coo
from .tensor import SparseTensor

__all__ = ["from_scipy", "from_torch", "to_scipy", "to_torch"]


def from_scipy(matrix: Any, stop_gradient: bool = True) -> SparseTensor:
    """A SciPy matrix or array: compressed rows stay compressed rows, any other format becomes coordinates.

    Raises TypeError for anything else.
    """
    import scipy.sparse

    if not scipy.sparse.issparse(matrix):
        raise TypeError(f"matrix: expected a scipy.sparse matrix, got {type(matrix).__name__}")
    if matrix.format == "csr":
        return sparse_csr_tensor(
            matrix.indptr,
            matrix.indices,
            Tensor(torch.from_numpy(matrix.data).to(as_device(None))),
            matrix.shape,
            stop_gradient=stop_gradient,
        )
    coo = matrix.tocoo()
    indices = torch.stack([torch.from_numpy(axis).long() for axis in (coo.row, coo.col)])
    return sparse_coo_tensor(indices, coo.data, coo.shape, stop_gradient=stop_gradient)


def to_scipy(x: SparseTensor) -> Any:
    """A matrix as scipy.sparse.csr_matrix or coo_matrix."""
    import scipy.sparse

    if x.ndim != 2 or x.dense_dim():
        raise ValueError(f"x: expected a matrix, got {x.sparse_dim()} sparse and {x.dense_dim()} dense axes")
    values = x.entries.data.cpu().numpy()  # shared; the places are copies
    if x.is_sparse_csr():
        parts = (values, *(part.data.cpu().numpy() for part in (x.cols(), x.crows())))
        return scipy.sparse.csr_matrix(parts, shape=tuple(x.shape), copy=False)
    return scipy.sparse.coo_matrix((values, tuple(x.indices().data.cpu().numpy())), shape=tuple(x.shape))


def from_torch(x: torch.Tensor, stop_gradient: bool = True) -> SparseTensor:
    """A torch.sparse tensor in the COO or CSR layout. Raises TypeError for any other."""
    if x.layout is torch.sparse_csr:
        crows, cols, values = (
            Tensor(v.detach().flatten()) for v in (x.crow_indices(), x.col_indices(), x.values())
        )
        return sparse_csr_tensor(crows, cols, values, list(x.shape), stop_gradient=stop_gradient)
    if x.layout is not torch.sparse_coo:
        raise TypeError(f"x: expected the layout torch.sparse_coo or torch.sparse_csr, got {x.layout}")
    made = sparse_coo_tensor(
        Tensor(x._indices()), Tensor(x._values().detach()), list(x.shape), stop_gradient=stop_gradient
    )
    made.pattern.coalesced = (
        x.is_coalesced() and made.pattern.ascends()
    )  # the flag of a torch tensor may be wrong
    return made


def to_torch(x: SparseTensor) -> torch.Tensor:
    """A torch.sparse tensor in the same layout, outside of every tape."""
    if x.is_sparse_csr():
        if x.ndim != 2:
            raise ValueError(f"x: expected a matrix, got shape {list(x.shape)}")
        parts = x.crows().data, x.cols().data, x.entries.data
        return torch.sparse_csr_tensor(*parts, tuple(x.shape), check_invariants=False)  # they were checked
    ordered = True if x.is_coalesced() else None
    return torch.sparse_coo_tensor(
        x.indices().data, x.entries.data, tuple(x.shape), is_coalesced=ordered, check_invariants=False
    )


def _to_parts(x: SparseTensor) -> dict[str, Any]:
    places = [Tensor(x.pattern.indices)] if isinstance(x.pattern, Coo) else [x.crows(), x.cols()]
    facts = {"coalesced": x.is_coalesced(), "stop_gradient": x.stop_gradient}
    return {
        "layout": x.pattern.layout,
        "places": places,
        "values": x.entries.detach(),
        "shape": list(x.shape),
        **facts,
    }


def _from_parts(parts: dict[str, Any]) -> SparseTensor:
    """The tensor, checked as any other input is: a file is not trusted."""
    make: Any = sparse_coo_tensor if parts["layout"] == "coo" else sparse_csr_tensor
    made: SparseTensor = make(
        *parts["places"], parts["values"], parts["shape"], stop_gradient=parts["stop_gradient"]
    )
    return made.ordered() if parts["coalesced"] else made


kinds["sparse"] = (SparseTensor, _to_parts, _from_parts)
