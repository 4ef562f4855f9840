"""A corpus in one file, from made recordings in the layout of audio_cmn."""

import io
import zipfile

import numpy as np
import pytest
import soundfile

from sampan.datasets.recordings import Recording
from sampan.engine.errors import InvalidArgument
from sampan.models.speech_corpus import prepare


@pytest.fixture
def recordings(tmp_path) -> list[Recording]:
    archive = tmp_path / "words.zip"
    with zipfile.ZipFile(archive, "w") as held:
        for n, (name, rate) in enumerate([("一", 16000), ("二", 22050), ("三", 16000)]):
            tone = 0.1 * np.sin(np.arange(int(rate * (0.5 if n < 2 else 0.05))) * 0.1 * (n + 1))
            sound = np.concatenate([np.zeros(rate // 4), tone, np.zeros(rate // 5)])
            buffer = io.BytesIO()
            soundfile.write(buffer, sound, rate, format="WAV")
            held.writestr(f"{name}.wav", buffer.getvalue())
    return [Recording(archive, f"{name}.wav", name, "made") for name in "一二三"]


def test_words_are_trimmed_resampled_and_levelled(recordings, tmp_path) -> None:
    corpus = prepare(recordings, tmp_path / "corpus.npz")
    assert corpus.texts == ["一", "二"] and len(corpus) == 2 and corpus.sample_rate == 16000
    for n in range(2):
        sound = corpus.sound(n)
        assert abs(len(sound) / 16000 - 0.56) < 0.05  # the tone and 0.03 s at each end
        assert abs(np.sqrt((sound**2).mean()) - 0.08) < 0.001
    assert len(corpus.sound(0)) + len(corpus.sound(1)) == len(corpus.samples)
    again = prepare(recordings, tmp_path / "corpus.npz")
    assert (again.samples == corpus.samples).all()


def test_other_recordings_and_none_are_refused(recordings, tmp_path) -> None:
    prepare(recordings, tmp_path / "corpus.npz")
    with pytest.raises(InvalidArgument, match=r"corpus\.npz: is of other recordings"):
        prepare(recordings[:1], tmp_path / "corpus.npz")
    with pytest.raises(InvalidArgument, match=r"recordings: expected some of 0\.15 s or more, got none"):
        prepare(recordings[2:], tmp_path / "none.npz")
