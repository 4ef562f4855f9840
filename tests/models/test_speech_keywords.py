"""The recipe of keywords on tones: versions of features, learning, the model folder, the command line."""

import numpy as np
import pytest

from sampan.models.speech_keywords import (
    KeywordAugment,
    accuracy,
    keyword_processor,
    main,
    noise_features,
    raw_features,
    train_keywords,
)
from sampan.speech import AudioClassifier, Wav2Vec2Processor


def tones(pitches: list[float], count: int, seed: int) -> tuple[list[np.ndarray], list[int]]:
    """`count` tones of 0.3 s near each pitch, with its place as their label."""
    rng, time = np.random.default_rng(seed), np.arange(2400) / 8000
    made = [
        (0.3 * np.sin(2 * np.pi * p * rng.uniform(0.97, 1.03) * time) * np.hanning(2400), label)
        for label, p in enumerate(pitches)
        for _ in range(count)
    ]
    sounds = [(x + rng.standard_normal(2400) * 1e-3).astype(np.float32) for x, _ in made]
    return sounds, [label for _, label in made]


def test_powers_add_up_in_noise() -> None:
    (sound, *_), _ = tones([700], 1, 0)
    (raw,) = raw_features([sound])
    augment = KeywordAugment(keyword_processor([raw], ["a"]).inputs, noise_features([sound])[:1])
    rng = np.random.default_rng(0)
    same = augment.in_noise(raw, rng, 40, 0)
    loud = slice(6, 22)
    np.testing.assert_allclose(same[loud, 10], raw[loud, 10], atol=0.05)  # 40 dB: the tone is as it was
    noisy = augment.in_noise(raw, rng, 0, 30)
    assert len(raw) <= len(noisy) <= len(raw) + 60 and (noisy > -5).all()
    assert augment(raw, rng).shape[1] == 40 and augment(raw, rng).dtype == np.float32


def test_tones_are_learned_and_kept(tmp_path, one_thread) -> None:
    sounds, labels = tones([400, 1500], 24, 0)
    others, _ = tones([3000], 8, 1)
    noises = noise_features(others)
    model, processor = train_keywords(
        raw_features(sounds), labels, raw_features(others), noises, ["low", "high"], 20, 16
    )
    tested, truth = tones([400, 1500], 6, 2)
    assert accuracy(model, processor, raw_features(tested), truth) >= 0.9
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    again = AudioClassifier.from_pretrained(tmp_path)
    heard = Wav2Vec2Processor.from_pretrained(tmp_path)
    logits = again(**heard(tested, return_tensors="pd")).logits
    assert heard.batch_decode(logits)[0] in ("low", "high", "")
    expected = model(**processor(tested, return_tensors="pd")).logits
    np.testing.assert_allclose(logits.numpy(), expected.numpy(), atol=1e-5)


def test_the_command_names_its_options(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--held-out" in capsys.readouterr().out
