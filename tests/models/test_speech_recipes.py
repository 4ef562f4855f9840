"""The recipe end to end on a small corpus in AISHELL-1's layout: spoken by espeak-ng, or made of tones."""

import itertools
import json
import shutil
import subprocess
import wave

import numpy as np
import pytest

from sampan.datasets.speech_layouts import Utterance, aishell, wenetspeech
from sampan.engine.errors import InvalidArgument
from sampan.models.speech_recipes import (
    SpeechRecipe,
    error_rates,
    main,
    make_vocabulary,
    train,
)
from sampan.speech import AudioClassifier, Wav2Vec2Processor

TONES = {"a": 400, "b": 900, "c": 1700}
SMALL = SpeechRecipe(
    encoder={"width": 16, "num_layers": 1, "num_heads": 2, "kernel_size": 5, "causal": True, "norm": "layer", "dropout": 0.0},
    num_mel_bins=20,
    epochs=3,
    batch_size=8,
    warmup=20,
)  # fmt: skip


def write_wav(path, samples, rate=16000):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 20000).astype("<i2").tobytes())


def tones(rng, text):
    """Each letter is a tone of 0.15 s after a pause of 0.05 s."""
    time = np.arange(2400) / 16000
    parts = [np.zeros(1600)]
    for letter in text:
        parts += [np.zeros(800), 0.3 * np.sin(2 * np.pi * TONES[letter] * rng.uniform(0.97, 1.03) * time)]
    sound = np.concatenate([*parts, np.zeros(1600)])
    return (sound + rng.normal(0, 0.01, len(sound))).astype("float32")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Sixty texts of tones by two "speakers", and twelve by a third and a fourth for dev and test."""
    folder, rng, lines = tmp_path_factory.mktemp("tones"), np.random.default_rng(0), []
    for part, speaker, count in (
        ("train", "S1", 30),
        ("train", "S2", 30),
        ("dev", "S3", 12),
        ("test", "S4", 12),
    ):
        for n in range(count):
            name = f"{speaker}W{n:04}"
            text = "".join(rng.choice(list("abc"), rng.integers(2, 5)))
            write_wav(folder / "wav" / part / speaker / f"{name}.wav", tones(rng, text))
            lines.append(f"{name} {' '.join(text)}")
    (folder / "transcript").mkdir()
    (folder / "transcript" / "aishell_transcript_v0.8.txt").write_text("\n".join(lines))
    return folder


def test_it_learns_and_the_folder_is_a_model(corpus, tmp_path, one_thread):
    recipe = SpeechRecipe(
        **vars(SMALL) | {"epochs": 20, "learning_rate": 5e-3, "encoder": SMALL.encoder | {"width": 32}}
    )
    epochs = list(train(aishell(corpus), aishell(corpus, "dev"), tmp_path, recipe, "# Card"))
    assert [e.number for e in epochs] == list(range(1, 21))
    assert epochs[-1].loss < epochs[0].loss / 4
    assert epochs[-1].error_rate < 0.15
    model, processor = AudioClassifier.from_pretrained(tmp_path), Wav2Vec2Processor.from_pretrained(tmp_path)
    found = error_rates(model, processor, aishell(corpus, "test"))
    assert list(found) == ["S4"]
    wrong, length = found["S4"]
    assert length == sum(len(u.text) for u in aishell(corpus, "test"))
    assert wrong / length < 0.2
    assert (tmp_path / "README.md").read_text() == "# Card"


def test_an_interrupted_run_goes_on_with_the_same_numbers(corpus, tmp_path, one_thread):
    data = aishell(corpus)[:16], aishell(corpus, "dev")[:2]
    whole = list(train(*data, tmp_path / "whole", SMALL))
    first = list(itertools.islice(train(*data, tmp_path / "broken", SMALL), 2))
    rest = list(train(*data, tmp_path / "broken", SMALL))
    assert first + rest == whole
    assert list(train(*data, tmp_path / "broken", SMALL)) == []
    assert (tmp_path / "broken" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()
    other = SpeechRecipe(**vars(SMALL) | {"seed": 9})
    with pytest.raises(InvalidArgument, match=r"is of another recipe or vocabulary"):
        list(train(*data, tmp_path / "broken", other))


def test_the_recurrent_network_and_the_decoder(corpus, tmp_path, one_thread):
    data = aishell(corpus)[:8], aishell(corpus, "dev")[:2]
    gru = {"kind": "gru", "hidden": 8, "num_layers": 1}
    changed = {"model_type": "recurrent", "encoder": gru, "epochs": 1}
    (epoch,) = train(*data, tmp_path / "gru", SpeechRecipe(**vars(SMALL) | changed))
    assert np.isfinite(epoch.loss)
    hybrid = {"decoder": {"num_layers": 1, "num_heads": 2}, "epochs": 1}
    (epoch,) = train(*data, tmp_path / "hybrid", SpeechRecipe(**vars(SMALL) | hybrid))
    assert np.isfinite(epoch.loss)


def test_short_recordings_are_left_out(corpus, tmp_path, one_thread):
    write_wav(tmp_path / "short.wav", np.zeros(1600))
    short = Utterance("short", tmp_path / "short.wav", "abcabc", "S1")
    recipe = SpeechRecipe(**vars(SMALL) | {"epochs": 1})
    with pytest.warns(UserWarning, match=r"1 of 9 utterances are too short for their texts and left out"):
        list(train([*aishell(corpus)[:8], short], aishell(corpus, "dev")[:1], tmp_path / "out", recipe))
    with pytest.raises(InvalidArgument, match=r"utterances: expected at least one, got none"):
        list(train([], [], tmp_path / "none", SMALL))


def test_vocabularies(tmp_path):
    made = [Utterance("x", tmp_path, "ni3 hao3", "s"), Utterance("y", tmp_path, "hao3", "s")]
    assert make_vocabulary(made, " ").tokens == ["<pad>", "hao3", "ni3"]
    assert make_vocabulary(made[1:]).tokens == ["<pad>", "3", "a", "h", "o"]


def spoken(folder, text, voice, name):
    path = folder / f"{name}.wav"
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["espeak-ng", "-v", voice, "-s", "150", "-w", str(path), text], check=True)
    return path


def test_the_command_line_on_spoken_mandarin_in_both_layouts(tmp_path, capsys, one_thread):
    """A handful of words by espeak-ng's voices, two epochs: every step of the recipe runs on speech."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    words, lines, audios = ["你好", "中国", "学习"], [], []
    for part, subset, voice in (
        ("train", "S", "cmn+f3"),
        ("dev", "DEV", "cmn+m2"),
        ("test", "TEST_NET", "cmn"),
    ):
        for n, word in enumerate(words):
            name = f"{part}W{n}"
            path = spoken(tmp_path / "wav" / part / voice, word, voice, name)
            lines.append(f"{name} {word}")
            with wave.open(str(path)) as file:
                seconds = file.getnframes() / file.getframerate()
            segment = {"sid": name, "begin_time": 0.0, "end_time": seconds, "text": word, "subsets": [subset]}
            audios.append({"aid": name, "path": str(path.relative_to(tmp_path)), "segments": [segment]})
    (tmp_path / "transcript").mkdir()
    (tmp_path / "transcript" / "aishell_transcript_v0.8.txt").write_text("\n".join(lines), encoding="utf-8")
    listed = tmp_path / "WenetSpeech.json"
    listed.write_text(json.dumps({"audios": audios}), encoding="utf-8")
    assert [u.text for u in wenetspeech(listed)] == [u.text for u in aishell(tmp_path)] == words
    for layout, data in (("aishell", tmp_path), ("wenetspeech", listed)):
        out = tmp_path / layout
        main([layout, str(data), "--out", str(out), "--epochs", "2"])
        printed = capsys.readouterr().out.splitlines()
        assert printed[0].startswith("epoch 1: loss ")
        assert "dev CER" in printed[1]
        assert printed[2].startswith("test, ")
        assert AudioClassifier.from_pretrained(out).config["vocab_size"] == 7
