"""Sparse tensors: coordinates (COO) and compressed rows (CSR), their operators with gradients, and layers."""

from importlib import import_module
from typing import Any

from ..engine.spelling import spell as _spell
from . import elementwise, products, structure
from . import nn as nn
from .blocks import BlockMask as BlockMask
from .blocks import create_block_mask as create_block_mask
from .blocks import sliding_window as sliding_window
from .creation import sparse_coo_tensor as sparse_coo_tensor
from .creation import sparse_csr_tensor as sparse_csr_tensor
from .elementwise import *
from .exchange import *
from .products import *
from .structure import *
from .tensor import SparseTensor as SparseTensor
from .tensor import _of_values
from .tensor import dense_to_coo as dense_to_coo
from .tensor import dense_to_csr as dense_to_csr

_spell(globals(), "sampan.sparse")


def __getattr__(name: str) -> Any:
    if name == "Embedding":  # for ids without bounds, from the room of embeddings
        return import_module("sampan.embedding").DynamicEmbedding
    if name in ("binary", "multiary", "unary"):  # Paddle's modules inside: see inner
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Every function of a sparse tensor is its method too, and Python's operators are these.
_METHODS = {
    **{
        name: getattr(m, name)
        for m in (elementwise, products, structure)
        for name in m.__all__
        if name != "concat"
    },
    "__add__": elementwise.add,
    "__radd__": lambda self, other: elementwise.add(other, self),
    "__sub__": elementwise.subtract,
    "__rsub__": lambda self, other: elementwise.subtract(other, self),
    "__mul__": elementwise.multiply,
    "__rmul__": elementwise.multiply,
    "__truediv__": elementwise.divide,
    "__pow__": elementwise.pow,
    "__neg__": elementwise.neg,
    "__abs__": elementwise.abs,
    "__matmul__": products.matmul,
    "__rmatmul__": lambda self, other: products.matmul(other, self),
}
for _name, _method in _METHODS.items():
    if _name not in SparseTensor.__dict__:
        setattr(SparseTensor, _name, _method)


# What is asked of any Tensor and is a fact about the values.
for _name in (
    "_is_initialized",
    "device",
    "element_size",
    "get_device",
    "inplace_version",
    "is_complex",
    "is_cuda",
    "is_dist",
    "is_floating_point",
    "is_integer",
    "is_selected_rows",
    "itemsize",
    "name",
    "persistable",
    "requires_grad",
):
    setattr(SparseTensor, _name, _of_values(_name))
