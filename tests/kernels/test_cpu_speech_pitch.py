"""The kernels of pitch against slow twins."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.kernels import cpu_speech_pitch as kernels


def slow_viterbi(
    smooth: np.ndarray, lags: np.ndarray, soft: float, factor: float
) -> tuple[np.ndarray, float]:
    """(path, its cost): every change from every lag to every other one."""
    change = factor * (np.arange(len(lags))[:, None] - np.arange(len(lags))) ** 2
    cost, back = np.zeros(len(lags)), []
    for row in smooth.astype(np.float64):
        total = cost[:, None] + change
        back.append(total.argmin(0))
        cost = total.min(0) + 1 - row * (1 - soft * lags)
    at, found = int(cost.argmin()), []
    for step in reversed(back):
        found.append(at)
        at = int(step[at])
    return np.array(found[::-1]), float(cost.min())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 30), st.sampled_from([1e-4, 0.01, 1.0]), st.integers(0, 10**6))
def test_the_best_path(frames: int, size: int, factor: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    smooth = rng.uniform(-1, 1, (frames, size)).astype(np.float32)
    lags = np.sort(rng.uniform(0.002, 0.02, size))
    expected, _ = slow_viterbi(smooth, lags, 10.0, factor)
    cost, back = np.zeros(size), np.empty((frames, size), np.int32)
    half = frames // 2
    for part in (slice(half), slice(half, frames)):  # in two pieces
        kernels.viterbi(smooth[part], lags, 10.0, factor, cost, back[part])
    assert kernels.path(back, cost).tolist() == expected.tolist()
    count = kernels.agreed(back, cost)
    ends = []
    for j in range(size):  # every path, for the frames that all agree on
        alone = np.full(size, np.inf)
        alone[j] = 0.0
        ends.append(kernels.path(back, alone).tolist())
    assert all(end[:count] == ends[0][:count] for end in ends)
    assert count == frames or size == 1 or len({end[count] for end in ends}) > 1
    kernels.decide(back, cost, half)
    assert kernels.path(back, cost).tolist() == expected.tolist() and kernels.agreed(back, cost) > half


def test_correlations_are_numpys_in_both_forms(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    signal = rng.standard_normal(400).astype(np.float32)
    starts, weights = np.array([0, 3, 4]), rng.uniform(size=(3, 5))
    ballast, found = rng.uniform(1, 50, 20), []
    for parallel_from in (0, 1 << 62):
        monkeypatch.setattr(kernels._nccf_loop, "parallel_from", parallel_from)
        found.append(kernels.nccf(signal, 13, 50, 7, 9, ballast, starts, weights))
    assert all((a == b).all() for a, b in zip(*found, strict=True))
    for t in range(20):
        part = signal[13 * t : 13 * t + 65].astype(np.float64)
        part -= part[:50].mean()
        here = part[:50]
        others = np.stack([part[7 + k : 57 + k] for k in range(9)])
        norm = (here @ here) * (others**2).sum(1)
        for made, extra in zip(found[0], (ballast[t], 0.0), strict=True):
            coarse = others @ here / np.sqrt(norm + extra)
            expected = [weights[i] @ coarse[s : s + 5] for i, s in enumerate(starts)]
            np.testing.assert_allclose(made[t], expected, rtol=1e-5, atol=1e-6)


def test_running_variance_does_not_depend_on_pieces() -> None:
    x = np.random.default_rng(1).standard_normal(100).astype(np.float32)
    ends = np.array([10, 10, 40, 90, 100])
    found = kernels.mean_squares(x, 0, ends, np.zeros(3))
    np.testing.assert_allclose(found, [x[:n].astype(np.float64).var() for n in ends])
    sums = np.zeros(3)
    first = kernels.mean_squares(x[:40], 0, ends[:3], sums)
    assert [*first, *kernels.mean_squares(x[40:], 40, ends[3:], sums)] == found.tolist()


def test_weighted_means() -> None:
    values, weights = np.random.default_rng(2).uniform(0.5, 1, (2, 20))
    found = kernels.weighted_means(values, weights, 2, 4)
    expected = [
        np.average(values[max(0, t - 2) : t + 5], weights=weights[max(0, t - 2) : t + 5]) for t in range(20)
    ]
    np.testing.assert_allclose(found, expected)
