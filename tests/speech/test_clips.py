"""Video files: one that the test writes, damaged ones, and one without the package."""

import sys
import wave

import numpy as np
import pytest

from sampan.speech.clips import load_clip


def write_clip(path, frames: np.ndarray, sound: np.ndarray, rate: int) -> None:
    import av

    with av.open(str(path), "w") as held:
        video, audio = held.add_stream("mpeg4", 25), held.add_stream("pcm_s16le", rate)
        video.width, video.height, video.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        video.bit_rate = 4_000_000
        audio.layout = "mono"
        for frame in frames:
            held.mux(video.encode(av.VideoFrame.from_ndarray(frame, "gray")))
        held.mux(video.encode())
        made = av.AudioFrame.from_ndarray((sound * 32767).astype("<i2")[None], "s16", "mono")
        made.sample_rate = rate
        held.mux(audio.encode(made))
        held.mux(audio.encode())


def test_frames_and_samples(tmp_path) -> None:
    pytest.importorskip("av")
    frames = np.zeros((10, 32, 48), np.uint8)
    for n in range(10):
        frames[n, :, : 4 * n + 4] = 200
    sound = (0.5 * np.sin(np.arange(3200) * 0.2)).astype(np.float32)
    write_clip(tmp_path / "a.mkv", frames, sound, 8000)
    clip = load_clip(tmp_path / "a.mkv")
    assert clip.frames.shape == frames.shape and clip.frames.dtype == np.uint8
    assert (clip.frame_rate, clip.sample_rate) == (25.0, 8000)
    assert np.abs(clip.frames.astype(int) - frames).mean() < 12  # the codec loses a little
    np.testing.assert_allclose(clip.samples, sound, atol=1e-4)


def test_what_is_no_clip(tmp_path) -> None:
    pytest.importorskip("av")
    (tmp_path / "text.mpg").write_bytes(b"this is no video at all")
    with wave.open(str(tmp_path / "sound.wav"), "wb") as held:
        held.setparams((1, 2, 8000, 0, "NONE", "NONE"))
        held.writeframes(bytes(400))
    for name, kind, message in [
        ("text.mpg", ValueError, "is no video that can be read"),
        ("sound.wav", ValueError, "has no picture"),
        ("none.mpg", FileNotFoundError, "path: there is no file"),
    ]:
        with pytest.raises(kind, match=message):
            load_clip(tmp_path / name)


def test_without_the_package(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ImportError, match="load_clip: expected the package av"):
        load_clip(tmp_path / "a.mpg")
