"""The Mandarin recogniser that ships: the documents' five lines, a stream, its card, its size, damaged files."""

import itertools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech import (
    AudioClassifier,
    PrefixBeam,
    StreamingRecognizer,
    Wav2Vec2Processor,
    align,
    available_models,
    cer,
    find_model,
    model_card,
    resample,
)
from sampan.speech.inputs import read_sound

NAME, LIMIT = "wenetspeech_zh", 0.25  # the card has the character error rates of all held-out words


@pytest.fixture(scope="module")
def shipped():
    return Wav2Vec2Processor.from_pretrained(NAME), AudioClassifier.from_pretrained(NAME)


def read(shipped, sound):
    """The documents' lines."""
    processor, model = shipped
    inputs = processor(sound, return_tensors="pd", sampling_rate=16000)
    with paddle.no_grad():
        logits = model(**inputs).logits
    return processor.decode(logits[0])


def live(shipped, sound, step=1600):
    """The texts while pieces of a sound arrive, and the last one."""
    processor, model = shipped
    beam = PrefixBeam(len(processor.tokens))
    recognizer = StreamingRecognizer(model.model, processor.inputs.stream(), beam, processor.tokens)
    texts = [recognizer.feed(sound[at : at + step]) for at in range(0, len(sound), step)]
    return texts, recognizer.finish()


@pytest.fixture(scope="module")
def held_out():
    """Twenty-four held-out words of audio_cmn."""
    from sampan.datasets import load_recordings

    try:
        return load_recordings("audio_cmn").test[::36]
    except (FileNotFoundError, ValueError) as missing:
        pytest.skip(f"audio_cmn: {missing}")


def test_the_five_lines_on_recordings_of_words(shipped, held_out, tmp_path):
    said, heard = [], []
    for recording in held_out:
        path = tmp_path / "word.mp3"
        path.write_bytes(recording.bytes())
        said.append(recording.label.replace("_", ""))
        heard.append(read(shipped, path))
    assert cer(said, heard) < LIMIT
    assert sum(a == b for a, b in zip(said, heard, strict=True)) > len(said) / 2


def test_text_appears_while_words_are_spoken(shipped, held_out, tmp_path):
    sounds = []
    for recording in held_out[:5]:
        (tmp_path / "word.mp3").write_bytes(recording.bytes())
        sounds.append(read_sound(tmp_path / "word.mp3", 16000))
    texts, last = live(shipped, np.concatenate(sounds))
    finals = [final for _, final in texts]
    assert all(b.startswith(a) for a, b in itertools.pairwise(finals))  # final text stays
    assert last.startswith(finals[-1])
    assert len({partial for partial, _ in texts}) > 5
    said = "".join(recording.label.replace("_", "") for recording in held_out[:5])
    assert cer([said], [last]) < 2 * LIMIT


def test_synthetic_speech_gives_characters(shipped):
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    command = ["espeak-ng", "-v", "cmn-latn-pinyin+m3", "--stdout", "xue2xi2"]
    done = subprocess.run(command, capture_output=True, check=True)
    sound = np.frombuffer(done.stdout[44:], np.int16) / np.float32(32768)
    text = read(shipped, resample(sound, 22050, 16000))
    assert 1 <= len(text) <= 5
    assert all("\u4e00" <= letter <= "\u9fff" for letter in text)


def test_silence_and_noise_give_no_text(shipped):
    rng = np.random.default_rng(0)
    for level in (0.0, 0.001, 0.05):
        assert len(read(shipped, rng.normal(0, level, 32000).astype("float32"))) <= 1
    texts, last = live(shipped, np.zeros(48000, np.float32))
    assert last == texts[-1].partial == texts[-1].final == ""


@pytest.fixture(scope="module")
def word(held_out, tmp_path_factory):
    path = tmp_path_factory.mktemp("word") / "word.mp3"
    path.write_bytes(held_out[0].bytes())
    return read_sound(path, 16000)


@pytest.mark.parametrize(
    ("rate", "channels", "subtype"),
    [(16000, 1, "PCM_16"), (16000, 2, "PCM_16"), (16000, 1, "PCM_24"), (16000, 2, "PCM_24"),
     (44100, 1, "PCM_16"), (48000, 2, "FLOAT")],
)  # fmt: skip  # one line would be a column of numbers
def test_files_of_another_rate_depth_or_number_of_channels_are_read_as_the_same_words(
    shipped, word, tmp_path, rate, channels, subtype
):
    sound = resample(word, 16000, rate) if rate != 16000 else word
    sound = np.stack([np.asarray(sound)] * channels, 1)
    soundfile.write(tmp_path / "word.wav", sound, rate, subtype=subtype)
    assert read(shipped, tmp_path / "word.wav") == read(shipped, word) != ""


def test_recordings_that_cannot_be_read_are_refused_in_words(shipped, tmp_path):
    tone = (0.1 * np.sin(np.arange(16000) * 0.1)).astype(np.float32)
    path = tmp_path / "x.wav"
    soundfile.write(path, tone, 16000)
    whole = path.read_bytes()
    soundfile.write(path, tone[:0], 16000)
    damaged = tone.copy()
    damaged[77] = np.nan
    for content, words in [
        (whole[:20000], "is truncated: its header states 32000 bytes of samples, it has 19956"),
        (whole[:30], "is truncated: it ends before its samples"),
        (b"", "is empty, it has 0 bytes"),
        (path.read_bytes(), r"expected \[samples\] or \[channels, samples\], got \[0\]"),
        (b"hello", "is not a sound file"),
    ]:
        path.write_bytes(content)
        with pytest.raises(InvalidArgument, match=words):
            read(shipped, path)
    soundfile.write(path, damaged, 16000, subtype="FLOAT")
    for sound in (path, damaged, np.full(16000, np.inf, np.float32)):
        with pytest.raises(InvalidArgument, match="expected finite samples, got NaN or infinity"):
            read(shipped, sound)
    with pytest.raises(InvalidArgument, match="this model reads 16000 Hz, got 8000: resample the sound"):
        shipped[0](tone, return_tensors="pd", sampling_rate=8000)
    with pytest.raises(InvalidArgument, match="expected at least 7 frames, got 0"):
        read(shipped, tone[:100])
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(shipped, tmp_path / "none.wav")


def test_a_label_longer_than_the_recording_has_no_path(shipped):
    logits, words = paddle.randn([3, 1, 217]), paddle.to_tensor([[1, 2, 3, 4, 1]], dtype="int32")
    loss = paddle.nn.functional.ctc_loss(
        logits, words, paddle.to_tensor([3]), paddle.to_tensor([5]), reduction="none"
    )
    assert loss.numpy().tolist() == [np.inf]
    with pytest.raises(InvalidArgument, match="expected at least 5 frames for 5 ids, got 3"):
        align(np.full((3, 217), -5.4, np.float32), [1, 2, 3, 4, 1])


def test_a_stream_has_the_numbers_of_the_whole_in_chunks(shipped):
    _, model = shipped
    rng = np.random.default_rng(1)
    features = paddle.to_tensor(rng.normal(0, 1, (1, 200, 80)).astype("float32"))
    with paddle.no_grad():
        whole = model.model(features, None, 4, 16).logits[0].numpy()
    stream = model.model.stream(4, 16)
    parts = [stream.feed(features[0, at : at + 37]) for at in range(0, 200, 37)]
    encoded = paddle.concat([*parts, stream.finish()], 0)
    assert np.allclose(model.model.head(encoded).numpy(), whole, atol=1e-3)


def test_the_card_has_its_parts():
    card = model_card(NAME)
    assert "**It does not\nrecognise free speech**" in card
    for part in (
        "held-out words, first speaker",
        "held-out syllables, second speaker",
        "held-out words, held-out synthetic voices",
        "CC BY-SA",
        "https://github.com/hugolpz/audio-cmn",
        "python -m sampan.models.speech_mandarin train",
        "synthetic, not human",
        "jieba",
        "pypinyin",
    ):
        assert part in card


def test_it_comes_with_the_library_and_is_small():
    folder = find_model(NAME)
    assert NAME in available_models()
    assert folder == Path(paddle.__file__).parent / "models" / "data" / NAME
    names = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(names) == {
        "README.md",
        "config.json",
        "lexicon.txt",
        "model.safetensors",
        "preprocessor_config.json",
        "tokenizer_config.json",
        "vocab.json",
    }
    assert sum(names.values()) < 20e6
    with open(folder / "lexicon.txt", encoding="utf-8") as file:
        assert "MIT" in "".join(next(file) for _ in range(2))


@pytest.mark.parametrize("name", ["model.safetensors", "lexicon.txt", "vocab.json", "config.json"])
def test_files_that_are_missing_or_damaged_are_named(tmp_path, name):
    folder = tmp_path / "copy"
    shutil.copytree(find_model(NAME), folder)

    def load():
        Wav2Vec2Processor.from_pretrained(folder)
        AudioClassifier.from_pretrained(folder)

    path = folder / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 1])
    with pytest.raises(InvalidArgument, match=name):
        load()
    path.unlink()
    with pytest.raises(InvalidArgument, match=name):
        load()
