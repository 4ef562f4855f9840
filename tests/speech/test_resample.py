"""Resampling: the sum by its definition, a sine at another rate, gradients, pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan import speech

RATES = [(44100, 16000), (16000, 44100), (8000, 16000), (16000, 8000), (22050, 16000), (7, 3), (3, 7)]


def by_definition(x, old, new, zeros=6, rolloff=0.99) -> np.ndarray:
    """Each result by the integral's sum over all samples, in float64."""
    count = -(-len(x) * new // old)
    cutoff = min(old, new) * rolloff
    t = (np.arange(len(x))[None] / old - np.arange(count)[:, None] / new) * cutoff
    h = np.where(abs(t) < zeros, np.sinc(t) * np.cos(np.pi * t / (2 * zeros)) ** 2, 0) * cutoff / old
    return h @ x


@pytest.mark.parametrize("old, new", RATES)
def test_values_are_the_definition(old, new) -> None:
    x = np.random.default_rng(0).standard_normal(701)
    found = speech.resample(x, old, new, zeros=5, rolloff=0.9)
    np.testing.assert_allclose(found.numpy(), by_definition(x, old, new, 5, 0.9), atol=1e-12)
    single = speech.resample(x.astype(np.float32), old, new)
    assert single.dtype == paddle.float32
    np.testing.assert_allclose(single.numpy(), by_definition(x, old, new), atol=3e-6)


def test_a_sine_keeps_its_frequency_and_one_above_the_new_half_rate_goes() -> None:
    time = np.arange(8000) / 16000
    kept = speech.resample(np.sin(2 * np.pi * 1000 * time), 16000, 22050, zeros=32).numpy()
    expected = np.sin(2 * np.pi * 1000 * np.arange(len(kept)) / 22050)
    np.testing.assert_allclose(kept[500:-500], expected[500:-500], atol=2e-3)
    gone = speech.resample(np.sin(2 * np.pi * 7000 * time), 16000, 8000, zeros=32).numpy()
    assert abs(gone[200:-200]).max() < 2e-3


@pytest.mark.parametrize("old, new", RATES)
def test_gradient_is_the_transpose(old, new) -> None:
    rng = np.random.default_rng(1)
    x = paddle.to_tensor(rng.standard_normal((2, 150)), stop_gradient=False)
    out = speech.resample(x, old, new)
    weights = rng.standard_normal(out.shape)
    (out * paddle.to_tensor(weights)).sum().backward()
    matrix = by_definition(np.eye(150), old, new)
    np.testing.assert_allclose(x.grad.numpy(), weights @ matrix, atol=1e-12)
    (second,) = paddle.grad((speech.resample(x, old, new) ** 2).sum(), x, create_graph=True)
    second.sum().backward()


@settings(max_examples=40, deadline=None)
@given(
    rates=st.sampled_from(RATES),
    count=st.integers(0, 3000),
    cuts=st.lists(st.integers(0, 3000), max_size=10),
    seed=st.integers(0, 99),
)
def test_any_pieces_give_the_bits_of_the_whole(rates, count, cuts, seed) -> None:
    x = np.random.default_rng(seed).standard_normal(count).astype(np.float32)
    stream = speech.StreamingResample(*rates)
    made = [stream.feed(piece) for piece in np.split(x, sorted(min(cut, count) for cut in cuts))]
    held = len(stream._held)
    found = np.concatenate([*made, stream.finish()])
    np.testing.assert_array_equal(found, speech.resample(x, *rates).numpy())
    assert held < 1500


def test_threads_and_forms_give_the_same_bits() -> None:
    x = np.random.default_rng(2).standard_normal(60000).astype(np.float32)
    whole = speech.resample(x, 44100, 16000).numpy()  # in the parallel loop
    start = speech.resample(x[:20000], 44100, 16000).numpy()  # in the serial one
    np.testing.assert_array_equal(start[:7000], whole[:7000])


def test_channels_integers_and_equal_rates() -> None:
    x = (np.random.default_rng(3).standard_normal((2, 300)) * 3000).astype(np.int16)
    found = speech.resample(x, 8000, 16000).numpy()
    assert found.shape == (2, 600)
    np.testing.assert_array_equal(found[1], speech.resample(x[1], 8000, 16000).numpy())
    np.testing.assert_array_equal(speech.resample(x, 8000, 8000).numpy(), x / np.float32(32768))
    assert speech.resample(np.empty(0, np.float32), 8000, 16000).shape == [0]


def test_errors() -> None:
    x = np.zeros(10, np.float32)
    for args, message in [
        ((x, 0, 8000), "old_rate: expected a positive number, got 0"),
        ((x, 8000, 11025.5), "new_rate: expected whole Hz, got 11025.5"),
        ((x, 44099, 44101), "needs 44101 filters, at most 16384"),
        ((x, 8000, 16000, 0), "zeros: expected an integer of at least 1, got 0"),
        ((x, 8000, 16000, 6, 1.5), "rolloff: expected above 0 to 1, got 1.5"),
        ((x * np.nan, 8000, 16000), "waveform: expected finite samples, got nan at sample 0"),
    ]:
        with pytest.raises(ValueError, match=f"resample: .*{message}"):
            speech.resample(*args)
    stream = speech.StreamingResample(8000, 16000)
    stream.feed(x)
    with pytest.raises(ValueError, match="got inf at sample 12"):
        stream.feed(np.array([0, 0, np.inf], np.float32))
    stream.finish()
    with pytest.raises(ValueError, match="finished"):
        stream.feed(x)
