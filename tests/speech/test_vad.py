"""Voice activity: Kaldi's rule written out, real digits between silence, pieces."""

import io
import wave

import numpy as np
import pytest

from sampan import speech


@pytest.mark.parametrize("context, proportion", [(0, 0.6), (2, 0.6), (5, 0.3), (3, 1.0)])
def test_kaldis_rule(context, proportion) -> None:
    x = np.random.default_rng(0).uniform(5, 25, 60)
    cut, expected = 5.0 + 0.5 * x.mean(), []
    for t in range(60):
        near = [x[u] > cut for u in range(t - context, t + context + 1) if 0 <= u < 60]
        expected.append(sum(near) >= proportion * len(near))
    found = speech.energy_vad(x, context=context, proportion=proportion)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == bool and speech.energy_vad(np.zeros(0)).shape == (0,)


def test_segments() -> None:
    flags = np.zeros(200, bool)
    flags[20:50] = flags[60:90] = flags[150:155] = True
    assert speech.segments(flags, 0.01) == [(0.2, 0.9)]
    assert speech.segments(flags, 0.01, min_silence=0.05, min_speech=0.0) == [
        (0.2, 0.5),
        (0.6, 0.9),
        (1.5, 1.55),
    ]
    assert speech.segments(np.ones(100, bool), 0.01) == [(0.0, 1.0)] and speech.segments([]) == []


def recording(seed: int = 0) -> np.ndarray:
    """Two bursts of noise at 0.5 to 0.9 s and 1.5 to 2.1 s over a quiet background, 16 kHz."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(16000 * 3) * 1e-3
    for start, end in ((0.5, 0.9), (1.5, 2.1)):
        x[int(start * 16000) : int(end * 16000)] += rng.standard_normal(round((end - start) * 16000)) * 0.1
    return x.astype(np.float32)


def test_bursts_are_found() -> None:
    found = speech.detect_speech(recording())
    np.testing.assert_allclose(found, [(0.5, 0.9 + 0.2), (1.5, 2.1 + 0.2)], atol=0.02)  # with the hangover
    assert speech.detect_speech(np.zeros(16000, np.float32)) == []


def test_a_louder_background_is_learned() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(16000 * 12) * np.where(np.arange(16000 * 12) < 16000, 1e-3, 6e-3)
    flags = speech.StreamingVad().feed(x.astype(np.float32))
    assert flags[110:150].all() and not flags[-100:].any()


@pytest.mark.parametrize("seed", range(6))
def test_decisions_do_not_depend_on_the_pieces(seed) -> None:
    x, rng = recording(seed), np.random.default_rng(seed)
    whole, stream = speech.StreamingVad().feed(x), speech.StreamingVad()
    made = [stream.feed(piece) for piece in np.split(x, sorted(rng.integers(0, len(x), 30)))]
    np.testing.assert_array_equal(np.concatenate(made), whole)


def test_real_digits_between_silence(real_sounds) -> None:
    rng = np.random.default_rng(2)
    for content in real_sounds("fsdd", 12):
        with wave.open(io.BytesIO(content)) as held:
            digit = np.frombuffer(held.readframes(10**6), "<i2") / np.float32(32768)
        quiet = rng.standard_normal((2, 8000)).astype(np.float32) * 1e-4  # below the recordings' own silence
        found = speech.detect_speech(np.concatenate([quiet[0], digit, quiet[1]]), 8000)
        assert found, "a digit was not found"
        assert found[0].start > 0.95 and found[-1].end < 1 + len(digit) / 8000 + 0.25
        covered = sum(end - start for start, end in found)
        assert covered > 0.4 * len(digit) / 8000


def test_errors() -> None:
    for call, message in [
        (lambda: speech.energy_vad(np.zeros((2, 2))), r"log_energies: expected finite numbers \[frames\]"),
        (lambda: speech.energy_vad([1.0, np.nan]), "log_energies: expected finite numbers"),
        (lambda: speech.energy_vad([1.0], proportion=0), "proportion: expected above 0 to 1, got 0"),
        (lambda: speech.segments(np.zeros((2, 2))), r"speech: expected \[frames\], got shape \[2, 2\]"),
        (lambda: speech.StreamingVad(sample_rate=-1), "sample_rate: expected a positive number, got -1"),
        (
            lambda: speech.detect_speech(np.zeros((2, 100), np.float32)),
            r"expected \[samples\], got shape \[2, 100\]",
        ),
        (
            lambda: speech.detect_speech(np.full(5, np.nan)),
            "samples: expected finite samples, got nan at sample 0",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
