"""Writes tests/speech/recorded_synthesis.npz: answers of librosa 0.11.0.

python tests/speech/record_synthesis.py     # needs librosa
"""

from pathlib import Path

import librosa
import numpy as np


def voice() -> np.ndarray:
    """Ten harmonics of a pitch that moves between 150 and 250 Hz, with a little noise, one second at 16
    kHz."""
    phase = 2 * np.pi * np.cumsum(200 + 50 * np.sin(np.arange(16000) / 1500)) / 16000
    tones = sum(np.sin(k * phase) / k for k in range(1, 11)) * 0.1
    return tones + 0.002 * np.random.default_rng(1).standard_normal(16000)


def answers() -> dict[str, np.ndarray]:
    time = np.arange(6000)
    sound = 0.3 * np.sin(0.05 * time + 3 * np.sin(0.002 * time))
    sound = (sound + 0.02 * np.random.default_rng(0).standard_normal(6000)).astype(np.float32)
    amplitude = np.abs(librosa.stft(sound, n_fft=512, hop_length=128))
    made = {
        f"sound_{m}": librosa.griffinlim(amplitude, n_iter=8, hop_length=128, momentum=m, init=None)
        for m in (0.0, 0.99)
    }
    again = librosa.griffinlim(amplitude, n_iter=32, hop_length=128, momentum=0.99, random_state=0)
    reached = np.abs(librosa.stft(again, n_fft=512, hop_length=128))
    off = np.linalg.norm(reached - amplitude) / np.linalg.norm(amplitude)
    yin = librosa.yin(voice(), fmin=70, fmax=500, sr=16000, frame_length=1024, hop_length=200)
    return {"amplitude": amplitude, "off": off, "yin": yin, **made}


if __name__ == "__main__":
    np.savez_compressed(Path(__file__).with_name("recorded_synthesis.npz"), **answers())
