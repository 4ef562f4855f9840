"""Features of pitch by their formulas; Kaldi's answers are in test_pitch.py."""

import numpy as np
import pytest

from sampan.speech import StreamingPitchFeatures, pitch_features
from sampan.speech.pitch_features import voicing_probability


def frames(count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.stack([rng.uniform(-1.1, 1.1, count), rng.uniform(60, 300, count)], 1).astype(np.float32)


def test_formulas() -> None:
    """Written again from the paper, frame by frame."""
    given = frames(40).astype(np.float64)
    found = pitch_features(
        given, left_context=5, right_context=3, delta_window=1, pov_scale=3.0, pov_offset=0.5, pitch_scale=1.5,
        delta_pitch_scale=4.0, raw_log_pitch=True,
    ).numpy()  # fmt: skip
    logs, weights = np.log(given[:, 1]), voicing_probability(given[:, 0])
    for t in range(40):
        near = slice(max(0, t - 5), t + 4)
        mean = np.average(logs[near], weights=weights[near])
        change = (logs[min(t + 1, 39)] - logs[max(t - 1, 0)]) / 2
        nccf = np.clip(given[t, 0], -1, 1)
        expected = [3 * ((1.0001 - nccf) ** 0.15 - 1) + 0.5, 1.5 * (logs[t] - mean), 4 * change, logs[t]]
        np.testing.assert_allclose(found[t], expected, rtol=1e-5, atol=1e-5)
    assert voicing_probability(np.array([1.0, -1.0])).tolist() == pytest.approx([0.99989, 0.99989], abs=1e-4)
    assert voicing_probability(0.0) < 0.01


@pytest.mark.parametrize("pieces", [[1] * 30, [0, 200], [3, 90, 0, 17, 40]])
@pytest.mark.parametrize("settings", [{}, {"left_context": 0, "right_context": 0}, {"left_context": 4}])
def test_any_pieces_give_the_same_bits(pieces: list[int], settings: dict[str, int]) -> None:
    given = frames(sum(pieces))
    expected = pitch_features(given, **settings).numpy()
    stream, found, at = StreamingPitchFeatures(**settings), [], 0
    for size in pieces:
        found.append(stream.feed(given[at : at + size]))
        at += size
    assert len(stream._held) <= 2 * 75 + 2 + max(pieces)
    found.append(stream.finish())
    assert (np.concatenate(found) == expected).all()


def test_bad_input() -> None:
    for bad, words in (
        (np.ones((3, 3)), r"found: expected \[frames, 2\], got the shape \[3, 3\]"),
        (np.zeros((3, 2)), "pitch above 0 Hz"),
        (np.full((3, 2), np.nan), "expected finite NCCF"),
    ):
        with pytest.raises(ValueError, match=words):
            pitch_features(bad)
    with pytest.raises(TypeError, match="delay: unknown"):
        pitch_features(frames(3), delay=1)
    with pytest.raises(ValueError, match="delta_window: expected an integer of at least 1"):
        pitch_features(frames(3), delta_window=0)
