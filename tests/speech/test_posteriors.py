import numpy as np
import pytest

import sampan as paddle
from sampan.speech import posteriors


def test_tensors_arrays_and_lengths() -> None:
    logs = np.arange(24.0).reshape(2, 3, 4)
    for given in (logs, paddle.to_tensor(logs)):
        batch, valid = posteriors.batched(given, [2, 3])
        assert batch.tolist() == logs.tolist() and valid.tolist() == [2, 3]
    batch, valid = posteriors.batched(logs[0])
    assert batch.shape == (1, 3, 4) and valid.tolist() == [3]
    half = posteriors.scores_of(
        paddle.to_tensor(logs[0].astype("float32")).astype("float16"), "frames, vocabulary"
    )
    assert half.dtype == np.float32 and half.tolist() == logs[0].tolist()


def test_ids_and_blank() -> None:
    assert posteriors.check_ids("ids", [], 0, 3).tolist() == []
    assert posteriors.check_ids("ids", paddle.to_tensor([1, 2]), 0, 3).tolist() == [1, 2]
    for ids, words in (
        ([1, 3], "got 3"),
        ([-1], "got -1"),
        ([0], "without the blank 0, got 0"),
        ([1.5], "expected a list of token ids"),
        ([[1]], "expected a list of token ids"),
        ("12", "expected a list of token ids"),
    ):
        with pytest.raises(ValueError, match=words):
            posteriors.check_ids("ids", ids, 0, 3)
    posteriors.check_blank(2, 3)
    with pytest.raises(ValueError, match="blank: expected 0 to 2, got 3"):
        posteriors.check_blank(3, 3)
