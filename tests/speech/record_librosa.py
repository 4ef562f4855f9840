"""Writes tests/speech/recorded_librosa.npz: answers of librosa 0.11.0.

python tests/speech/record_librosa.py     # needs librosa
"""

from pathlib import Path

import librosa
import numpy as np


def wave(count: int = 6000, seed: int = 0) -> np.ndarray:
    time = np.arange(count)
    tones = 0.3 * np.sin(0.05 * time + 3 * np.sin(0.002 * time)) + 0.1 * np.sin(0.7 * time)
    return (tones + 0.02 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def answers() -> dict[str, np.ndarray]:
    y, bands = wave(), {"n_mels": 40, "fmin": 50.0, "fmax": 7600.0}
    frames = {"n_fft": 512, "hop_length": 160, "win_length": 400, "pad_mode": "reflect"}
    power = librosa.feature.melspectrogram(y=y, sr=16000, power=2.0, **frames, **bands)
    decibels = librosa.power_to_db(power, ref=1.0, amin=1e-10, top_db=80.0)
    return {
        "mel_slaney": librosa.filters.mel(sr=16000, n_fft=512, dtype=np.float64, **bands),
        "mel_htk": librosa.filters.mel(sr=16000, n_fft=512, htk=True, dtype=np.float64, **bands),
        "spectrogram": np.abs(librosa.stft(y, **frames)),
        "mel": power,
        "decibels": decibels,
        "mfcc": librosa.feature.mfcc(S=decibels, n_mfcc=13),
        "delta": librosa.feature.delta(decibels, width=5, mode="nearest"),
    }


if __name__ == "__main__":
    np.savez_compressed(Path(__file__).with_name("recorded_librosa.npz"), **answers())
