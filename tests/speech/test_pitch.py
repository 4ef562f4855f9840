"""Pitch: Kaldi's answers, synthetic voices whose pitch is known, pieces, errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import speech
from sampan.speech import StreamingPitch, pitch, pitch_features

from .record_pitch import CALLS, is_voiced, pitch_of, voice

KALDI = np.load(Path(__file__).with_name("recorded_pitch.npz"))
NAMES = {"frame_length_ms": "frame_length", "frame_shift_ms": "frame_shift"}


@pytest.mark.parametrize("name", CALLS)
def test_kaldis_answers(name: str) -> None:
    """kaldi-native-fbank 1.23.0: tests/speech/record_pitch.py. Its costs are float32: in pauses, where all lags
    cost nearly the same, its path is sometimes a lag beside the best one."""
    rate, text = name.split("|")
    settings = {NAMES.get(key, key): value for key, value in eval(f"dict({text})").items()}
    found = pitch(voice(int(rate)), int(rate), **settings)
    features = pitch_features(found, raw_log_pitch=True).numpy()
    assert features.shape == KALDI[name].shape
    away = abs(features - KALDI[name])
    same, voiced = away[:, 3] < 1e-4, found.numpy()[:, 0] > 0.5
    assert voiced.mean() > 0.6 and same[voiced].mean() > 0.99 and same.mean() > 0.85
    lag = settings.get("delta_pitch", 0.005)
    # Nowhere more than one lag, but in a pause of the recording with snip_edges=False.
    most = 4 if name == "16000|snip_edges=False" else 1
    assert away[:, 3].max() < 1.01 * most * lag and away[voiced, 3].max() < 1.01 * lag
    assert (away[same, 0] < 5e-4).all()
    assert away[:, 1].max() < 2.1 * most * lag and away[:, 2].max() < 3.1 * most * lag


@pytest.mark.parametrize("samples", [0, 1, 79, 80, 81, 160, 239, 240, 1000, 1001])
def test_frames_that_are_not_snipped_are_the_length_over_the_shift(samples: int) -> None:
    found = pitch(voice(16000, 1.0)[:samples], snip_edges=False)
    low = -(-samples // 4)  # at 4 kHz
    assert found.shape == [int(low / 40 + 0.5), 2]
    assert len(pitch(voice(16000, 1.0)[:samples])) == max(0, (low - 100) // 40 + 1)


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_a_known_pitch_is_found(rate: int) -> None:
    found = pitch(voice(rate), rate).numpy()
    time = 0.01 * np.arange(len(found)) + 0.0225  # of the middle of a frame and the same samples a lag later
    inside = np.array([is_voiced(t + np.linspace(-0.04, 0.04, 9)).all() for t in time])
    outside = np.array([not is_voiced(t + np.linspace(-0.04, 0.04, 9)).any() for t in time])
    assert inside.sum() > 200 and outside.sum() > 50
    away = abs(found[inside, 1] / pitch_of(time[inside]) - 1)
    assert np.median(away) < 0.01 and np.quantile(away, 0.98) < 0.04
    assert found[inside, 0].min() > 0.9 and np.quantile(found[outside, 0], 0.9) < 0.8


@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize("sizes", [[1], [160], [7, 4000, 0, 333], [50_000]])
def test_any_pieces_give_the_same_bits(sizes: list[int], edges: bool) -> None:
    x = voice(16000, 2.5 if sizes != [1] else 0.2)
    expected = pitch(x, nccf_ballast_online=True, snip_edges=edges).numpy()
    stream, at, n = StreamingPitch(snip_edges=edges), 0, 0
    decided = [stream.feed(x[:0])]
    while at < len(x):
        size = sizes[n % len(sizes)]
        decided.append(stream.feed(x[at : at + size]))
        at, n = at + size, n + 1
    assert len(stream.partial()) + sum(map(len, decided)) <= len(expected)
    decided.append(stream.finish())
    assert (np.concatenate(decided) == expected).all()
    stream.reset()
    assert (np.concatenate([stream.feed(x), stream.finish()]) == expected).all()


def test_frames_are_decided_while_the_signal_goes_on() -> None:
    stream, x = StreamingPitch(), voice(16000)
    before = sum(len(stream.feed(piece)) for piece in np.split(x, 60))
    assert 400 < before < 596 and before + len(stream.partial()) > 590


def test_silence_is_decided_after_the_history() -> None:
    """All paths cost the same in silence, and the memory stays small."""
    stream = StreamingPitch(history=64)
    count = sum(len(stream.feed(np.zeros(16000, np.float32))) for _ in range(10))
    assert count >= 998 - 64 - 32 - 3 and len(stream.partial()) <= 64 + 32
    x = np.concatenate([voice(16000, 1.0), np.zeros(40_000, np.float32), voice(16000, 1.0)])
    whole = pitch(x, nccf_ballast_online=True, history=64).numpy()
    other = StreamingPitch(history=64)
    pieces = [other.feed(piece) for piece in np.split(x, 8)] + [other.finish()]
    assert (np.concatenate(pieces) == whole).all()


def test_scale_channels_dtypes_and_short_signals() -> None:
    x = voice(16000, 1.0)
    found = pitch(x).numpy()
    assert (pitch(0.25 * x).numpy() == found).all()
    both = pitch(paddle.to_tensor(np.stack([x, 0.5 * x])))
    assert list(both.shape) == [2, *found.shape] and (both[0].numpy() == found).all()
    np.testing.assert_allclose(pitch((x * 32767).astype(np.int16)).numpy(), found, atol=0.002)
    for samples, frames in ((0, 0), (396, 0), (397, 1), (560, 2)):  # 99 and 100 samples at 4 kHz
        assert list(pitch(x[:samples]).shape) == [frames, 2]
        assert list(pitch_features(pitch(x[:samples])).shape) == [frames, 3]
    assert StreamingPitch().finish().shape == (0, 2)
    assert np.isfinite(pitch(np.zeros(8000, np.float32)).numpy()).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_f0": 400.0}, "max_f0: expected above min_f0=400.0 to half of resample_freq=4000, got 400.0"),
        ({"max_f0": 3000.0}, "max_f0: expected"),
        ({"soft_min_f0": 60.0}, "soft_min_f0: expected 0 to min_f0=50.0, got 60.0"),
        ({"lowpass_cutoff": 2000.0}, "lowpass_cutoff: expected below half of resample_freq=4000"),
        ({"frame_shift": 0.1}, "frame_shift: expected a sample at 4000 Hz to frame_length=25.0 ms"),
        ({"frame_shift": 30.0}, "frame_shift: expected"),
        ({"nccf_ballast": -1.0}, "nccf_ballast: expected at least 0"),
        ({"penalty_factor": 0.0}, "penalty_factor: expected a positive number"),
        ({"history": 1.5}, "history: expected an integer of at least 1"),
        ({"sample_rate": 1500}, "lowpass_cutoff: expected below"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_settings_out_of_range(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pitch(np.zeros(800, np.float32), **settings)


def test_bad_signals() -> None:
    x = np.zeros(800, np.float32)
    x[7] = np.nan
    with pytest.raises(ValueError, match="pitch: waveform: expected finite samples, got nan at sample 7"):
        pitch(x)
    with pytest.raises(TypeError, match="window: unknown; expected one of sample_rate, frame_length"):
        pitch(x, window=3)
    with pytest.raises(ValueError, match="nccf_ballast_online: expected True"):
        StreamingPitch(nccf_ballast_online=False)
    stream, good = StreamingPitch(), voice(16000, 0.5)
    first = stream.feed(good)
    with pytest.raises(ValueError, match="got nan at sample 8007"):
        stream.feed(x)
    found = np.concatenate([first, stream.feed(good), stream.finish()])  # as if nothing had happened
    assert (found == pitch(np.tile(good, 2), nccf_ballast_online=True).numpy()).all()
    with pytest.raises(ValueError, match="finished"):
        stream.feed(good)


def test_real_speech_is_a_mans_or_a_womans() -> None:
    """English digits: the median pitch of voiced frames of two men."""
    from sampan.datasets import load_recordings

    try:
        recordings = load_recordings("fsdd").train[:400:100]
    except FileNotFoundError:
        pytest.skip("needs fsdd in SAMPAN_DATA")
    for recording in recordings:
        sound, rate = recording.load()
        nccf, hertz = speech.pitch(sound[0], rate).numpy().T
        assert (nccf > 0.6).sum() > 10 and 70 < np.median(hertz[nccf > 0.6]) < 260
