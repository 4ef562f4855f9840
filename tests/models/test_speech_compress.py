"""The compression of a small recogniser of made sounds, from its folder to the folder at a fraction of its
size."""

import json
from dataclasses import replace

import pytest

from sampan.engine.errors import InvalidArgument
from sampan.models import speech_compress
from sampan.models.speech_compress import Compression, main, real_time_factor, table, tune
from sampan.models.speech_mandarin import Batches, train
from sampan.speech import AudioClassifier, Wav2Vec2Processor
from tests.models.made_mandarin import made_features
from tests.models.test_speech_mandarin import SMALL

DEEP = replace(SMALL, encoder={**SMALL.encoder, "num_layers": 2})
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(features, folder of a model after a few steps)."""
    file, folder = made_features(tmp_path_factory.mktemp("features")), tmp_path_factory.mktemp("run")
    list(train(file, folder, 6, DEEP, 6))
    return file, folder


def test_tuning_makes_zeros_and_learns(run):
    file, folder = run
    model, processor = AudioClassifier.from_pretrained(folder), Wav2Vec2Processor.from_pretrained(folder)
    batches = Batches(file, processor.inputs, processor.tokens, SMALL)
    settings = Compression(zeros=0.5, steps=30, learning_rate=3e-3)
    losses = [loss for _, loss in tune(model, lambda step: batches(step)[:4], settings)]
    assert sum(losses[-5:]) < sum(losses[:5])
    assert not model.training
    matrices = [
        value.data
        for name, value in model.named_parameters()
        if value.ndim > 1 and not any(part in name for part in ("depthwise", "_bias", "conv1"))
    ]
    zeros, entries = sum(int((m == 0).sum()) for m in matrices), sum(m.numel() for m in matrices)
    assert zeros / entries == pytest.approx(0.5, abs=0.01)
    assert bool((model.model.encoder.blocks[0].convolution.depthwise.weight.data != 0).any())
    assert 0 < real_time_factor(model, 1.0, 4, 1) < 10


def test_the_command_writes_a_model_that_loads(run, tmp_path, monkeypatch, capsys):
    file, folder = run
    monkeypatch.setattr(speech_compress, "MandarinRecipe", lambda: DEEP)
    monkeypatch.setattr(speech_compress, "real_time_factor", lambda model: 0.5)
    out = tmp_path / "small"
    main(
        [
            str(folder),
            str(out),
            "--features",
            str(file.folder),
            "--steps",
            "4",
            "--most",
            "2",
            "--zeros",
            "0.6",
        ]
    )
    printed = capsys.readouterr().out
    model = AudioClassifier.from_pretrained(out)
    assert model.config["compute"] == "int8"
    assert model.config["encoder"]["num_layers"] == 1
    assert model.config["encoder"]["hidden"] == 48  # three quarters of 64
    assert json.loads((out / "config.json").read_text())["vocab_size"] == model.config["vocab_size"]
    whole = (folder / "model.safetensors").stat().st_size
    assert (out / "model.int8").stat().st_size < whole / 4
    card = (out / "README.md").read_text()
    for line in (
        "float32",
        "1 block less, not tuned",
        "fewer channels, not tuned",
        "tuned, with zeros, float32",
        "int8",
    ):
        assert f"| {line} |" in card
        assert f"| {line} |" in printed
    assert "Blocks removed: 1. 75% of the feed-forward channels stay, and 60% of the entries" in card
    with pytest.raises(InvalidArgument, match=r"name: expected a model in float32, .* is compressed"):
        main([str(out), str(tmp_path / "again"), "--features", str(file.folder)])


def test_the_table():
    steps = [
        speech_compress.Step("float32", 1000, {"words": 0.25}, 0.02),
        speech_compress.Step("int8", 100, {"words": 0.255}, 0.01),
    ]
    assert table(steps).splitlines() == [
        "| step | bytes | size | words | real-time factor |",
        "|---|---|---|---|---|",
        "| float32 | 1,000 | 1/1.0 | 25.0 % | 0.0200 |",
        "| int8 | 100 | 1/10.0 | 25.5 % | 0.0100 |",
    ]
