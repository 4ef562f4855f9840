"""paddle.audio: windows, mel scales, filters, features as layers, and WAV files of 16 bits."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from tools.parity.spec import Call, array, call, given, program

NAMES = [
    "hamming",
    "hann",
    "blackman",
    "nuttall",
    "bartlett",
    "triang",
    "bohman",
    "cosine",
    "tukey",
    "taylor",
]
WINDOWS = [
    *NAMES,
    ("kaiser", 5.0),
    ("gaussian", 7.0),
    ("general_gaussian", 1.5, 3.0),
    ("exponential", None, 3.0),
    ("tukey", 0.3),
    ("tukey", 1.2),
    ("taylor", 5, 35.0, False),
    ("general_hamming", 0.6),
]
HZ = [0.0, 300.0, 999.0, 1000.0, 4000.0, 9000.0]
WAVES = array(2, 700, low=-0.5, high=0.5)


def written(samples: Any, rate: int = 8000, channels: int = 1) -> io.BytesIO:
    """A WAV file of 16 bits in memory."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as held:
        held.setnchannels(channels)
        held.setsampwidth(2)
        held.setframerate(rate)
        held.writeframes(np.asarray(samples, "<i2").tobytes())
    stream.seek(0)
    return stream


def loaded(P: Any, **settings: Any) -> Any:
    found, rate = P.audio.load(written(range(-900, 900, 10), channels=2), **settings)
    return found, P.to_tensor(rate)


def facts(P: Any) -> Any:
    found = P.audio.info(written(range(100), 16000, 2))
    return [found.sample_rate, found.num_samples, found.num_channels, found.bits_per_sample, found.encoding]


def saved(P: Any, x: Any) -> Any:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.wav")
        P.audio.save(path, x, 8000)
        with wave.open(path) as held:
            return [held.getparams()[:4], np.frombuffer(held.readframes(99), "<i2").tolist()]


CASES: dict[str, list[Call]] = {
    "paddle.audio.functional.get_window": [
        *(
            call(name, n, even, kind)
            for name in WINDOWS
            for n, even in ((9, True), (8, False))
            for kind in ("float64",)
        ),
        *(call(name, 8, dtype="float32") for name in NAMES),
        call("hann", 1),
        call("hann", 0),
        call("hann", -1),
        call("gaussian", 8),
        call("unknown", 8),
        call(5, 8),
    ],
    "paddle.audio.functional.hz_to_mel": [
        *(call(f, htk) for f in (440.0, 1000.0, 5000) for htk in (False, True)),
        call(given(HZ)),
        call(given(HZ), True),
        call(given(HZ, "float64")),
    ],
    "paddle.audio.functional.mel_to_hz": [
        *(call(m, htk) for m in (4.0, 15.0, 50) for htk in (False, True)),
        call(given([0.0, 5.0, 14.9, 15.0, 40.0])),
        call(given([0.0, 5.0, 1000.0]), True),
    ],
    "paddle.audio.functional.mel_frequencies": [call(), call(5, 20.0, 8000.0, True, "float64")],
    "paddle.audio.functional.fft_frequencies": [call(16000, 64), call(22050, 15, dtype="float64")],
    "paddle.audio.functional.compute_fbank_matrix": [
        call(16000, 256, 20),
        call(8000, 128, 10, 50.0, 3800.0, True, dtype="float64"),
        call(16000, 256, 20, norm=2.0),
        call(16000, 256, 20, norm=None),
    ],
    "paddle.audio.functional.power_to_db": [
        call(array(3, 4, low=1e-6, high=9)),
        call(array(3, 4, low=1e-6, high=9), 2.0, 1e-3, 20.0),
        call(array(3, 4, low=1e-6, high=9, dtype="float64"), top_db=None),
        call(array(3), amin=0.0),
        call(array(3), -1.0),
        call(array(3), top_db=-1.0),
    ],
    "paddle.audio.functional.create_dct": [
        call(13, 40),
        call(13, 20, None, "float64"),
        call(3, 4, "other"),
    ],
    "paddle.audio.features.Spectrogram": [
        call(64, 16, dtype="float32").on(WAVES),
        call(64, None, 32, "hamming", 2.0, False).on(WAVES),
        call(64, 16, power=0.5, pad_mode="constant").on(WAVES),
        call(power=0.0).on(WAVES),
        call(1024).on(WAVES),
    ],
    "paddle.audio.features.MelSpectrogram": [
        call(8000, 128, 64, n_mels=10).on(WAVES),
        call(8000, 128, 64, power=1.0, n_mels=8, f_min=0.0, f_max=3000.0, htk=True, norm=1.0).on(WAVES),
    ],
    "paddle.audio.features.LogMelSpectrogram": [
        call(8000, 128, 64, n_mels=10).on(WAVES),
        call(8000, 128, n_mels=8, ref_value=2.0, amin=1e-4, top_db=30.0).on(WAVES),
    ],
    "paddle.audio.features.MFCC": [
        call(8000, 5, 128, 64, n_mels=10).on(WAVES),
        call(8000, 12, n_mels=10).on(WAVES),
    ],
    "paddle.audio.load": [
        program(loaded, text="two channels"),
        program(loaded, num_frames=7, frame_offset=3, text="a part"),
        program(loaded, normalize=False, channels_first=False, text="integers"),
    ],
    "paddle.audio.info": [program(facts, text="two channels")],
    "paddle.audio.save": [
        program(saved, given([[0.0, 0.5, -0.5, 0.99999, -1.0, 1e-5, -1e-5]]), text="float32"),
        program(saved, given([[1, -5], [32767, -32768]], "int16"), text="int16"),
    ],
}
