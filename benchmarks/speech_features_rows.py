"""The rows of `speech_features.py`. kaldi-native-fbank and librosa take part if they are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch

import sampan
from benchmarks.side_by_side import Row, Step, library
from sampan import speech

RATE, MINUTES, CHUNK = 16000, 10, 1600
SETTINGS = {"n_fft": 512, "hop_length": 160, "n_mels": 64}


@cache
def sound() -> np.ndarray:
    """Tones that move, and noise: float32 [samples]."""
    time = np.arange(RATE * 60 * MINUTES) / RATE
    tones = sum(np.sin(2 * np.pi * k * (150 * time + 20 * np.sin(3 * time))) / k for k in range(1, 6))
    noise = np.random.default_rng(0).standard_normal(len(time))
    return (0.1 * tones + 0.02 * noise).astype(np.float32)


def transforms() -> None:
    """The Fourier transforms of all frames: 59,998 of 512 samples."""
    frames = torch.ones(2048, 512)
    for _ in range(29):
        torch.fft.rfft(frames)
    torch.fft.rfft(frames[: 59998 - 29 * 2048])


def kaldi_native(kind: str) -> Callable[[np.ndarray], Any] | None:
    """A function from samples, scaled as Kaldi's, to its object with all frames."""
    knf = library("kaldi_native_fbank")
    if knf is None:
        return None
    options = knf.FbankOptions() if kind == "fbank" else knf.MfccOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80 if kind == "fbank" else 23
    online = knf.OnlineFbank if kind == "fbank" else knf.OnlineMfcc

    def run(samples: np.ndarray) -> Any:
        made = online(options)
        made.accept_waveform(RATE, samples)
        made.input_finished()
        return made

    return run


def kaldi() -> Iterator[Row]:
    for kind, goal in (("fbank", 10.0), ("mfcc", 10.0)):
        ours = getattr(speech, kind)
        programs: dict[str, Step] = {
            "sampan": lambda ours=ours: ours(sound()).numpy()[::100],
            "fft": transforms,
        }
        theirs = kaldi_native(kind)
        if theirs is not None:
            scaled = sound() * 32768

            def step(theirs: Any = theirs, scaled: np.ndarray = scaled) -> Any:
                made = theirs(scaled)
                return np.stack([made.get_frame(i) for i in range(0, made.num_frames_ready, 100)])

            programs["kaldi-native-fbank"] = step
        yield Row(f"Kaldi's {kind}, 10 minutes", goal, programs, floor=("fft", 1.0))


def layers() -> Iterator[Row]:
    librosa, x = library("librosa"), sampan.to_tensor(sound()[None])
    for kind in ("LogMelSpectrogram", "MFCC"):
        settings = {"sr": RATE, **SETTINGS, **({"n_mfcc": 13} if kind == "MFCC" else {})}
        layer = getattr(sampan.audio.features, kind)(**settings)
        programs: dict[str, Step] = {
            "sampan": lambda layer=layer: layer(x).numpy()[0, :, ::100],
            "fft": transforms,
        }
        if librosa is not None:

            def step(kind: str = kind) -> Any:
                power = librosa.feature.melspectrogram(
                    y=sound(), sr=RATE, fmin=50.0, pad_mode="reflect", **SETTINGS
                )
                found = librosa.power_to_db(power, amin=1e-10, top_db=None)
                return (librosa.feature.mfcc(S=found, n_mfcc=13) if kind == "MFCC" else found)[:, ::100]

            programs["librosa"] = step
        yield Row(f"{kind}, 10 minutes", 1.0, programs, 0, kind, {"sound": sound()[None]}, floor=("fft", 1.0))


def streams() -> Iterator[Row]:
    chunks = sound()[: 100 * CHUNK].reshape(100, CHUNK)

    def ours() -> None:
        stream = speech.StreamingFbank()
        for chunk in chunks:
            stream.feed(chunk)

    programs: dict[str, Step] = {"sampan": ours}
    knf = library("kaldi_native_fbank")
    if knf is not None:
        options = knf.FbankOptions()
        options.frame_opts.dither, options.mel_opts.num_bins = 0, 80
        scaled = chunks * 32768

        def theirs() -> None:
            made, done = knf.OnlineFbank(options), 0
            for chunk in scaled:
                made.accept_waveform(RATE, chunk)
                while done < made.num_frames_ready:
                    made.get_frame(done)
                    done += 1

        programs["kaldi-native-fbank"] = theirs
    yield Row("streaming fbank, 100 chunks of 100 ms", 5.0, programs)


def pitches() -> Iterator[Row]:
    wave = sound()[: RATE * 60]
    programs: dict[str, Step] = {
        "sampan": lambda: speech.pitch_features(speech.pitch(wave), raw_log_pitch=True).numpy()[:, 3]
    }
    knf = library("kaldi_native_fbank")
    if knf is not None:
        options, scaled = knf.PitchExtractionOptions(), wave * 32768
        features = knf.ProcessPitchOptions(add_raw_log_pitch=True, delta_pitch_noise_stddev=0.0)

        def theirs() -> np.ndarray:
            found = knf.compute_and_process_kaldi_pitch(options, features, scaled)
            return np.asarray(found)[:, 3]

        programs["kaldi-native-fbank"] = theirs
    yield Row("Kaldi's pitch with its features, 1 minute", 1.0, programs)


FAMILIES = (kaldi, layers, streams, pitches)
