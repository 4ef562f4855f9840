"""Forced alignment: at which frames the tokens of a known text are spoken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import InvalidArgument
from ..kernels import speech as kernels
from .posteriors import check_blank, check_ids, scores_of


class Span(NamedTuple):
    """A token at the frames start to end, end excluded; confidence: e^mean of its log probabilities there."""

    token: int
    start: int
    end: int
    confidence: float


class Alignment(NamedTuple):
    """path: the token id of each frame, the blank between spans, int64 [frames]. spans: one for each token
    of the label. score: log probability of the path."""

    path: np.ndarray
    spans: list[Span]
    score: float


def align(log_probs: Any, ids: Sequence[int], blank: int = 0) -> Alignment:
    """The most probable path that spells `ids`, by the Viterbi algorithm over the CTC states (Graves et al.,
    2006).

    log_probs: Tensor or array [frames, vocabulary]. ids: token ids of the text. Raises ValueError for ids
    outside the vocabulary, for NaN, for fewer frames than the ids need (one each, and a blank between equal
    ones), and where every path has the probability 0.
    """
    logs = scores_of(log_probs, "frames, vocabulary")
    check_blank(blank, logs.shape[1])
    label = check_ids("ids", ids, blank, logs.shape[1])
    needed = label.size + int((label[1:] == label[:-1]).sum())
    if len(logs) < needed:
        raise InvalidArgument(
            f"log_probs: expected at least {needed} frames for {label.size} ids, got {len(logs)}"
        )
    if np.isnan(logs).any():
        raise InvalidArgument(
            f"log_probs: expected numbers, got NaN at frame {np.isnan(logs).any(1).argmax()}"
        )
    path, tokens, score = kernels.best_path(logs, label, blank)
    if score == -math.inf:
        raise InvalidArgument("log_probs: every path of these ids has the probability 0")
    starts = np.searchsorted(np.maximum.accumulate(tokens), np.arange(label.size))
    spans = []
    for u, start in enumerate(starts.tolist()):
        end = start + int((tokens == u).sum())
        confidence = math.exp(float(logs[start:end, label[u]].mean(dtype=np.float64)))
        spans.append(Span(int(label[u]), start, end, confidence))
    return Alignment(path, spans, float(score))
