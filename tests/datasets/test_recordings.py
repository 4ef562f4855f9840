"""Recordings by name: miniature archives in the official layouts, errors, and the real ones where they are."""

import hashlib
import io
import os
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sampan import datasets
from sampan.datasets import recordings


def wav(value: int) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as held:
        held.setparams((1, 2, 8000, 0, "NONE", "NONE"))
        held.writeframes(np.full(100, value, "<i2").tobytes())
    return stream.getvalue()


def archive(path: Path, names: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        for i, name in enumerate(names):
            made.writestr(name, wav(i))
    return path


def test_digits_are_split_by_number(tmp_path) -> None:
    names = [f"{d}_{who}_{n}.wav" for d in range(2) for who in ("ann", "bob") for n in range(7)]
    path = archive(tmp_path / "fsdd.zip", [*names, "README.md"])
    made = recordings.read_digits({"archive": path})
    assert [len(made[part]) for part in ("train", "test", "other")] == [8, 20, 0]
    assert {r.name.split("_")[2] for r in made["train"]} == {"5.wav", "6.wav"}
    chosen = next(r for r in made["test"] if r.name == "1_bob_3.wav")
    assert (chosen.label, chosen.speaker) == ("1", "bob")
    waveform, rate = chosen.load()
    assert rate == 8000 and waveform.shape == [1, 100]
    np.testing.assert_array_equal(waveform.numpy(), np.float32(names.index("1_bob_3.wav") / 32768))


def test_mandarin_words_are_held_out_and_syllables_apart(tmp_path) -> None:
    words = [f"hsk/cmn-{chr(0x4E00 + i)}.mp3" for i in range(30)]
    path = archive(tmp_path / "audio_cmn.zip", [*words, "syllabs/cmn-ba1.mp3", "README.md"])
    made, again = (recordings.read_mandarin({"archive": path}) for _ in range(2))
    assert [len(made[part]) for part in ("train", "test", "other")] == [27, 3, 1]
    assert not {r.label for r in made["train"]} & {r.label for r in made["test"]}
    assert list(again["test"]) == list(made["test"])
    (syllable,) = made["other"]
    assert (syllable.label, syllable.speaker) == ("ba1", "Chen Wang")
    assert {r.speaker for r in made["train"]} == {"Yue Tan"}


def test_a_file_that_is_no_zip(tmp_path) -> None:
    (tmp_path / "a.zip").write_bytes(b"not a zip")
    with pytest.raises(ValueError, match=r"a\.zip is not a zip of recordings"):
        recordings.read_digits({"archive": tmp_path / "a.zip"})


def test_search_counts_and_errors(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match="digits is not a set of recordings"):
        datasets.load_recordings("digits")
    with pytest.raises(FileNotFoundError, match="fsdd"):
        datasets.load_recordings("fsdd")
    path = archive(tmp_path / "tiny" / "tiny.zip", ["0_ann_0.wav", "0_ann_5.wav"])
    card = datasets.places.bundled().joinpath("fsdd", "card.toml").read_text(encoding="utf-8")
    data = path.read_bytes()
    card = card.replace('name = "fsdd"', 'name = "tiny"').replace("fsdd.zip", "tiny.zip")
    card = card.replace("bytes = 21450741", f"bytes = {len(data)}").replace("train = 2700", "train = 1")
    card = card.replace(card[card.index('sha256 = "') :][10:74], hashlib.sha256(data).hexdigest())
    (tmp_path / "tiny" / "card.toml").write_text(card, encoding="utf-8")
    with pytest.raises(ValueError, match="the test part has 1 recordings, its card says 300"):
        datasets.load_recordings("tiny")
    (tmp_path / "tiny" / "card.toml").write_text(card.replace("test = 300", "test = 1"), encoding="utf-8")
    found = datasets.load_recordings("tiny")
    assert [r.name for r in found.train] == ["0_ann_5.wav"] and found.card.classes[3] == "3"


@pytest.mark.parametrize("name, label, speakers", [("fsdd", "7", 6), ("audio_cmn", "名字", 1)])
def test_the_real_sets(name, label, speakers) -> None:
    places = [Path(p) for p in os.environ.get("SAMPAN_DATA", "").split(os.pathsep) if p]
    if not any((place / name / f"{name}.zip").is_file() for place in places):
        pytest.skip(f"needs {name} in SAMPAN_DATA")
    found = datasets.load_recordings(name)
    assert [len(found.train), len(found.test)] == [found.layout.train, found.layout.test]
    assert label in {r.label for r in [*found.train, *found.test]}
    assert len({r.speaker for r in found.train}) == speakers
    assert len(found.other) == (1707 if name == "audio_cmn" else 0)
    assert len(found.test[0].bytes()) > 1000
