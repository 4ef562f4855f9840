import itertools

import numpy as np
import pytest

import sampan as paddle
from sampan.speech import greedy


def by_hand(logs: np.ndarray, blank: int) -> list[int]:
    return [int(k) for k, _ in itertools.groupby(logs.argmax(1)) if k != blank]


@pytest.mark.parametrize("blank", [0, 3])
def test_the_best_path(blank: int) -> None:
    logs = np.random.default_rng(0).normal(size=(4, 40, 5)).astype(np.float32)
    lengths = [40, 0, 17, 1]
    expected = [by_hand(each[:n], blank) for each, n in zip(logs, lengths, strict=True)]
    assert greedy(logs, lengths, blank) == expected
    assert greedy(paddle.to_tensor(logs), paddle.to_tensor(lengths), blank) == expected
    assert greedy(logs[2], blank=blank) == [by_hand(logs[2], blank)]
    assert greedy(logs.astype(np.float64)[:, ::2, ::-1], blank=blank) == [
        by_hand(each, blank) for each in logs[:, ::2, ::-1]
    ]


def test_bad_input() -> None:
    logs = np.zeros((2, 3, 4), np.float32)
    for bad, words in (
        ((logs, [3]), r"lengths: expected 2 from 0 to 3, got \[3\]"),
        ((logs, [3, 4]), r"lengths: expected 2 from 0 to 3, got \[3, 4\]"),
        ((logs, [3, -1]), "lengths"),
        ((logs, None, 4), "greedy: blank: expected 0 to 3, got 4"),
        ((logs[0, 0],), r"expected \[batch, frames, vocabulary\], got the shape \[4\]"),
        ((logs[:, :, :0],), "got the shape"),
    ):
        with pytest.raises(ValueError, match=words):
            greedy(*bad)
    with pytest.raises(TypeError, match="expected float32 or float64, got int64"):
        greedy(logs.astype(np.int64))
    for place in (0, 2):
        broken = logs.copy()
        broken[1, 2, place] = np.nan
        with pytest.raises(ValueError, match="got NaN"):
            greedy(broken)
    assert greedy(np.where(np.arange(4) == 2, 0.0, -np.inf)[None]) == [[2]]
