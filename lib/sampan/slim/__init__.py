"""Smaller networks: filters removed with all that belongs to them, and students of larger networks.

Names are PaddleSlim's. Networks in 8 bits: `paddle.quantization`.
"""

from .analysis import file_bytes, flops, latencies, model_size
from .compression import Compressed, compress
from .distill import DML, distil, dkd, fsp, l2, soft_label
from .pruners import (
    FilterPruner,
    FPGMFilterPruner,
    L1NormFilterPruner,
    L2NormFilterPruner,
    PruningPlan,
    get_ratios_by_loss,
    merge_sensitive,
)
from .unstructured import GMPUnstructuredPruner, UnstructuredPruner

__all__ = [
    "DML",
    "Compressed",
    "FPGMFilterPruner",
    "FilterPruner",
    "GMPUnstructuredPruner",
    "L1NormFilterPruner",
    "L2NormFilterPruner",
    "PruningPlan",
    "UnstructuredPruner",
    "compress",
    "distil",
    "dkd",
    "file_bytes",
    "flops",
    "fsp",
    "get_ratios_by_loss",
    "l2",
    "latencies",
    "merge_sensitive",
    "model_size",
    "soft_label",
]
