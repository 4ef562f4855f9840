"""A voice: files, speaking, streaming and bad input, with a small random voice and with the shipped one."""

import json

import numpy as np
import pytest

pytest.importorskip("pypinyin")
pytest.importorskip("jieba")

from sampan import seed
from sampan.engine.errors import InvalidArgument
from sampan.speech import find_model, model_card
from sampan.speech.synthesis import Synthesizer, Voice, word_units, write_voice
from sampan.speech.synthesis.yin import yin

CONFIG = {
    "model_type": "mandarin_synthesis",
    "mel": {"n_fft": 256, "hop": 64, "n_mels": 16},
    "acoustic": {"width": 16, "hidden": 16, "encoder_layers": 1, "decoder_layers": 1},
    "vocoder": {"width": 8, "hidden": 8, "num_layers": 1},
}


@pytest.fixture(scope="module")
def small() -> Synthesizer:
    seed(4)
    voice = Voice(CONFIG)
    voice.acoustic.duration.last.bias.set_value(
        np.full(1, np.log(9), np.float32)
    )  # about 8 frames for a unit
    return Synthesizer(voice)


def test_a_folder_gives_the_same_sound(small, tmp_path) -> None:
    write_voice(small.voice, tmp_path / "voice", "a card")
    loaded = Synthesizer.from_pretrained(tmp_path / "voice")
    samples, rate = loaded.speak("你好")
    assert rate == loaded.sample_rate == 16000 and samples.dtype == np.float32 and samples.ndim == 1
    assert np.abs(samples).max() <= 1
    wanted = small.speak("你好")[0]
    assert len(samples) == len(wanted) and np.abs(samples - wanted).max() < 0.02  # weights in half precision
    assert (tmp_path / "voice" / "README.md").read_text() == "a card"


def test_a_stream_is_the_whole_in_phrases(small) -> None:
    text = "你好，世界。今天是2026年！"
    chunks = list(small.stream(text))
    assert [chunk.text for chunk in chunks] == ["你好", "世界", "今天是二零二六年"]
    assert chunks[0].words == [["ni2", "hao3"]]
    assert np.array_equal(np.concatenate([c.samples for c in chunks]), small.speak(text)[0])
    assert (chunks[0].samples[-3000:] == 0).all() and np.abs(chunks[0].samples[:-3200]).max() > 0


def test_pace_and_length(small) -> None:
    slow, fast = (len(small.speak("今天天气很好", pace=pace)[0]) for pace in (0.5, 2.0))
    assert fast < 0.6 * slow


def test_words_of_a_phrase_follow_without_silence(small) -> None:
    words = [["ni2", "hao3"], ["ma1"]]
    first, last = (
        small.voice.acoustic([word_units(word)], pace)[0]
        for word, pace in zip(words, (1.25, 1.0), strict=True)
    )
    wanted = first.durations[:-1].sum() + last.durations[1:].sum()
    assert small.frames(words).shape == [wanted, 16]
    assert np.allclose(small.frames(words).numpy()[:5], first.frames.numpy()[:5], atol=1e-5)


def test_bad_input_is_named(small, tmp_path) -> None:
    for text, expected in (
        ("", "text: expected something to say, got ''"),
        ("。，！", "text: expected something to say"),
        ("你好😀", "text: expected Chinese, Latin letters, digits and punctuation, got '😀'"),
        ("よ", "got 'よ'"),
        ("好" * 5001, "text: expected at most 5000 characters, got 5001: use stream"),
        (None, "text: expected a string, got NoneType"),
    ):
        with pytest.raises(InvalidArgument, match=expected):
            small.speak(text)
    for pace in (0, -1, 9, float("nan"), "fast"):
        with pytest.raises(InvalidArgument, match="pace: expected"):
            small.speak("好", pace=pace)
    with pytest.raises(InvalidArgument, match="rise: expected -12 to 12 semitones, got 40"):
        small.speak("好", rise=40)
    with pytest.raises(InvalidArgument, match="name: expected a folder or the name of a model"):
        Synthesizer.from_pretrained("no_such_voice")
    for config, expected in (
        ({"model_type": "conformer"}, "model_type: expected 'mandarin_synthesis', got 'conformer'"),
        (CONFIG | {"vocoder": {"size": 3}}, "vocoder: unknown setting 'size'"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(InvalidArgument, match=expected):
            Synthesizer.from_pretrained(tmp_path)


def test_a_long_text_streams_in_constant_steps(small) -> None:
    stream = small.stream("你好，" * 4000)
    assert next(stream).text == next(stream).text == "你好"


@pytest.fixture(scope="module")
def shipped() -> Synthesizer:
    return Synthesizer.from_pretrained("mandarin_voice")


def change_of_pitch(voice: Synthesizer, word: str) -> float:
    """Semitones from the second to the last fifth of the voiced part, where the melody of a tone is."""
    samples, rate = voice.speak(word)
    frequency, voiced = yin(samples, rate, 200)
    found = frequency[voiced]
    fifth = len(found) // 5
    return float(12 * np.log2(np.median(found[-fifth:]) / np.median(found[fifth : 2 * fifth])))


def test_the_shipped_voice_says_the_tones(shipped) -> None:
    """A first tone is level, a second rises, a fourth falls: on syllables with voiced initials."""
    level, rising, falling = (
        np.median([change_of_pitch(shipped, word) for word in words])
        for words in ("妈拉猫", "麻来毛", "骂辣帽")
    )
    assert abs(level) < 1.2 and rising > 3 and falling < -1.5


def test_the_shipped_voice_is_small_and_has_a_card(shipped) -> None:
    folder = find_model("mandarin_voice")
    assert sum(path.stat().st_size for path in folder.iterdir()) < 8e6
    card = model_card("mandarin_voice")
    for needed in (
        "CC BY-SA",
        "Yue Tan",
        "held out",
        "python -m sampan.models.speech_synthesis",
        "What it cannot do",
    ):
        assert needed in card
    samples, rate = shipped.speak("你好，世界")
    assert rate == 16000 and 1.0 < len(samples) / rate < 3.5
    assert 0.02 < np.sqrt((samples[: rate // 2] ** 2).mean()) < 0.3
