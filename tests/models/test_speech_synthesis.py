"""From recordings to a voice, on a miniature corpus of made sounds."""

import numpy as np
import pytest

pytest.importorskip("pypinyin")
pytest.importorskip("jieba")

from sampan.engine.errors import InvalidArgument
from sampan.models.speech_corpus import Corpus
from sampan.models.speech_synthesis import (
    AcousticRecipe,
    assemble,
    batch_of,
    examples,
    statistics,
    train_acoustic,
)
from sampan.models.speech_vocoder import VocoderRecipe, train_vocoder
from sampan.speech.synthesis import AcousticModel, Synthesizer

NETWORK = {"width": 16, "hidden": 16, "encoder_layers": 1, "decoder_layers": 1}
VOCODER = {"width": 8, "hidden": 8, "num_layers": 1}


def corpus(words: list[str], seed: int) -> Corpus:
    """Words of tones: each character has a pitch and lasts a quarter of a second."""
    rng = np.random.default_rng(seed)
    sounds = []
    for word in words:
        parts = [np.zeros(600)]
        for char in word:
            phase = np.cumsum(np.full(4000, 2 * np.pi * (120 + ord(char) % 97) / 16000))
            parts.append(sum(np.sin(k * phase) / k for k in range(1, 9)) * 0.1)
        sounds.append(
            np.concatenate([*parts, np.zeros(600)]) + 1e-3 * rng.standard_normal(1200 + 4000 * len(word))
        )
    samples = np.round(np.concatenate(sounds) * 32767).astype(np.int16)
    return Corpus(samples, np.cumsum([len(s) for s in sounds]), words, 16000)


@pytest.fixture(scope="module")
def rows():
    made, aligner = examples(corpus(["你好", "世界", "妈妈", "大米"], 0))
    return made, examples(corpus(["世界", "大米"], 1), aligner)[0]


def test_examples_have_durations_pitch_and_energy_of_every_frame(rows) -> None:
    for example in rows[0]:
        assert example.durations.sum() == len(example.mel) == len(example.log_pitch) == len(example.energy)
        assert len(example.durations) == len(example.word.units)
        assert example.voiced[5:-6].mean() > 0.8
    pitch = np.exp(rows[0][0].log_pitch[8:16]).mean()
    assert abs(pitch / (120 + ord("你") % 97) - 1) < 0.02


def test_a_batch_is_padded_and_scaled(rows) -> None:
    model = AcousticModel(**NETWORK, statistics=statistics(rows[0]))
    _, durations, mel, contour, voiced = batch_of(model, rows[0])
    assert mel.shape[:2] == contour.shape[:2] == voiced.shape[:2]
    assert (durations.sum(1) == [len(r.mel) for r in rows[0]]).all()
    inside = voiced[..., 0] > 0
    assert abs(contour[..., 0][inside].mean()) < 1e-3 and abs(contour[..., 0][inside].std() - 1) < 1e-3


def test_two_parts_of_training_and_a_voice_of_both_networks(rows, tmp_path) -> None:
    recipe = AcousticRecipe(NETWORK, epochs=2, batch_size=2, warmup=2)
    whole = list(train_acoustic(*rows, tmp_path / "whole", recipe))
    assert [epoch.number for epoch in whole] == [1, 2]
    part = train_acoustic(*rows, tmp_path / "voice", recipe)
    assert next(part) == whole[0]
    part.close()
    assert list(train_acoustic(*rows, tmp_path / "voice", recipe)) == whole[1:]
    data = corpus(["你好"], 0), corpus(["世界"], 1)
    list(train_vocoder(*data, tmp_path / "voice", VocoderRecipe(VOCODER, steps=1, batch_size=1, frames=8)))
    assemble(tmp_path / "voice", 16000, "a card")
    folder = tmp_path / "voice" / "voice"
    assert (folder / "README.md").read_text() == "a card"
    samples, rate = Synthesizer.from_pretrained(folder).speak("你好，世界")
    assert rate == 16000 and samples.dtype == np.float32 and len(samples) > 4000
    with pytest.raises(InvalidArgument, match="rows, held_out: expected at least one example each"):
        next(train_acoustic([], rows[1], tmp_path, recipe))
