"""Writes tests/speech/recorded_kaldi.npz: answers of kaldi-native-fbank 1.23.0.

python tests/speech/record_kaldi.py     # needs kaldi-native-fbank, and NumPy
"""

from pathlib import Path

import kaldi_native_fbank as knf
import numpy as np

CALLS = [
    "fbank|",
    "fbank|num_mel_bins=40,snip_edges=False",
    "fbank|sample_rate=8000,num_mel_bins=23,use_energy=True,window='hamming'",
    "fbank|use_energy=True,raw_energy=False,energy_floor=1.0,high_freq=-400.0,low_freq=60.0",
    "fbank|use_power=False,window='hanning',preemphasis=0.0",
    "fbank|use_log=False,window='rectangular',remove_dc_offset=False",
    "mfcc|",
    "mfcc|num_ceps=20,num_mel_bins=40,use_energy=False,cepstral_lifter=0.0",
    "mfcc|sample_rate=44100,snip_edges=False,window='blackman',frame_length=20.0,frame_shift=8.0",
]
FRAME = {
    "sample_rate": "samp_freq", "frame_length": "frame_length_ms", "frame_shift": "frame_shift_ms",
    "preemphasis": "preemph_coeff", "window": "window_type", "remove_dc_offset": "remove_dc_offset",
    "snip_edges": "snip_edges",
}  # fmt: skip
MEL = {"num_mel_bins": "num_bins", "low_freq": "low_freq", "high_freq": "high_freq"}
OWN = {"use_log": "use_log_fbank"}


def wave(count: int = 6000, seed: int = 0) -> np.ndarray:
    time = np.arange(count)
    tones = 0.3 * np.sin(0.05 * time + 3 * np.sin(0.002 * time)) + 0.1 * np.sin(0.7 * time)
    return (tones + 0.02 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def answer(name: str) -> np.ndarray:
    kind, text = name.split("|")
    settings = eval(f"dict({text})")
    options, online = (
        (knf.FbankOptions(), knf.OnlineFbank) if kind == "fbank" else (knf.MfccOptions(), knf.OnlineMfcc)
    )
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80 if kind == "fbank" else 23
    options.energy_floor = 0.0
    for key, value in settings.items():
        if key in FRAME:
            setattr(options.frame_opts, FRAME[key], value)
        elif key in MEL:
            setattr(options.mel_opts, MEL[key], value)
        else:
            setattr(options, OWN.get(key, key), value)
    made = online(options)
    made.accept_waveform(options.frame_opts.samp_freq, (wave() * 32768).tolist())
    made.input_finished()
    return np.array([made.get_frame(i) for i in range(made.num_frames_ready)], np.float32)


if __name__ == "__main__":
    np.savez_compressed(
        Path(__file__).with_name("recorded_kaldi.npz"), names=CALLS, **{n: answer(n) for n in CALLS}
    )
