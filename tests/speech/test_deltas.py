"""Deltas: by Kaldi's loop written out, librosa's, gradients, pieces."""

from pathlib import Path

import numpy as np
import pytest

import sampan as paddle
from sampan import speech

LIBROSA = np.load(Path(__file__).with_name("recorded_librosa.npz"))


def by_loops(x, order, window) -> np.ndarray:
    """Kaldi's DeltaFeatures: weights of each order by repeated convolution, frames clamped to the signal."""
    weights = [{0: 1.0}]
    for _ in range(order):
        next_weights: dict[int, float] = {}
        for j in range(-window, window + 1):
            for k, w in weights[-1].items():
                next_weights[j + k] = next_weights.get(j + k, 0.0) + j * w
        total = sum(j * j for j in range(-window, window + 1))
        weights.append({k: w / total for k, w in next_weights.items()})
    rows = [
        np.concatenate(
            [sum(w * x[min(max(t + k, 0), len(x) - 1)] for k, w in each.items()) for each in weights]
        )
        for t in range(len(x))
    ]
    return np.array(rows)


@pytest.mark.parametrize("order, window", [(1, 2), (2, 2), (2, 3), (3, 1)])
@pytest.mark.parametrize("frames", [1, 3, 20])
def test_values(order, window, frames) -> None:
    x = np.random.default_rng(0).standard_normal((frames, 4))
    found = speech.deltas(x, order, window).numpy()
    np.testing.assert_allclose(found, by_loops(x, order, window), atol=1e-12)
    both = speech.deltas(np.stack([x, x[::-1]]), order, window).numpy()
    np.testing.assert_array_equal(both[0], found)


def test_first_order_is_librosas_inside() -> None:
    decibels = LIBROSA["decibels"].T
    found = speech.deltas(decibels, order=1).numpy()[:, 40:]
    np.testing.assert_allclose(found[2:-2], LIBROSA["delta"].T[2:-2], rtol=1e-4, atol=1e-4)


def test_gradient_is_the_transpose() -> None:
    rng = np.random.default_rng(1)
    x = paddle.to_tensor(rng.standard_normal((9, 2)), stop_gradient=False)
    out = speech.deltas(x)
    weights = rng.standard_normal(out.shape)
    (out * paddle.to_tensor(weights)).sum().backward()
    direction = rng.standard_normal((9, 2))  # linear: the difference is exact
    np.testing.assert_allclose(
        (x.grad.numpy() * direction).sum(), (by_loops(direction, 2, 2) * weights).sum(), atol=1e-12
    )


@pytest.mark.parametrize("seed", range(8))
def test_any_pieces_give_the_bits_of_the_whole(seed) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rng.integers(1, 40), 3)).astype(np.float32)
    stream = speech.StreamingDeltas()
    made = [stream.feed(piece) for piece in np.split(x, sorted(rng.integers(0, len(x) + 1, 5)))]
    found = np.concatenate([*(m for m in made if len(m)), stream.finish()])
    np.testing.assert_array_equal(found, speech.deltas(x).numpy())
    assert stream.finish().shape == (0, 0)


def test_errors() -> None:
    assert speech.deltas(np.zeros((0, 4), np.float32)).shape == [0, 12]
    for call, message in [
        (
            lambda: speech.deltas(np.zeros(4, np.float32)),
            r"features: expected \[..., frames, columns\], got shape \[4\]",
        ),
        (lambda: speech.deltas(np.zeros((4, 2)), 0), "order: expected an integer of at least 1, got 0"),
        (lambda: speech.deltas(np.zeros((4, 2), np.int64)), "expected a floating Tensor"),
        (lambda: speech.deltas([[1.0]]), "expected a floating Tensor or NumPy array, got list"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    stream = speech.StreamingDeltas()
    stream.feed(np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match=r"expected \[frames, 2\], got shape \[3, 5\]"):
        stream.feed(np.zeros((3, 5), np.float32))
