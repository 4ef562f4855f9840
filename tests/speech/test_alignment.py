"""Forced alignment beside the best of all paths, and beside the loss."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan.speech import align
from tests.speech import made_models


def collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [k for k, _ in itertools.groupby(path) if k != blank]


@pytest.mark.parametrize("ids", [[], [1], [1, 1], [2, 1], [1, 2, 1], [2, 2, 2]])
@pytest.mark.parametrize("blank", [0, 3])
def test_the_best_of_all_paths(ids: list[int], blank: int) -> None:
    logs = made_models.log_probs(6, 4, len(ids))
    scores = {
        path: sum(logs[t, k] for t, k in enumerate(path))
        for path in itertools.product(range(4), repeat=6)
        if collapsed(path, blank) == ids
    }
    best = max(scores, key=lambda path: scores[path])
    found = align(paddle.to_tensor(logs), ids, blank)
    assert found.path.tolist() == list(best) and found.score == pytest.approx(scores[best])
    assert [span.token for span in found.spans] == ids
    for span in found.spans:
        assert set(best[span.start : span.end]) == {span.token}
        mean = np.mean([logs[t, span.token] for t in range(span.start, span.end)])
        assert span.confidence == pytest.approx(math.exp(mean))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(2, 8), st.lists(st.integers(1, 7), max_size=20), st.integers(0, 10**6))
def test_any_label(frames: int, classes: int, ids: list[int], seed: int) -> None:
    """Spans are in order and cover what is not blank; the best path is at most as probable as all together."""
    ids = [1 + k % (classes - 1) for k in ids]
    logs = made_models.log_probs(frames, classes, seed)
    needed = len(ids) + sum(a == b for a, b in itertools.pairwise(ids))
    if frames < needed:
        with pytest.raises(ValueError, match=f"expected at least {needed} frames"):
            align(logs, ids)
        return
    found = align(logs.astype(np.float32), ids)
    assert collapsed(tuple(found.path.tolist()), 0) == ids
    covered = [t for span in found.spans for t in range(span.start, span.end)]
    assert covered == [t for t, k in enumerate(found.path) if k]
    loss = paddle.nn.functional.ctc_loss(
        paddle.to_tensor(logs[:, None]), paddle.to_tensor(np.array([ids], np.int64).reshape(1, -1)),
        paddle.to_tensor([frames]), paddle.to_tensor([len(ids)]), reduction="none",
    )  # fmt: skip
    assert found.score <= -float(loss[0]) + 1e-4


def test_bad_input() -> None:
    logs = made_models.log_probs(5, 4, 0)
    broken, masked = logs.copy(), logs.copy()
    broken[2, 3] = np.nan
    masked[:, 1] = -np.inf
    for given_, words in (
        ((logs, [1, 4]), "align: ids: expected ids from 0 to 3 without the blank 0, got 4"),
        ((logs, [-1]), "got -1"),
        ((logs, [0]), "without the blank"),
        ((logs, [1], 4), "blank: expected 0 to 3, got 4"),
        ((logs, [1, 1, 1, 2]), "expected at least 6 frames for 4 ids, got 5"),
        ((logs[:0], [1]), "expected at least 1 frames"),
        ((broken, [1]), "got NaN at frame 2"),
        ((masked, [1]), "every path of these ids has the probability 0"),
        ((logs[None], [1]), r"expected \[frames, vocabulary\]"),
    ):
        with pytest.raises(ValueError, match=words):
            align(*given_)
    assert align(logs[:0], []).spans == [] and align(logs[:0], []).score == 0.0
