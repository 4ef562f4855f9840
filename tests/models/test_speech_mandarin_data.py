"""Features of the Mandarin recipe: what is held out, versions of a sound, and the file of features."""

import shutil

import numpy as np
import pytest

from sampan.models import speech_mandarin_data as data
from sampan.models.speech_mandarin_data import FeatureFile, Item, development, store, synthetic_items
from sampan.speech import fbank
from tests.models.made_mandarin import made_features

needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
WORD = Item("", "学习", ("xue2", "xi2"), "m1", "train", 150, 50)


def tone(seconds=1.0, level=0.3):
    """A tone between two silences of half a second with faint noise."""
    time = np.arange(int(seconds * data.RATE)) / data.RATE
    quiet = np.zeros(data.RATE // 2)
    sound = np.concatenate([quiet, level * np.sin(2 * np.pi * 440 * time), quiet])
    return (sound + np.random.default_rng(0).normal(0, 1e-4, len(sound))).astype(np.float32)


def test_units_and_kinds():
    assert WORD.units == ["x", "ve2", "x", "i2"]
    names = {"": "synthetic", "hsk/cmn-一.mp3": "words", "syllabs/cmn-ba1.mp3": "syllables"}
    assert {name: Item(name, "", ("ba1",), "A", "test").kind for name in names} == names


def test_silence_is_trimmed_to_a_drawn_margin():
    for seed in range(5):
        kept = data._trimmed(tone(), np.random.RandomState(seed))
        margin = (len(kept) - data.RATE) / data.RATE
        assert 0.09 <= margin <= 0.62
        assert np.abs(kept[len(kept) // 2 - 100 : len(kept) // 2 + 100]).max() > 0.25
    assert len(data._trimmed(np.ones(1600, np.float32), np.random.RandomState(0))) == 1600


def test_a_changed_version_is_reproducible_finite_and_about_as_long():
    sound = tone()
    for seed in range(6):
        made, again = (data._changed(sound, np.random.RandomState(seed)) for _ in range(2))
        assert np.array_equal(made, again)
        assert np.isfinite(made).all()
        assert 1 / 1.16 < len(made) / len(sound) < 1 / 0.84
    assert not np.array_equal(data._changed(sound, np.random.RandomState(0))[:1000], made[:1000])


def test_noise_has_the_asked_length_and_a_falling_spectrum():
    ratios = []
    for seed in range(8):
        noise = data._noise(np.random.RandomState(seed), 8000)
        assert len(noise) == 8000
        assert np.abs(noise).max() == 1
        power = np.abs(np.fft.rfft(noise)) ** 2
        ratios.append(power[100:400].mean() / power[-400:].mean())
    assert min(ratios) > 0.6
    assert max(ratios) > 5


@needs_espeak
def test_synthetic_speech_is_stored_and_read_back(tmp_path):
    tested = Item("", "你好", ("ni3", "hao3"), "f4", "test", 150, 50)
    seen = []
    file = store(tmp_path, [WORD, tested], 2, 1, lambda done, rows: seen.append(done))
    assert file.items == [WORD, tested]
    assert file.versions == [1, 0]  # synthetic speech to train on is changed, what is tested is not
    plain = fbank(data._spoken(tested), data.RATE, data.BINS).numpy()
    assert np.array_equal(file[1], plain.astype(np.float16))
    assert 20 < len(file[0]) < 200
    assert len(store(tmp_path, [], 2)) == 2  # a folder that is complete is not written again


@needs_espeak
def test_espeak_says_other_tones_and_voices_differently():
    sounds = [
        data._spoken(Item("", "", (syllable,), voice, "test", 150, 50))
        for syllable, voice in (("ma1", "m1"), ("ma4", "m1"), ("ma1", "f4"), ("ma1", "m1"))
    ]
    assert np.array_equal(sounds[0], sounds[3])
    assert not np.array_equal(sounds[0], sounds[1])
    assert not np.array_equal(sounds[0], sounds[2])
    assert all(np.abs(s).max() > 0.05 for s in sounds)


def test_what_is_left_out_for_development(tmp_path):
    file = made_features(tmp_path)
    assert development(file) == []  # a tenth of four words
    file.items = [
        Item(f"hsk/{n}.mp3", f"{n}", ("ba1",), "A", "train" if n < 60 else "test") for n in range(70)
    ]
    file.versions = [0] * 70
    chosen = development(file)
    assert len(chosen) == 6
    assert chosen == development(file, 200)
    assert all(file.items[n].part == "train" for n in chosen)


def test_the_dictionary_and_what_is_drawn_of_it_to_be_spoken(monkeypatch):
    pytest.importorskip("pypinyin")
    pytest.importorskip("jieba")
    words = data.dictionary(400)
    assert ("我们", ("wo3", "men5")) in [word[:2] for word in words]
    assert [count for *_, count in words] == sorted((count for *_, count in words), reverse=True)
    monkeypatch.setattr(data, "dictionary", lambda: words)
    items = synthetic_items(40, 5)
    assert items == synthetic_items(40, 5)
    trained, tested = ([i for i in items if i.part == part] for part in ("train", "test"))
    assert (len(trained), len(tested)) == (40, 15)
    assert not {i.speaker for i in trained} & set(data.HELD_OUT_VOICES)
    assert {i.speaker for i in tested} == set(data.HELD_OUT_VOICES)
    assert not {i.text for i in trained} & {i.text for i in tested}


def test_held_out_recordings_of_people():
    pytest.importorskip("pypinyin")
    try:
        items = data.human_items()
    except (FileNotFoundError, ValueError) as missing:
        pytest.skip(f"audio_cmn: {missing}")
    words = [i for i in items if i.kind == "words"]
    assert {i.speaker for i in words} == {"Yue Tan"}
    assert sum(i.part == "test" for i in words) == 859
    trained = {i.syllables[0][:-1] for i in items if i.kind == "syllables" and i.part == "train"}
    tested = {i.syllables[0][:-1] for i in items if i.kind == "syllables" and i.part == "test"}
    assert not trained & tested
    assert 0.2 < len(tested) / len(trained | tested) < 0.3


def test_a_folder_without_features(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"items\.json"):
        FeatureFile(tmp_path)
