"""Log probabilities of tokens by frame, as decoders and the alignment take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor


def scores_of(log_probs: Any, axes: str) -> np.ndarray:
    """A float32 or float64 array of a Tensor or array; axes: what its axes are, for the error.

    Tensors are read in place: callers must not overwrite them meanwhile.
    """
    if isinstance(log_probs, Tensor):
        log_probs = log_probs.data.detach().cpu()
        log_probs = (log_probs.float() if log_probs.element_size() < 4 else log_probs).numpy()
    array = np.asarray(log_probs)
    if array.dtype not in (np.float32, np.float64):
        raise InvalidType(f"log_probs: expected float32 or float64, got {array.dtype}")
    if array.ndim != len(axes.split(", ")) or array.shape[-1] == 0:
        raise InvalidArgument(f"log_probs: expected [{axes}], got the shape {[*array.shape]}")
    return np.ascontiguousarray(array)


def batched(log_probs: Any, lengths: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """(array [batch, frames, vocabulary], int64 [batch], its valid frames) of [frames, vocabulary] or [batch,
    frames, vocabulary].

    lengths: [batch] ints, the valid frames of each sequence (default: all). Raises ValueError for others.
    """
    if getattr(log_probs, "ndim", np.ndim(log_probs)) == 2:
        batch = scores_of(log_probs, "frames, vocabulary")[None]
    else:
        batch = scores_of(log_probs, "batch, frames, vocabulary")
    if lengths is None:
        return batch, np.full(len(batch), batch.shape[1], np.int64)
    valid = [int(n) for n in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]
    if len(valid) != len(batch) or any(not 0 <= n <= batch.shape[1] for n in valid):
        raise InvalidArgument(f"lengths: expected {len(batch)} from 0 to {batch.shape[1]}, got {valid}")
    return batch, np.array(valid, np.int64)


def check_blank(blank: int, classes: int) -> None:
    """ValueError unless blank is one of the classes."""
    if not 0 <= blank < classes:
        raise InvalidArgument(f"blank: expected 0 to {classes - 1}, got {blank}")


def check_ids(name: str, ids: Sequence[int] | np.ndarray, blank: int, classes: int) -> np.ndarray:
    """int64 array of token ids; ValueError for one outside the vocabulary, or the blank."""
    found = np.asarray(ids.tolist() if isinstance(ids, Tensor) else ids)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise InvalidArgument(f"{name}: expected a list of token ids, got {ids!r}")
    found = found.astype(np.int64)
    wrong = found[(found < 0) | (found >= classes) | (found == blank)]
    if wrong.size:
        raise InvalidArgument(
            f"{name}: expected ids from 0 to {classes - 1} without the blank {blank}, got {wrong[0]}"
        )
    return found
