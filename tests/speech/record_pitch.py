"""Writes tests/speech/recorded_pitch.npz: answers of kaldi-native-fbank 1.23.0, Kaldi's pitch and its features.

python tests/speech/record_pitch.py     # needs kaldi-native-fbank, and NumPy
"""

from pathlib import Path

import numpy as np

# Sample rate and options, by Kaldi's names.
CALLS = [
    "16000|",
    "16000|nccf_ballast_online=True",
    "8000|min_f0=60.0,max_f0=500.0,penalty_factor=0.2",
    "22050|frame_length_ms=30.0,frame_shift_ms=8.0,soft_min_f0=30.0,delta_pitch=0.01",
    "44100|lowpass_cutoff=900.0,nccf_ballast=700.0,lowpass_filter_width=2,upsample_filter_width=3",
    "16000|snip_edges=False",
    "8000|snip_edges=False,nccf_ballast_online=True,frame_shift_ms=8.0",
]


def voice(rate: int, seconds: float = 6.0) -> np.ndarray:
    """float32 [samples]: harmonics of a gliding pitch, with pauses, and noise."""
    time = np.arange(int(rate * seconds)) / rate
    turns = np.cumsum(pitch_of(time)) / rate
    harmonics = sum(np.sin(2 * np.pi * k * turns) / k for k in range(1, 8))
    noise = np.random.default_rng(rate).standard_normal(len(time))
    return (0.2 * harmonics * is_voiced(time) + 0.02 * noise).astype(np.float32)


def pitch_of(time: np.ndarray) -> np.ndarray:
    """Hz."""
    return 140 + 50 * np.sin(2 * np.pi * 0.6 * time)


def is_voiced(time: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * 0.8 * time) > -0.4


def answer(name: str) -> np.ndarray:
    import kaldi_native_fbank as knf

    rate, text = name.split("|")
    given = knf.PitchExtractionOptions(samp_freq=float(rate), **eval(f"dict({text})"))
    features = knf.ProcessPitchOptions(add_raw_log_pitch=True, delta_pitch_noise_stddev=0.0)
    return knf.compute_and_process_kaldi_pitch(given, features, voice(int(rate)) * 32768)


if __name__ == "__main__":
    np.savez_compressed(Path(__file__).with_name("recorded_pitch.npz"), **{n: answer(n) for n in CALLS})
