"""Features of pieces of a signal against those of the whole signal: the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan import speech

SETTINGS = [
    {},
    {"use_energy": True, "window": "hamming"},
    {"snip_edges": False},
    {"snip_edges": False, "frame_length": 10.0, "frame_shift": 12.0, "num_mel_bins": 20},
    {"sample_rate": 8000, "num_mel_bins": 23, "snip_edges": False, "frame_length": 32.0},
]


def pieces(stream, wave, cuts):
    made = [stream.feed(piece) for piece in np.split(wave, sorted(min(cut, len(wave)) for cut in cuts))]
    return np.concatenate([*made, stream.finish()])


@settings(max_examples=60, deadline=None)
@given(
    kind=st.integers(0, len(SETTINGS) - 1),
    count=st.integers(0, 6000),
    cuts=st.lists(st.integers(0, 6000), max_size=12),
    seed=st.integers(0, 1000),
)
def test_any_pieces_give_the_bits_of_the_whole(kind, count, cuts, seed) -> None:
    wave = np.random.default_rng(seed).standard_normal(count).astype(np.float32) * 0.1
    stream = speech.StreamingFbank(**SETTINGS[kind])
    found = pieces(stream, wave, cuts)
    np.testing.assert_array_equal(found, speech.fbank(wave, **SETTINGS[kind]).numpy())
    assert stream.num_frames == len(found)


@pytest.mark.parametrize("snip_edges", [True, False])
def test_single_samples_give_the_cepstra_of_the_whole(snip_edges) -> None:
    wave = np.random.default_rng(1).standard_normal(900).astype(np.float32)
    stream = speech.StreamingMfcc(snip_edges=snip_edges)
    found = pieces(stream, wave, range(900))
    np.testing.assert_array_equal(found, speech.mfcc(wave, snip_edges=snip_edges).numpy())


def test_int16_float64_and_lists_are_the_same_signal() -> None:
    wave = (np.random.default_rng(2).standard_normal(2000) * 3000).astype(np.int16)
    expected = speech.StreamingFbank().feed(wave)
    for given_as in (wave / 32768.0, (wave / 32768.0).astype(np.float32), (wave / 32768.0).tolist()):
        np.testing.assert_array_equal(speech.StreamingFbank().feed(given_as), expected)


def test_nan_names_its_sample_and_leaves_the_stream_as_it_was() -> None:
    wave = np.random.default_rng(3).standard_normal(1000).astype(np.float32)
    wrong = wave[600:].copy()
    wrong[7] = np.nan
    stream = speech.StreamingFbank()
    first = stream.feed(wave[:600])
    with pytest.raises(ValueError, match=r"samples: expected finite samples, got nan at sample 607"):
        stream.feed(wrong)
    rest = stream.feed(wave[600:])
    np.testing.assert_array_equal(np.concatenate([first, rest]), speech.fbank(wave).numpy())


def test_errors() -> None:
    stream = speech.StreamingFbank()
    with pytest.raises(ValueError, match=r"samples: expected \[samples\], got shape \[2, 5\]"):
        stream.feed(np.zeros((2, 5), np.float32))
    assert stream.finish().shape == (0, 80)
    with pytest.raises(ValueError, match="finished"):
        stream.feed(np.zeros(5, np.float32))
    with pytest.raises(ValueError, match="finished already"):
        stream.finish()
    stream.reset()
    assert stream.feed(np.zeros(400, np.float32)).shape == (1, 80)
    with pytest.raises(ValueError, match="num_ceps"):
        speech.StreamingMfcc(num_ceps=0)
    with pytest.raises(ValueError, match="at most 4096 samples, got 4410"):
        speech.StreamingFbank(44100, frame_length=100.0)


def test_memory_does_not_grow_with_the_signal() -> None:
    stream, wave = speech.StreamingFbank(snip_edges=False), np.zeros(16000, np.float32)
    for _ in range(50):
        stream.feed(wave)
    assert len(stream._held) < 800 and len(stream._last) <= 400
