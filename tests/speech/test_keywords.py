"""Spotting in a stream: the shipped model on real digits among pauses, pieces, errors."""

import numpy as np
import pytest

from sampan import speech
from sampan.speech import AudioClassifier, KeywordSpotter, Wav2Vec2Processor

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def stream_of(contents: list[bytes]) -> tuple[np.ndarray, list[float]]:
    """Digits 0.8 s apart in weak noise, and the time at which each one ends."""
    rng = np.random.default_rng(0)
    parts, ends, size = [np.zeros(6400, np.float32)], [], 6400
    for content in contents:
        digit = np.frombuffer(content[44:], "<i2").astype(np.float32) / 32768
        parts += [digit, np.zeros(6400, np.float32)]
        ends.append((size + len(digit)) / 8000)
        size += len(digit) + 6400
    sound = np.concatenate(parts)
    return (sound + rng.standard_normal(len(sound)) * 3e-4).astype(np.float32), ends


def test_real_digits_in_a_stream(real_sounds) -> None:
    contents = real_sounds("fsdd", 10)  # sorted by name: one of each digit
    sound, ends = stream_of(contents)
    found = KeywordSpotter().feed(sound)
    right = [
        any(k.word == word and -0.4 < k.time - end < 0.7 for k in found)
        for word, end in zip(WORDS, ends, strict=True)
    ]
    assert sum(right) >= 7, found
    assert len(found) <= 13


def test_reports_do_not_depend_on_the_pieces(real_sounds) -> None:
    sound, _ = stream_of(real_sounds("fsdd", 10)[:4])
    rng, stream = np.random.default_rng(1), KeywordSpotter(threshold=0.5)
    whole = stream.feed(sound)
    stream.reset()
    made = [
        k for piece in np.split(sound, sorted(rng.integers(0, len(sound), 15))) for k in stream.feed(piece)
    ]
    assert [k[:2] for k in made] == [k[:2] for k in whole] and whole
    np.testing.assert_allclose([k.score for k in made], [k.score for k in whole], atol=1e-5)


def test_noise_alone_is_no_keyword() -> None:
    for kind in ("white", "pink", "hum"):
        noise = speech.make_noise(kind, 5 * 8000, 8000) * np.float32(0.05)
        assert KeywordSpotter().feed(noise) == []


def test_the_shipped_model_names_whole_recordings(real_sounds) -> None:
    processor, model = (kind.from_pretrained("fsdd_digits") for kind in (Wav2Vec2Processor, AudioClassifier))
    sounds = [np.frombuffer(c[44:], "<i2").astype(np.float32) / 32768 for c in real_sounds("fsdd", 10)]
    inputs = processor(sounds, return_tensors="pd", sampling_rate=8000)
    output = model(**inputs)
    assert output.logits.shape == [10, 1, 11] and output.lengths.tolist() == [1] * 10
    texts = processor.batch_decode(output.logits)
    assert sum(text == word for text, word in zip(texts, WORDS, strict=True)) >= 8, texts


def test_errors(tmp_path) -> None:
    for settings, message in [
        ({"window": 0}, "window: expected 0.01 to 10 seconds, got 0"),
        ({"hop": 0.8}, "hop: expected at most the window, 0.7, got 0.8"),
        ({"threshold": 1.5}, "threshold: expected between 0 and 1, got 1.5"),
        ({"smooth": 0}, "smooth: expected an integer of at least 1, got 0"),
        ({"model": "none"}, "expected a folder or the name of a model, got 'none'"),
    ]:
        with pytest.raises(ValueError, match=message):
            KeywordSpotter(**settings)
    with pytest.raises(ValueError, match="samples: expected finite samples"):
        KeywordSpotter().feed(np.array([np.inf], np.float32))
