"""ESC-50 and TESS from folders in their official layout, made here in miniature."""

import numpy as np
import pytest

import sampan as paddle
from sampan.audio import datasets


def recording(path, level: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    paddle.audio.save(str(path), paddle.full([1, 800], level), 8000)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_esc50(data) -> None:
    folder = data / "ESC-50-master"
    rows = [("1-1-A-3.wav", 1, 3), ("2-1-A-0.wav", 2, 0), ("1-2-A-49.wav", 1, 49)]
    for i, (name, _, _) in enumerate(rows):
        recording(folder / "audio" / name, i / 4)
    (folder / "meta").mkdir()
    lines = [f"{name},{fold},{target},class,False,src,A" for name, fold, target in rows]
    header = "filename,fold,target,category,esc10,src_file,take"
    (folder / "meta" / "esc50.csv").write_text("\n".join([header, *lines]) + "\n")
    dev, train = datasets.ESC50(mode="dev"), datasets.ESC50()
    assert [len(dev), len(train)] == [2, 1]
    waveform, label = dev[1]
    assert waveform.shape == [800] and label == 49 and datasets.ESC50.label_list[label] == "Hand saw"
    np.testing.assert_allclose(waveform.numpy(), 0.5)
    assert len(datasets.ESC50.label_list) == 50
    features, _ = datasets.ESC50("dev", 2, "mfcc", n_mfcc=5, n_mels=8, n_fft=128)[0]
    assert features.shape == [5, 26]
    assert datasets.ESC50("dev", 1, "spectrogram", n_fft=128, hop_length=64)[0][0].shape == [65, 13]


def test_tess(data) -> None:
    folder = data / "TESS_Toronto_emotional_speech_set"
    for i, word in enumerate(["back", "bar", "base"]):
        recording(folder / "OAF_angry" / f"OAF_{word}_angry.wav", i / 4)
        recording(folder / "YAF_sad" / f"YAF_{word}_sad.wav", -i / 4)
    dev, train = datasets.TESS("dev", n_folds=3, split=2), datasets.TESS(n_folds=3, split=2)
    assert [len(dev), len(train)] == [2, 4]
    assert [dev[i][1] for i in range(2)] == [0, 6]
    np.testing.assert_allclose(dev[0][0].numpy(), 0.25)


def test_errors(data) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"there is no folder ESC-50-master in .*; unpack .*ESC-50-master\.zip"
    ):
        datasets.ESC50()
    with pytest.raises(FileNotFoundError, match="TESS_Toronto"):
        datasets.TESS()
    with pytest.raises(ValueError, match="split: expected an integer from 1 to 5, got 6"):
        datasets.ESC50(split=6)
    with pytest.raises(ValueError, match="n_folds: expected an integer of at least 1, got 0"):
        datasets.TESS(n_folds=0)
    with pytest.raises(ValueError, match=r"feat_type: expected one of raw, .*, got 'plp'"):
        datasets.AudioClassificationDataset([], [], "plp")
    recording(data / "a.wav", 0.1)
    paddle.audio.save(str(data / "b.wav"), paddle.zeros([2, 10]), 8000)
    with pytest.raises(ValueError, match=r"b\.wav: expected one channel, got 2"):
        datasets.AudioClassificationDataset([str(data / "b.wav")], [0])[0]
