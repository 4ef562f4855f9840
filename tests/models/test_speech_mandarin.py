"""The recipe of the Mandarin recogniser: batches and labels, training that is resumed, the model that it ships."""

import dataclasses
import json

import numpy as np
import pytest

from sampan.engine.errors import InvalidArgument
from sampan.models import speech_mandarin
from sampan.models.speech_mandarin import Batches, MandarinRecipe, main, pinyin_tokens, train
from sampan.models.speech_mandarin_data import BINS
from sampan.speech import AudioClassifier, Wav2Vec2Processor
from sampan.speech.nn import Subsampling4
from tests.models.made_mandarin import made_features

SMALL = MandarinRecipe(
    encoder={"width": 16, "num_layers": 1, "num_heads": 2, "kernel_size": 5, "causal": True, "norm": "layer",
             "dropout": 0.0, "dynamic_chunk": True, "subsampling_channels": 4},
    frames=400,
    aligned=3,
    second_speaker=5,
    warmup=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return made_features(tmp_path_factory.mktemp("features"))


def test_a_batch_is_the_same_each_time_and_fits_its_labels(file):
    tokens = pinyin_tokens()
    batches = Batches(file, speech_mandarin._inputs(file), tokens, SMALL)
    for step in (1, 2, 9):
        np.random.seed(step)  # the batch draws from its own generator alone
        features, lengths, labels, counts, even = batches(step)
        again = batches(step)
        assert np.array_equal(lengths, again[1])
        assert np.array_equal(labels, again[2])
        assert features.shape == [len(lengths), lengths.max(), BINS]
        assert even.shape == (len(lengths), Subsampling4.frames(lengths.max()))
        for n, count in enumerate(counts):
            assert 2 * count <= Subsampling4.frames(lengths[n])
            frames = even[n][even[n] >= 0]
            assert len(frames) == Subsampling4.frames(lengths[n])
            assert set(frames.tolist()) - {0} <= set(labels[n, :count].tolist())
            assert (frames > 0).any()


def test_the_second_speaker_comes_late(file):
    batches = Batches(file, speech_mandarin._inputs(file), pinyin_tokens(), SMALL)
    drawn = []
    batches._recording = lambda row, rng: (
        drawn.append(file.items[row].kind) or np.zeros((len(file[row]), BINS))
    )
    for step in range(1, SMALL.second_speaker):
        batches(step)
    assert "syllables" not in drawn
    for step in range(SMALL.second_speaker, 40):
        batches(step)
    assert {"words", "syllables", "synthetic"} == set(drawn)


def test_even_labels_follow_the_order_of_the_units(file):
    tokens = pinyin_tokens()
    batches = Batches(file, speech_mandarin._inputs(file), tokens, SMALL)
    row = next(n for n, item in enumerate(file.items) if len(set(item.units)) == 4)
    even = batches._even(row)
    changes = even[np.append(True, even[1:] != even[:-1])]
    assert [n for n in changes if n] == tokens.encode(" ".join(file.items[row].units))
    assert (even == tokens.encode(file.items[row].units[1])[0]).sum() > (
        even == tokens.encode(file.items[row].units[0])[0]
    ).sum()


def test_a_run_that_was_interrupted_gives_the_same_numbers(file, tmp_path):
    whole = list(train(file, tmp_path / "whole", 8, SMALL, every=2))
    first = list(train(file, tmp_path / "parts", 4, SMALL, every=2))
    rest = list(train(file, tmp_path / "parts", 8, SMALL, every=2))
    assert [p.loss for p in first + rest] == [p.loss for p in whole]
    assert [p.step for p in first + rest] == [2, 4, 6, 8]
    one, other = (AudioClassifier.from_pretrained(tmp_path / name) for name in ("whole", "parts"))
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert np.array_equal(a.numpy(), b.numpy())
    log = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert log["steps"] == 8
    assert log["unseen_step"] == 4
    assert log["unseen"][0] == sum(item.kind == "syllables" for item in file.items)
    with pytest.raises(InvalidArgument, match="is of another recipe"):
        next(train(file, tmp_path / "parts", 10, dataclasses.replace(SMALL, warmup=5)))


def test_the_written_model_has_the_mean_of_the_parameters(file, tmp_path):
    """With weight 0 the mean is the last value, with the usual weight it lags behind."""
    folders = {}
    for mean in (0.0, 0.997):
        folders[mean] = tmp_path / str(mean)
        list(train(file, folders[mean], 4, dataclasses.replace(SMALL, mean=mean), every=4))
    last, lagging = (
        next(iter(AudioClassifier.from_pretrained(f).parameters())).numpy() for f in folders.values()
    )
    assert not np.allclose(last, lagging)
    assert np.allclose(last, lagging, atol=0.02)


def test_the_command_line_ships_a_model_with_its_card(file, tmp_path, monkeypatch, capsys):
    words = [("学习", ("xue2", "xi2"), 5), ("不可思议地", ("bu4", "ke3", "si1", "yi4", "di4"), 2)]
    monkeypatch.setattr(speech_mandarin, "dictionary", lambda: words)
    monkeypatch.setattr(speech_mandarin, "MandarinRecipe", lambda: SMALL)
    folder = str(file.folder)
    main(["train", folder, "--out", str(tmp_path / "run"), "--steps", "6"])
    assert "step 6: loss" in capsys.readouterr().out
    main(["ship", folder, "--out", str(tmp_path / "run"), "--to", str(tmp_path / "model")])
    card = capsys.readouterr().out
    assert "does not\nrecognise free speech" in card
    assert "| held-out words, first speaker | as a whole | 4 |" in card
    processor = Wav2Vec2Processor.from_pretrained(tmp_path / "model")
    assert [word for word, *_ in processor.tokens.lexicon.words] == ["学习"]  # words of up to four syllables
    assert (tmp_path / "model" / "README.md").read_text(encoding="utf-8") == card.rstrip("\n") + "\n"
    with pytest.raises(SystemExit):
        main(["ship", folder, "--out", str(tmp_path / "run")])
