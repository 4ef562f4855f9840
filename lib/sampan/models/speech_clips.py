"""What ten filmed clips (GRID) can show: when a face talks, by sound, mouth and both; and whether sound and
picture are in time. One clip is left out at a time and tested on.

    python -m sampan.models.speech_clips FOLDER      # of .mpg files; needs the package av

Ten clips demonstrate; they cannot train a network, and nothing of them is shipped. Speech is taken from the
sound before noise is added (`clean_speech`).
Source of the data: Cooke et al., An audio-visual corpus for speech perception and automatic speech
recognition, 2006.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..speech import area_under_curve
from ..speech.clips import load_clip
from ..speech.inputs import FbankInput
from ..speech.noise import make_noise
from ..speech.resample import resample
from ..speech.synchrony import Synchrony, mouth_features, sound_features
from ..speech.visual import mouth_region
from .speech_activity import clean_speech
from .speech_small import mixed

__all__ = ["Talking", "activity_areas", "offsets", "read_clips"]

Array = np.ndarray[Any, Any]
RATE, BINS, PER_FRAME = 8000, 40, 4


class Talking(NamedTuple):
    """mouths: float32 [time, 32, 32], 25 in a second. samples: float32 at 8 kHz."""

    mouths: Array
    samples: Array


def read_clips(folder: Path) -> list[Talking]:
    """The clips of a folder, in order of their names."""
    made = []
    for path in sorted(folder.glob("*.mpg")):
        clip = load_clip(path)
        made.append(
            Talking(mouth_region(clip.frames, 32), resample(clip.samples, clip.sample_rate, RATE).numpy())
        )
    return made


def _sound(samples: Array) -> Array:
    """Log energies [frames, bins], those of digital silence raised to 0."""
    return np.maximum(FbankInput(RATE, BINS).features(samples), 0)


def _linear(x: Array, y: Array, ridge: float) -> tuple[Array, float]:
    """The weights and the constant of ridge regression on columns scaled to deviation 1."""
    mean, scale = x.mean(0), x.std(0) + 1e-6
    z = (x - mean) / scale
    weights = np.linalg.solve(z.T @ z + ridge * len(z) * np.eye(z.shape[1]), z.T @ (y - y.mean())) / scale
    return weights, float(y.mean() - mean @ weights)


def activity_areas(clips: Sequence[Talking], snr: float, seed: int = 0) -> dict[str, float]:
    """The area under the ROC curve of "this video frame is speech" by a linear rule over 0.3 s of sound, 0.6
    s of the mouth, and both, over all clips, each by a rule from the others; the sound has pink noise at
    `snr` dB."""
    given: dict[str, list[Array]] = {"sound": [], "mouth": [], "both": []}
    truth = []
    for n, clip in enumerate(clips):
        noise = make_noise("pink", len(clip.samples), RATE, seed=seed + n)
        sound = sound_features(_sound(mixed(clip.samples, noise, snr)), 3)
        mouth = mouth_features(clip.mouths, 7)
        flags = clean_speech(clip.samples, 20)
        size = min(len(sound), len(mouth), len(flags) // PER_FRAME)
        truth.append(flags[: size * PER_FRAME].reshape(size, PER_FRAME).mean(1) > 0.5)
        given["sound"].append(sound[:size])
        given["mouth"].append(mouth[:size])
        given["both"].append(np.concatenate([given["sound"][-1], given["mouth"][-1]], 1))
    found = {}
    for mode, features in given.items():
        scores = []
        for n in range(len(clips)):
            others = [k for k in range(len(clips)) if k != n]
            x, y = (np.concatenate([part[k] for k in others]) for part in (features, truth))
            weights, constant = _linear(x, y.astype(np.float64), 1.0)
            scores.append(features[n] @ weights + constant)
        found[mode] = area_under_curve(np.concatenate(scores), np.concatenate(truth))
    return found


def offsets(clips: Sequence[Talking], late: Sequence[int] = (-8, -4, 0, 4, 8)) -> list[tuple[int, int]]:
    """(true, found) delays of the sound in video frames: each clip with its sound moved, by the correlations
    of the others."""
    found = []
    step = RATE // 25
    for n, clip in enumerate(clips):
        others = [(c.mouths, _sound(c.samples)) for k, c in enumerate(clips) if k != n]
        learned = Synchrony().fit(others)
        for frames in late:
            moved = np.roll(clip.samples, frames * step)
            found.append((frames, learned.offset(clip.mouths, _sound(moved)).frames))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(prog="python -m sampan.models.speech_clips")
    parser.add_argument("folder", type=Path)
    clips = read_clips(parser.parse_args(arguments).folder)
    print(
        f"{len(clips)} clips, one left out at a time\n| SNR (dB) | sound | mouth | both |\n|---|---|---|---|"
    )
    for snr in (-10.0, -5.0, 0.0, 10.0, 40.0):
        areas = activity_areas(clips, snr)
        print(f"| {snr:g} | {' | '.join(f'{areas[mode]:.3f}' for mode in ('sound', 'mouth', 'both'))} |")
    pairs = np.array(offsets(clips))
    wrong = np.abs(pairs[:, 0] - pairs[:, 1])
    for within in (0, 1, 2):
        print(f"offset within {within} frames of 40 ms: {int((wrong <= within).sum())} of {len(wrong)}")


if __name__ == "__main__":
    main()
