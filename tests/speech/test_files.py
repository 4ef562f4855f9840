"""Sound files of every kind that is read, and what is wrong with others."""

import io
import struct
import wave

import numpy as np
import pytest

import sampan as paddle
from sampan import speech
from sampan.speech import files

needs_soundfile = pytest.mark.skipif(
    "soundfile" not in files.list_available_backends(), reason="needs soundfile"
)


@pytest.fixture(params=["wave_backend", pytest.param("soundfile", marks=needs_soundfile)])
def backend(request):
    """Each backend in turn."""
    files.set_backend(request.param)
    yield request.param
    files._chosen.clear()


def signal(channels=2, count=1000) -> np.ndarray:
    return (np.random.default_rng(0).uniform(-0.9, 0.9, (channels, count))).astype(np.float32)


def wav_bytes(raw: bytes, channels=1, width=2, rate=8000, tag=1) -> bytes:
    """A WAV file by hand: RIFF, fmt, data."""
    head = struct.pack("<HHIIHH", tag, channels, rate, rate * channels * width, channels * width, 8 * width)
    chunks = b"fmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(raw)) + raw
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def test_16_bits_there_and_back(tmp_path, backend) -> None:
    x, path = signal(), tmp_path / "a.wav"
    speech.save(path, paddle.to_tensor(x), 16000)
    with wave.open(str(path)) as held:
        assert held.getparams()[:4] == (2, 2, 16000, 1000)
        stored = np.frombuffer(held.readframes(1000), "<i2").reshape(-1, 2).T
    np.testing.assert_array_equal(stored, np.trunc(x.astype(np.float64) * 32768))
    found, rate = speech.load(path)
    assert rate == 16000 and found.dtype == paddle.float32 and found.shape == [2, 1000]
    np.testing.assert_array_equal(found.numpy(), stored / np.float32(32768))
    whole, _ = speech.load(str(path), 10, 5, normalize=False, channels_first=False)
    np.testing.assert_array_equal(whole.numpy(), stored[:, 10:15].T)
    assert speech.load(path, frame_offset=990)[0].shape == [2, 10]
    assert speech.load(path, frame_offset=5000)[0].shape == [2, 0]
    again = tmp_path / "b.wav"
    speech.save(again, found, rate)
    assert again.read_bytes() == path.read_bytes()
    known = speech.info(path)
    assert (known.sample_rate, known.num_samples, known.num_channels) == (16000, 1000, 2)
    assert (known.bits_per_sample, known.encoding) == (16, "PCM_S")
    with path.open("rb") as stream:
        np.testing.assert_array_equal(speech.load(stream)[0].numpy(), found.numpy())


def test_what_is_too_large_is_cut_off(tmp_path, backend) -> None:
    path = tmp_path / "a.wav"
    speech.save(path, paddle.to_tensor([[1.0, 2.0, -1.0, -3.0]]), 8000)
    assert speech.load(path, normalize=False)[0].tolist() == [[32767, 32767, -32768, -32768]]


def test_blocks_are_the_file(tmp_path, backend) -> None:
    x, path = signal(1, 1003), tmp_path / "a.wav"
    speech.save(path, paddle.to_tensor(x), 8000)
    blocks = list(speech.read_blocks(path, 100))
    assert [block.shape for block in blocks] == [(1, 100)] * 10 + [(1, 3)]
    np.testing.assert_array_equal(np.concatenate(blocks, 1), speech.load(path)[0].numpy())


def test_files_that_are_no_sound(tmp_path, backend) -> None:
    whole = wav_bytes(np.arange(500, dtype="<i2").tobytes())
    for name, content, message in [
        ("empty.wav", b"", r"filepath: .*empty\.wav is empty, it has 0 bytes"),
        (
            "half.wav",
            whole[:544],
            r"half\.wav is truncated: its header states 1000 bytes of samples, it has 500",
        ),
        ("head.wav", whole[:30], r"head\.wav is truncated: it ends before its samples"),
        ("text.wav", b"this is not a sound, it is a sentence", r"text\.wav is not a (sound|WAV) file"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        for function in (speech.load, speech.info, lambda p: list(speech.read_blocks(p))):
            with pytest.raises(ValueError, match=message):
                function(path)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.wav"):
        speech.load(tmp_path / "none.wav")
    with pytest.raises(ValueError, match="is a folder"):
        speech.load(tmp_path)
    with pytest.raises(TypeError, match="expected a path or an open file, got int"):
        speech.load(5)
    with pytest.raises(ValueError, match=r"not a (sound|WAV) file"):
        speech.load(io.BytesIO(b"also not a sound" * 9))


def test_a_size_that_was_not_known_in_advance_is_read(tmp_path, backend) -> None:
    """As programs write it that send WAV through a pipe."""
    whole = bytearray(wav_bytes(np.arange(500, dtype="<i2").tobytes()))
    if backend == "wave_backend":
        pytest.skip("`wave` takes the stated size")
    whole[40:44] = struct.pack("<I", 0xFFFFFFFF)
    path = tmp_path / "pipe.wav"
    path.write_bytes(whole)
    assert speech.load(path, normalize=False)[0].shape == [1, 500]


@needs_soundfile
@pytest.mark.parametrize("bits, encoding", [(24, "PCM_S"), (32, None), (32, "PCM_F"), (64, "PCM_F")])
def test_more_bits(tmp_path, bits, encoding) -> None:
    x, path = signal(), tmp_path / "a.wav"
    speech.save(path, paddle.to_tensor(x), 44100, encoding=encoding, bits_per_sample=bits)
    found, rate = speech.load(path)
    exact = encoding == "PCM_F"
    np.testing.assert_allclose(found.numpy(), x, atol=0 if exact else 2.0 ** (1 - bits) + 1e-7)
    known = speech.info(path)
    assert rate == 44100 and (known.bits_per_sample, known.encoding) == (bits, encoding or "PCM_S")
    if bits == 24:
        raw = path.read_bytes()[-6:]  # the last sample of two channels, by hand
        last = [int.from_bytes(raw[i : i + 3], "little", signed=True) for i in (0, 3)]
        np.testing.assert_array_equal(last, np.trunc(x[:, -1].astype(np.float64) * 2**23))
        np.testing.assert_array_equal(speech.load(path, normalize=False)[0].numpy()[:, -1], last)


@needs_soundfile
def test_24_bits_written_by_hand(tmp_path) -> None:
    values = [0, 1, -1, 8388607, -8388608, 123456]
    raw = b"".join(v.to_bytes(3, "little", signed=True) for v in values)
    path = tmp_path / "a.wav"
    path.write_bytes(wav_bytes(raw, channels=2, width=3))
    found, _ = speech.load(path, normalize=False)
    np.testing.assert_array_equal(found.numpy(), np.array(values).reshape(-1, 2).T)


@needs_soundfile
def test_flac_and_mp3(tmp_path) -> None:
    x = 0.5 * np.sin(np.arange(16000) * 0.1).astype(np.float32)[None]
    flac, mp3 = tmp_path / "a.flac", tmp_path / "a.mp3"
    speech.save(flac, paddle.to_tensor(x), 16000)
    np.testing.assert_allclose(speech.load(flac)[0].numpy(), x, atol=2**-14)
    assert speech.info(flac).encoding == "FLAC"
    speech.save(mp3, paddle.to_tensor(x), 16000)
    found = speech.load(mp3)[0].numpy()
    assert speech.info(mp3).encoding == "MP3" and abs(found.shape[1] - 16000) < 2500
    assert max(np.corrcoef(found[0, s : s + 8000], x[0, 2000:10000])[0, 1] for s in range(1900, 4200)) > 0.99
    flac.write_bytes(flac.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=r"a\.flac"):
        speech.load(flac)


@needs_soundfile
def test_real_recordings(real_sounds) -> None:
    """Six people's digits in WAV, and Mandarin in MP3."""
    for name, rate in (("fsdd", 8000), ("audio_cmn", None)):
        for content in real_sounds(name, 3):
            found, got = speech.load(io.BytesIO(content))
            assert found.shape[0] == 1 and found.shape[1] > 1000 and (rate in (None, got))
            assert 0.01 < float(found.abs().max()) <= 1.5


@pytest.mark.alone
def test_an_hour_is_read_in_blocks_of_bounded_memory(tmp_path) -> None:
    import tracemalloc

    path, second = tmp_path / "hour.wav", (np.sin(np.arange(16000) * 0.1) * 9000).astype("<i2").tobytes()
    with wave.open(str(path), "wb") as held:
        held.setparams((1, 2, 16000, 0, "NONE", "NONE"))
        for _ in range(3600):
            held.writeframesraw(second)
    stream, frames, samples = speech.StreamingFbank(num_mel_bins=23), 0, 0
    tracemalloc.start()
    for block in speech.read_blocks(path):
        samples += block.shape[1]
        frames += len(stream.feed(block[0]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert samples == 3600 * 16000 and frames == 1 + (samples - 400) // 160
    assert peak < 40e6  # with the import of soundfile; the samples are 230 MB


def test_errors_of_save_and_backends(tmp_path, backend) -> None:
    x = paddle.zeros([1, 10])
    for settings, message in [
        ({"src": paddle.zeros([10])}, r"src: expected \[channels, samples\], got shape \[10\]"),
        (
            {"src": paddle.to_tensor([[np.nan]])},
            "src: expected finite samples, got nan at sample 0 of channel 0",
        ),
        ({"bits_per_sample": 12}, "expected PCM_S of 16, 24 or 32 bits"),
        ({"sample_rate": 0}, "sample_rate: expected a positive number"),
        ({"filepath": tmp_path / "a.xyz"}, r"expected an ending of \.wav.*, got 'a\.xyz'"),
    ]:
        with pytest.raises(ValueError, match=message):
            speech.save(**{"filepath": tmp_path / "a.wav", "src": x, "sample_rate": 8000, **settings})
    with pytest.raises(TypeError, match=r"src: expected a Tensor, got list"):
        speech.save(tmp_path / "a.wav", [[0.0]], 8000)
    with pytest.raises(TypeError, match="expected float32, float64 or int16"):
        speech.save(tmp_path / "a.wav", paddle.zeros([1, 3], "int64"), 8000)
    with pytest.raises(ValueError, match="num_frames: expected an integer of at least -1, got -2"):
        speech.load(tmp_path / "a.wav", num_frames=-2)
    with pytest.raises(NotImplementedError, match=r"expected one of .*wave_backend, got 'sox'"):
        files.set_backend("sox")
    assert files.get_current_backend() == backend
    if backend == "wave_backend":
        with pytest.raises(ValueError, match="wave_backend writes WAV of 16 bits; install soundfile"):
            speech.save(tmp_path / "a.flac", x, 8000)
        (tmp_path / "b.wav").write_bytes(wav_bytes(bytes(9), width=3))
        with pytest.raises(ValueError, match=r"b\.wav has 24 bits a sample; wave_backend reads 16"):
            speech.load(tmp_path / "b.wav")
