"""Greedy decoding of CTC posteriors: the best path."""

from __future__ import annotations

from typing import Any

from ..engine.errors import InvalidArgument
from ..kernels import speech as kernels
from .posteriors import batched, check_blank


def greedy(log_probs: Any, lengths: Any = None, blank: int = 0) -> list[list[int]]:
    """Token ids of the most probable path of each sequence, with repeats merged and blanks removed (Graves
    et al., 2006, section 3.2).

    log_probs: Tensor or array [batch, frames, vocabulary] or [frames, vocabulary], logits or log
    probabilities. lengths: [batch], the valid frames of each sequence (default: all). Of equal scores the
    first token counts. Raises ValueError for NaN, for a blank outside the vocabulary, and for lengths that
    do not fit.
    """
    scores, valid = batched(log_probs, lengths)
    check_blank(blank, scores.shape[2])
    best = kernels.best_classes(scores, valid)
    if (best < 0).any():
        raise InvalidArgument("log_probs: expected numbers, got NaN")
    kept = best != blank
    kept[:, 1:] &= best[:, 1:] != best[:, :-1]
    return [row[:n][kind[:n]].tolist() for row, kind, n in zip(best, kept, valid, strict=True)]
