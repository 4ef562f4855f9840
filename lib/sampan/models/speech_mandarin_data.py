"""The sound that the Mandarin recogniser is trained and tested on, and its features in one file.

Words by one speaker and syllables by another (`load_recordings("audio_cmn")`), and words spoken by Debian's
`espeak-ng` in many voices. Held out: a tenth of the words; a quarter of the syllables, by syllable without
tone; three synthetic voices. Recordings to train on are stored several times: as they are, and faster or
slower, in a room, with noise.
"""

import contextlib
import functools
import io
import json
import multiprocessing
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.recordings import Recording, load_recordings
from ..engine.tensor import InvalidArgument
from ..speech import add_noise, change_speed, fbank, files, resample, reverberate
from ..speech.pinyin import split_syllable

__all__ = ["FeatureFile", "Item", "development", "dictionary", "human_items", "store", "synthetic_items"]

Array = np.ndarray[Any, Any]
RATE, BINS, SEED, VERSIONS = 16000, 80, 1717, 2
VOICES = (
    "m1 m2 m3 m4 m5 m6 m8 f1 f2 f3 f5 klatt klatt3 klatt4 klatt6 Alex Andy Alicia Annie Gene Lee Michael "
    "adam anika antonio aunty belinda caleb david edward grandpa john linda paul pedro rob steph travis "
    "victor"
)
HELD_OUT_VOICES = ("m7", "f4", "Mario")


@dataclass(frozen=True)
class Item:
    """One recording to train or test on.

    name: of the file in the archive, or empty for synthetic speech. syllables: pinyin with tones. speaker: a
    name, or the voice of espeak-ng. part: "train" or "test". speed, pitch: espeak-ng's options -s and -p.
    """

    name: str
    text: str
    syllables: tuple[str, ...]
    speaker: str
    part: str
    speed: int = 0
    pitch: int = 0

    @property
    def kind(self) -> str:
        """ "words", "syllables" or "synthetic"."""
        return "synthetic" if not self.name else "words" if self.name.startswith("hsk") else "syllables"

    @property
    def units(self) -> list[str]:
        """The units of the syllables."""
        return [unit for syllable in self.syllables for unit in split_syllable(syllable)]


def _readings(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Words of Chinese characters with their pinyin by pypinyin; words that have none are left out."""
    from pypinyin import Style, lazy_pinyin

    for word in words:
        if not re.fullmatch("[\u4e00-\u9fff]+", word):
            continue
        found = tuple(lazy_pinyin(word, style=Style.TONE3, neutral_tone_with_five=True))
        try:
            for syllable in found:
                split_syllable(syllable)
        except InvalidArgument:
            continue
        yield word, found


def dictionary(most: int = 80_000) -> list[tuple[str, tuple[str, ...], int]]:
    """The most frequent words of jieba's dictionary: (word, pinyin, count), by falling count."""
    import jieba

    lines = (Path(jieba.__file__).parent / "dict.txt").read_text(encoding="utf-8").splitlines()
    counts = {word: int(count) for word, count, _ in (line.split() for line in lines)}
    words = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    return [(word, syllables, counts[word]) for word, syllables in _readings(words)]


def human_items() -> list[Item]:
    """The words and syllables of audio_cmn whose names have a reading."""
    found = load_recordings("audio_cmn")
    made = []
    for part, recordings in (("train", found.train), ("test", found.test)):
        names = {r.label.replace("_", ""): r for r in recordings}
        made += [Item(names[w].name, w, s, names[w].speaker, part) for w, s in _readings(list(names))]
    spoken = {r.label: r for r in found.other}
    plain = sorted({label[:-1] for label in spoken})
    order = np.random.RandomState(SEED).permutation(len(plain))
    held = {plain[n] for n in order[: len(plain) // 4]}
    for label, r in spoken.items():
        try:
            split_syllable(label)
        except InvalidArgument:
            continue
        made.append(Item(r.name, "", (label,), r.speaker, "test" if label[:-1] in held else "train"))
    return made


def synthetic_items(count: int, tests: int = 300) -> list[Item]:
    """Words of the dictionary, drawn by the root of their frequency, in drawn voices, speeds and pitches.

    count: to train on. tests: by each voice that is held out, words that are not trained on.
    """
    words = dictionary()
    rng = np.random.RandomState(SEED)
    weight = np.array([n for _, _, n in words], float) ** 0.5 + 10
    drawn = rng.choice(len(words), count + 3 * tests, False, weight / weight.sum())
    made, voices = [], VOICES.split()
    for n, place in enumerate(drawn.tolist()):
        text, syllables, _ = words[place]
        part = "train" if n < count else "test"
        voice = HELD_OUT_VOICES[n % 3] if part == "test" else voices[rng.randint(len(voices))]
        speed, pitch = int(rng.randint(110, 200)), int(rng.randint(20, 80))
        made.append(Item("", text, syllables, voice, part, speed, pitch))
    return made


def _spoken(item: Item) -> Array:
    """What espeak-ng says, float32 [samples] at RATE."""
    voice, words = f"cmn-latn-pinyin+{item.speaker}", "".join(item.syllables)
    options = ["-v", voice, "-s", str(item.speed), "-p", str(item.pitch), "--stdout", words]
    done = subprocess.run(["espeak-ng", *options], capture_output=True, check=True)
    # The header of a stream has no length: samples are int16 from byte 44 on, at 22,050 Hz.
    sound = np.frombuffer(done.stdout[44:], np.int16) / np.float32(32768)
    around = np.zeros(2000, np.float32)
    sound = np.concatenate([around, resample(sound, 22050, RATE).numpy(), around])
    faint: Array = sound + np.random.RandomState(len(sound)).randn(len(sound)).astype(np.float32) * 3e-4
    return faint


@functools.cache
def _recordings() -> dict[str, Recording]:
    found = load_recordings("audio_cmn")
    return {r.name: r for r in [*found.train, *found.test, *found.other]}


def _sound(item: Item) -> Array:
    """float32 [samples] at RATE."""
    if not item.name:
        return _spoken(item)
    waveform, rate = files.load(io.BytesIO(_recordings()[item.name].bytes()))
    samples: Array = resample(waveform.mean(0), rate, RATE).numpy()
    return samples


def _trimmed(sound: Array, rng: np.random.RandomState) -> Array:
    """The sound without most of the silence around it: 0.05 to 0.3 s stay on each side, as drawn."""
    step = RATE // 100
    blocks = sound[: len(sound) // step * step].reshape(-1, step)
    loud = np.flatnonzero((blocks**2).mean(1) > 1e-3 * (blocks**2).mean(1).max())  # within 30 dB
    first, last = loud[[0, -1]] * step + (rng.uniform(0.05, 0.3, 2) * RATE).astype(int) * [-1, 1]
    return sound[max(first, 0) : last + step]


def _noise(rng: np.random.RandomState, count: int) -> Array:
    """Noise whose power falls with frequency to a drawn exponent, 0 (white) to 2 (brown), and that swells."""
    spectrum = np.fft.rfft(rng.randn(count))
    spectrum /= np.maximum(np.arange(len(spectrum)), 20 * count / RATE) ** rng.uniform(0, 1)
    sound = np.fft.irfft(spectrum, count) * (1 + 0.5 * np.sin(np.linspace(0, rng.uniform(0, 20), count)))
    return (sound / np.abs(sound).max()).astype(np.float32)


def _changed(sound: Array, rng: np.random.RandomState) -> Array:
    """Another version: 0.85 to 1.15 times as fast, at times in a room, mostly with noise 5 to 35 dB below."""
    made = change_speed(sound, rng.uniform(0.85, 1.15))
    if rng.rand() < 0.3:
        count = int(rng.uniform(0.05, 0.25) * RATE)
        room = rng.randn(count) * np.exp(-np.linspace(0, 6.9, count)) * rng.uniform(0.02, 0.1)
        room[0] = 1
        made = reverberate(made, room.astype(np.float32))
    if rng.rand() < 0.7:
        made = add_noise(made, _noise(rng, made.shape[0]), float(rng.uniform(5, 35)))
    changed: Array = made.numpy()
    return changed


def _features(task: tuple[int, Item, int]) -> Array:
    """float16 [frames, BINS] of a version of an item; version 0 is the sound as it is."""
    number, item, version = task
    sound, rng = _sound(item), np.random.RandomState([SEED, number, version])
    if item.part == "train":
        sound = _trimmed(sound, rng)
    if version:
        sound = _changed(sound, rng)
    return fbank(sound, RATE, BINS).numpy().astype(np.float16)


class FeatureFile:
    """Features of items, mapped from a folder that `store` has written.

    items: of each row; versions: which of its versions a row is. `file[row]`: float16 [frames, BINS].
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = path = Path(folder)
        kept = json.loads((path / "items.json").read_text(encoding="utf-8"))
        self.items = [Item(**{**one, "syllables": tuple(one["syllables"])}) for one, _ in kept]
        self.versions = [version for _, version in kept]
        self.ends = np.load(path / "ends.npy")
        self.frames = np.memmap(path / "features.f16", np.float16, "r", shape=(int(self.ends[-1]), BINS))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, row: int) -> Array:
        start = int(self.ends[row - 1]) if row else 0
        return self.frames[start : int(self.ends[row])]


def store(
    folder: str | Path,
    items: Sequence[Item],
    versions: int,
    processes: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> FeatureFile:
    """Write the features of items to a folder and open it.

    versions: of each recording to train on, the first as it is; synthetic speech only has a changed one. A
    folder that is complete is opened as it is. progress: called with (rows done, rows).
    """
    path = Path(folder)
    if (path / "ends.npy").exists():
        return FeatureFile(path)
    path.mkdir(parents=True, exist_ok=True)
    tasks = []
    for n, item in enumerate(items):
        kept = range(1) if item.part == "test" else range(versions) if item.name else range(1, 2)
        tasks += [(n, item, version) for version in kept]
    with contextlib.ExitStack() as stack:
        found: Iterable[Array] = map(_features, tasks)
        if processes > 1:
            pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(processes))
            found = pool.imap(_features, tasks, 16)
        lengths = []
        with open(path / "features.f16", "wb") as file:
            for done, frames in enumerate(found, 1):
                file.write(frames.tobytes())
                lengths.append(len(frames))
                if progress is not None and done % 500 == 0:
                    progress(done, len(tasks))
    rows = [(asdict(item), version) for _, item, version in tasks]
    (path / "items.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    np.save(path / "ends.npy", np.cumsum(lengths))  # last: it marks the other files as whole
    return FeatureFile(path)


def development(file: FeatureFile, count: int = 200) -> list[int]:
    """The rows of `count` words (a tenth at most) that are left out of training, to choose settings on."""
    rows = [n for n, item in enumerate(file.items) if item.kind == "words" and item.part == "train"]
    words = sorted({file.items[n].text for n in rows})
    chosen = set(np.random.RandomState(5).permutation(words)[: min(count, len(words) // 10)].tolist())
    return [n for n in rows if file.items[n].text in chosen and file.versions[n] == 0]
