"""Normalization: Kaldi's loops written out, finite differences, pieces."""

import numpy as np
import pytest

import sampan as paddle
from sampan import speech


def features(frames=50, columns=3, seed=0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((frames, columns)) * [1, 5, 0.2] + [10, -3, 100]


def test_global() -> None:
    parts = [features(30, seed=1).astype(np.float32), paddle.to_tensor(features(20, seed=2))]
    stats = speech.cmvn_stats(parts)
    together = np.concatenate([parts[0].astype(np.float64), parts[1].numpy()])
    np.testing.assert_allclose(stats.mean, together.mean(0))
    np.testing.assert_allclose(stats.std, together.std(0), rtol=1e-6)
    found = speech.cmvn(together, stats).numpy()
    np.testing.assert_allclose(found, (together - together.mean(0)) / together.std(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(speech.cmvn(together).numpy(), found, atol=1e-5)
    np.testing.assert_allclose(speech.cmvn(together, norm_vars=False).numpy().mean(0), 0, atol=1e-12)
    assert (speech.cmvn(np.ones((4, 3))).numpy() == 0).all()  # a column without variance


def sliding_by_loops(x, window, least, center, norm_vars) -> np.ndarray:
    """Kaldi's SlidingWindowCmn, line by line."""
    frames, rows = len(x), []
    for t in range(frames):
        if center:
            start = t - window // 2
            stop = start + window
        else:
            start, stop = t - window, t + 1
        if start < 0:
            stop -= start
            start = 0
        if not center and stop > t:
            stop = max(t + 1, least)
        if stop > frames:
            start -= stop - frames
            stop = frames
            start = max(start, 0)
        part = x[start:stop]
        row = x[t] - part.mean(0)
        if norm_vars:
            row = np.zeros_like(row) if len(part) == 1 else row / np.sqrt(np.maximum(part.var(0), 1e-10))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("norm_vars", [False, True])
@pytest.mark.parametrize(
    "window, least, frames", [(10, 4, 50), (9, 1, 50), (100, 20, 50), (7, 30, 12), (5, 2, 1)]
)
def test_sliding(center, norm_vars, window, least, frames) -> None:
    x = features(frames)
    found = speech.sliding_cmvn(x, window, least, center, norm_vars).numpy()
    np.testing.assert_allclose(
        found, sliding_by_loops(x, window, least, center, norm_vars), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("function", [speech.sliding_cmvn, speech.cmvn])
def test_gradients_are_central_differences(function) -> None:
    x, rng = features(20), np.random.default_rng(3)
    settings = {"window": 8, "min_window": 3, "norm_vars": True} if function is speech.sliding_cmvn else {}
    given = paddle.to_tensor(x, stop_gradient=False)
    out = function(given, **settings)
    weights, direction, step = rng.standard_normal(out.shape), rng.standard_normal(x.shape), 1e-5
    (out * paddle.to_tensor(weights)).sum().backward()
    up, down = ((function(x + s * step * direction, **settings).numpy() * weights).sum() for s in (1, -1))
    np.testing.assert_allclose((given.grad.numpy() * direction).sum(), (up - down) / (2 * step), rtol=1e-4)


def online_by_loops(x, stats, window, global_frames, norm_vars) -> np.ndarray:
    rows = []
    for t in range(len(x)):
        part = x[max(0, t + 1 - window) : t + 1]
        count, sums, squares = len(part), part.sum(0), (part**2).sum(0)
        if stats is not None and count < window:
            share = min(window - count, global_frames)
            sums = sums + stats.sums * share / stats.count
            squares = squares + stats.squares * share / stats.count
            count += share
        row = x[t] - sums / count
        if norm_vars:
            row = row / np.sqrt(np.maximum(squares / count - (sums / count) ** 2, 1e-10))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("with_stats", [False, True])
@pytest.mark.parametrize("norm_vars", [False, True])
@pytest.mark.parametrize("window", [1, 7, 600])
def test_online_and_any_pieces(with_stats, norm_vars, window) -> None:
    x = features(60).astype(np.float32)
    stats = speech.cmvn_stats([features(40, seed=9)]) if with_stats else None
    settings = {"window": window, "global_frames": 5, "norm_vars": norm_vars}
    whole = speech.online_cmvn(x, stats, **settings).numpy()
    if window > 1 or not norm_vars or with_stats:
        expected = online_by_loops(x.astype(np.float64), stats, window, 5, norm_vars)
        first = 1 if norm_vars and not with_stats else 0  # the variance of one frame is rounding
        np.testing.assert_allclose(whole[first:], expected[first:], rtol=1e-4, atol=1e-3)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        online = speech.OnlineCmvn(stats, **settings)
        made = [online.feed(piece) for piece in np.split(x, sorted(rng.integers(0, 61, 6)))]
        np.testing.assert_array_equal(np.concatenate(made), whole)
    assert len(online._sums) <= window + 1


def test_errors() -> None:
    x = features()
    stats = speech.cmvn_stats([x])
    for call, message in [
        (lambda: speech.cmvn_stats([]), "features: expected at least one frame, got none"),
        (lambda: speech.cmvn_stats([x, x * np.nan]), "recording 1 has others"),
        (lambda: speech.cmvn_stats([x, x[:, :2]]), r"expected \[frames, columns\], got shape \[50, 2\]"),
        (lambda: speech.cmvn(x[:, :2], stats), "stats: expected 2 columns, got 3"),
        (lambda: speech.sliding_cmvn(x, 0), "window: expected an integer of at least 1, got 0"),
        (lambda: speech.sliding_cmvn(x[None]), r"expected \[frames, columns\], got shape \[1, 50, 3\]"),
        (lambda: speech.OnlineCmvn(stats).feed(x[:, :2]), "expected 3 columns, as in stats, got 2"),
        (lambda: speech.OnlineCmvn().feed(x * np.inf), "expected finite numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert speech.sliding_cmvn(x[:0]).shape == [0, 3] and speech.cmvn(x[:0]).shape == [0, 3]
