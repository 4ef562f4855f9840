"""The acoustic model: its numbering of words, its repetition of vectors, padding, and that it learns a
word."""

import numpy as np
import pytest

from sampan import optimizer, seed
from sampan.engine.errors import InvalidArgument
from sampan.speech.synthesis.acoustic import AcousticModel, Sequences, word_units
from sampan.speech.synthesis.units import UNITS

SMALL = {"n_mels": 12, "width": 16, "hidden": 24, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}


def test_a_word_is_numbered_between_silences() -> None:
    word = word_units(["ni2", "hao3", "er2r"])
    assert [UNITS[u] for u in word.units] == ["<sil>", "n", "=i", "h", "=ao", "=er", "<r>", "<sil>"]
    assert word.tones.tolist() == [0, 2, 2, 3, 3, 2, 2, 0]
    assert word.before.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert word.after.tolist() == [2, 2, 2, 1, 1, 0, 0, 0]
    with pytest.raises(InvalidArgument, match="syllables: expected at least one, got none"):
        word_units([])


def test_vectors_are_repeated_as_often_as_the_unit_lasts() -> None:
    seed(0)
    model = AcousticModel(**SMALL)
    model.eval()
    batch = Sequences.of([word_units(["ba1"]), word_units(["a1"])])
    durations = np.array([[2, 1, 3, 0], [1, 2, 1, 0]])
    x, _ = model.encode(batch)
    spread, valid = model.spread(x, durations)
    assert spread.shape == [2, 6, 16] and valid.numpy()[..., 0].sum(1).tolist() == [6, 4]
    other, _ = model.spread(x * 0.0, durations)  # what the place within a unit adds
    wanted = np.repeat(x.numpy()[0], durations[0], 0)
    assert np.abs(spread.numpy()[0] - other.numpy()[0] - wanted).max() < 1e-5


def test_padding_changes_nothing() -> None:
    seed(1)
    model = AcousticModel(**SMALL)
    model.eval()
    words = [word_units(["ba1"]), word_units(["zhuang4", "nv3", "hua1r"])]
    alone, together = model([words[0]])[0].frames.numpy(), model(words)[0].frames.numpy()
    assert alone.shape == together.shape and np.abs(alone - together).max() < 1e-4


def test_it_learns_frames_durations_and_contour_of_a_word() -> None:
    seed(2)
    rng = np.random.default_rng(0)
    model = AcousticModel(**SMALL)
    batch, durations = Sequences.of([word_units(["ni3"])]), np.array([[2, 4, 7, 2]])
    mel = rng.standard_normal((1, 15, 12)).astype(np.float32) - 5
    contour = rng.standard_normal((1, 15, 2)).astype(np.float32)
    voiced = np.ones((1, 15, 1), np.float32)
    adam = optimizer.AdamW(1e-2, parameters=model.parameters())
    history = []
    model.eval()  # without dropout
    for _ in range(40):
        losses = model.loss(batch, durations, mel, contour, voiced)
        sum(losses[1:], losses[0]).backward()
        adam.step()
        adam.clear_grad()
        history.append([float(part) for part in losses])
    assert all(last < 0.9 * first for first, last in zip(history[0], history[-1], strict=True))
    said = model([word_units(["ni3"])])[0]
    assert len(said.frames) == said.durations.sum()
    assert model([word_units(["ni3"])], pace=4.0)[0].durations.sum() < said.durations.sum()


def test_the_pitch_of_unvoiced_frames_does_not_count() -> None:
    seed(3)
    model = AcousticModel(**SMALL)
    model.eval()
    batch, durations = Sequences.of([word_units(["ni3"])]), np.array([[2, 4, 7, 2]])
    mel, contour = np.zeros((1, 15, 12), np.float32), np.zeros((1, 15, 2), np.float32)
    voiced = np.zeros((1, 15, 1), np.float32)
    assert float(model.loss(batch, durations, mel, contour, voiced)[2]) == 0
    assert float(model.loss(batch, durations, mel, contour, voiced + 1)[2]) > 0
