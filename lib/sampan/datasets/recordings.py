"""Recordings of words by name: English digits (fsdd), Mandarin words and syllables (audio_cmn).

`load_recordings("fsdd").train[0]` is a recording with its label and its speaker. The sounds stay compressed
in the zip of the source until one is read.
"""

import functools
import io
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..speech import files
from .card_file import Card, Layout
from .download import Progress, print_progress
from .readers import READERS, Arrays

__all__ = ["Recording", "RecordingSet", "load_recordings"]

HELD_OUT, SHUFFLE = (
    0.1,
    1953,
)  # the part of the Mandarin words that is tested on, and the seed that chooses them
_DIGIT = re.compile(r"(\d)_([a-z]+)_(\d+)\.wav")
_MANDARIN = re.compile(r"(hsk|syllabs)/cmn-(.+)\.mp3")
_SPEAKERS = {"hsk": "Yue Tan", "syllabs": "Chen Wang"}


@functools.lru_cache(maxsize=4)
def _opened(path: Path, process: int) -> zipfile.ZipFile:
    """An archive that stays open, since reading the list of its files takes long. Each process has its
    own."""
    return zipfile.ZipFile(path)


@dataclass(frozen=True)
class Recording:
    """One file: `label` is a digit, a word in characters, or a syllable in pinyin with its tone ("ba1")."""

    archive: Path
    name: str
    label: str
    speaker: str

    def bytes(self) -> bytes:
        """The file as stored, WAV or MP3."""
        return _opened(self.archive, os.getpid()).read(self.name)

    def load(self) -> tuple[Tensor, int]:
        """float32 [channels, samples], and the sample rate: see `speech.load`."""
        return files.load(io.BytesIO(self.bytes()))


@dataclass(frozen=True)
class RecordingSet:
    """A loaded set: its card, the layout that was found, and its recordings.

    train, test: the source's split of fsdd (the first five of each digit and speaker are tested on); of
    audio_cmn the words of one speaker, a tenth of them held out by a fixed shuffle. other: the second
    speaker's syllables of audio_cmn, to test on; none in fsdd.
    """

    card: Card
    layout: Layout
    train: list[Recording]
    test: list[Recording]
    other: list[Recording]


def load_recordings(name: str, download: bool = False, progress: Progress = print_progress) -> RecordingSet:
    """The recordings of this name; search, checks and errors as in `load`. MP3 needs soundfile when it is
    read."""
    from . import _arrays

    known, layout, arrays = _arrays(name, download, progress)
    if layout.reader not in RECORDINGS:
        raise ValueError(f"{name} is not a set of recordings: its layout is {layout.reader!r}")
    parts = [list(arrays[part]) for part in ("train", "test", "other")]
    for part, found, expected in zip(("train", "test"), parts, (layout.train, layout.test), strict=False):
        if len(found) != expected:
            raise ValueError(f"{name}: the {part} part has {len(found)} recordings, its card says {expected}")
    return RecordingSet(known, layout, *parts)


def _names(path: Path, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """The names in a zip that a pattern matches, in order."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not a zip of recordings: {error}") from error
    return [found for name in names if (found := pattern.fullmatch(name))]


def _parts(*parts: list[Recording]) -> Arrays:
    made = {}
    for name, part in zip(("train", "test", "other"), parts, strict=True):
        made[name] = np.empty(len(part), object)
        made[name][:] = part
    return made


def read_digits(files: dict[str, Path]) -> Arrays:
    """A zip of files such as `7_jackson_32.wav`: digit, speaker, number; numbers 0 to 4 are tested on."""
    path = files["archive"]
    found = _names(path, _DIGIT)
    made = [(int(m[3]) < 5, Recording(path, m[0], m[1], m[2])) for m in found]
    return _parts([r for tested, r in made if not tested], [r for tested, r in made if tested], [])


def read_mandarin(files: dict[str, Path]) -> Arrays:
    """A zip of words (`hsk/cmn-....mp3`) by one speaker and syllables (`syllabs/cmn-ba1.mp3`) by another."""
    path = files["archive"]
    found = [(m[1], Recording(path, m[0], m[2], _SPEAKERS[m[1]])) for m in _names(path, _MANDARIN)]
    words = [recording for folder, recording in found if folder == "hsk"]
    order = np.random.RandomState(SHUFFLE).permutation(len(words))
    tested = set(order[: int(len(words) * HELD_OUT)].tolist())
    return _parts(
        [r for i, r in enumerate(words) if i not in tested],
        [r for i, r in enumerate(words) if i in tested],
        [recording for folder, recording in found if folder == "syllabs"],
    )


Reader = Callable[[dict[str, Path]], Any]
RECORDINGS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "digit-recordings": (("archive",), read_digits),
    "mandarin-recordings": (("archive",), read_mandarin),
}
READERS.update(RECORDINGS)
