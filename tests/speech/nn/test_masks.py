"""Masks against the sentence that defines them, written as loops."""

import numpy as np
import pytest

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech.nn import chunk_mask, draw_chunk, length_mask
from sampan.speech.nn.masks import _check_lengths, attention_mask


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("left", [-1, 0, 1, 3])
def test_a_frame_sees_its_chunk_and_so_many_before(chunk, left):
    found = chunk_mask(11, chunk, left).numpy()
    for i in range(11):
        first = 0 if left < 0 else max((i // chunk - left) * chunk, 0)
        end = min((i // chunk + 1) * chunk, 11)
        assert found[i].nonzero()[0].tolist() == list(range(first, end))


def test_the_example_of_the_module():
    assert chunk_mask(12, 3, 1).numpy()[7].nonzero()[0].tolist() == [3, 4, 5, 6, 7, 8]


def test_lengths():
    found = length_mask(paddle.to_tensor([2, 0, 3]), 3)
    assert found.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert _check_lengths(None, 2, 5).tolist() == [5, 5]
    given = np.array([1, 2], "int32")
    made = _check_lengths(given, 2, 5)
    given[:] = 99  # the caller's array may change
    assert made.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ([1, 6], InvalidArgument, r"lengths: expected 0 to 5, got \[1, 6\]"),
        ([-1, 2], InvalidArgument, "expected 0 to 5"),
        ([1, 2, 3], InvalidArgument, r"expected shape \[2\], got \[3\]"),
        ([1.0, 2.0], InvalidType, "expected integers, got torch.float32"),
        ([True, False], InvalidType, "expected integers"),
    ],
)
def test_bad_lengths(given, error, text):
    with pytest.raises(error, match=text):
        _check_lengths(given, 2, 5)


def test_bad_chunks():
    with pytest.raises(
        InvalidArgument, match=r"chunk_mask: chunk: expected 1 or more frames, or None, got 0"
    ):
        chunk_mask(4, 0)
    with pytest.raises(InvalidArgument, match=r"left_chunks: expected -1 \(all\) or more, got -2"):
        chunk_mask(4, 2, -2)


def test_drawn_chunks_are_all_frames_or_1_to_25_and_repeat_with_the_seed():
    paddle.seed(3)
    drawn = [draw_chunk(200) for _ in range(400)]
    paddle.seed(3)
    assert [draw_chunk(200) for _ in range(400)] == drawn
    chunks = [c for c in drawn if c is not None]
    assert set(chunks) <= set(range(1, 26))
    assert len(set(chunks)) > 20
    assert 140 < drawn.count(None) < 260  # half of them, within six standard deviations
    assert draw_chunk(1) is None


def test_the_mask_of_attention_joins_lengths_and_chunks():
    like = paddle.zeros([1], "float64")
    assert attention_mask(_check_lengths([4, 4], 2, 4), 4, None, -1, like) is None
    found = attention_mask(_check_lengths([4, 1], 2, 4), 4, 2, 0, like).numpy()
    assert found.shape == (2, 1, 4, 4)
    assert found.dtype == np.float64
    seen = found == 0
    assert (seen[0, 0] == chunk_mask(4, 2, 0).numpy()).all()
    # Row 1 has one frame; frames 1 to 3 are padding and see themselves.
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert (seen[1, 0] == np.array(expected, bool)).all()
    assert np.isneginf(found[~seen]).all()
