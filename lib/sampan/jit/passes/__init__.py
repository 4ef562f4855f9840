"""Rewriting Programs whose parameters do not change: for evaluation and for files.

A pass takes a `Rewriting` and changes its steps; it may use the values of what is frozen. Each is a file
of its own; they run in this order.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..program import Program, Ref
from .common_subexpressions import merge_equal_calls
from .drop_copies import drop_copies
from .drop_indices import drop_indices
from .fold_batch_norm import fold_batch_norm
from .fold_constants import fold_constants
from .fuse_activation import fuse_activation
from .fuse_elementwise import fuse_elementwise
from .fuse_int8 import fuse_int8
from .fuse_linear import fuse_linear
from .rewriting import Form, Rewriting, drop_dead

__all__ = ["PASSES", "Form", "Rewriting", "optimized"]

PASSES = {
    "drop_copies": drop_copies,
    "fold_constants": fold_constants,
    "merge_equal_calls": merge_equal_calls,
    "fold_batch_norm": fold_batch_norm,
    "fuse_linear": fuse_linear,
    "fuse_activation": fuse_activation,
    "fuse_int8": fuse_int8,
    "drop_indices": drop_indices,
    "fuse_elementwise": fuse_elementwise,
}


def optimized(
    program: Program,
    frozen: dict[Ref, torch.Tensor],
    passes: Sequence[str] = tuple(PASSES),
    forms: dict[Ref, Form] | None = None,
) -> Rewriting:
    """The Program after these passes, and the constants that they added.

    frozen: the buffers of parameters and constants, which must not change as long as the result is used.
    forms: of the values of a run, without which elementwise calls are not fused.
    """
    rewriting = Rewriting(program, frozen, forms)
    for name in passes:
        PASSES[name](rewriting)
        drop_dead(rewriting)
    return rewriting
