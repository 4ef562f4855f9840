"""One speaker's recordings as a training of synthesis takes them: the same rate, no silence around the words,
the same level.

`prepare(load_recordings("audio_cmn").train, folder)` reads every file once and keeps the samples in a folder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..datasets.recordings import Recording
from ..engine.tensor import InvalidArgument
from ..speech import resample
from ..speech.synthesis.sound import level, trim

__all__ = ["Corpus", "prepare"]

Array = np.ndarray[Any, Any]


class Corpus(NamedTuple):
    """samples: int16 of all recordings in a row. ends: int64 [recordings], where each one ends. texts: what
    is said in each. sample_rate: Hz."""

    samples: Array
    ends: Array
    texts: list[str]
    sample_rate: int

    def __len__(self) -> int:
        return len(self.texts)

    def sound(self, number: int) -> Array:
        """float32 samples of a recording."""
        start = int(self.ends[number - 1]) if number else 0
        return self.samples[start : int(self.ends[number])].astype(np.float32) / np.float32(32768)


def read_word(recording: Recording, sample_rate: int) -> Array:
    """float32 samples of a recording at this rate, trimmed and scaled."""
    samples, rate = recording.load()
    mono = samples.mean(0)
    if rate != sample_rate:
        mono = resample(mono, rate, sample_rate)
    return level(trim(mono.numpy(), sample_rate))


def prepare(
    recordings: Sequence[Recording], path: str | Path, sample_rate: int = 16000, shortest: float = 0.15
) -> Corpus:
    """The corpus of recordings, from the file `path` (npz) if it is there, else made and written to it.

    shortest: seconds; what is shorter is left out. Raises InvalidArgument if nothing is left, and for a file
    of other recordings.
    """
    path = Path(path)
    if not path.exists():
        made = [(one.label, read_word(one, sample_rate)) for one in recordings]
        made = [(text, sound) for text, sound in made if len(sound) >= shortest * sample_rate]
        if not made:
            raise InvalidArgument(f"recordings: expected some of {shortest} s or more, got none")
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = np.concatenate([sound for _, sound in made])
        np.savez(
            path,
            samples=np.round(whole * 32767).astype(np.int16),
            ends=np.cumsum([len(sound) for _, sound in made]),
            texts=np.array([text for text, _ in made]),
            sample_rate=sample_rate,
        )
    with np.load(path) as kept:
        found = Corpus(kept["samples"], kept["ends"], kept["texts"].tolist(), int(kept["sample_rate"]))
    unknown = set(found.texts) - {one.label for one in recordings}
    if unknown or found.sample_rate != sample_rate:
        raise InvalidArgument(f"{path}: is of other recordings: choose another file")
    return found
