"""The page "Try it" without a browser: sounds, drawings and words. Oracle: the library called by itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import sampan
from sampan import speech
from studio import i18n
from studio.models import all_models
from studio.views.speech.sounds import vowels
from studio.views.train import drawing
from studio.views.trying import answers
from studio.views.trying.page import TryPage
from studio.views.trying.part import DigitPart, SoundPart, WordPart


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    return tmp_path


def save_digits(home: Path, hidden: int = 5, stated: int = 5) -> sampan.nn.Layer:
    folder = home / "models" / "digits"
    folder.mkdir(parents=True)
    sampan.seed(3)
    network = sampan.models.MLP(64, hidden=(hidden,), num_classes=10)
    sampan.save(network.state_dict(), str(folder / "model.pdparams"))
    (folder / "config.json").write_text(
        json.dumps({"model_type": "mlp", "image_size": 8, "hidden": [stated]})
    )
    return network


def labels(html: str) -> list[str]:
    return re.findall(r'data-label="([^"]+)"', html)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_sounds_are_answered_by_each_kind(lang: str) -> None:
    part = SoundPart(lang)
    part.begin()
    assert part.sound.value == "made/vowels" and not part.ask.disabled
    part.model.value = "shipped/activity_small"
    part.asked()
    assert part.status.value == "" and "role=" in part.answer.value
    found = speech.detect_speech(vowels(), 16_000, "activity_small")
    said = "; ".join(f"{one.start:.2f}–{one.end:.2f} s" for one in found)
    assert (said or i18n.t("try.no_speech", lang)) in part.answer.value
    part.model.value = "shipped/fsdd_digits"
    part.asked()
    assert len(labels(part.answer.value)) == answers.MOST and part.other.layout.display == "none"
    part.model.value = "shipped/speakers_small"
    part.asked()
    _, cosine = speech.SpeakerModel("speakers_small").same(vowels(), part.sounds["made/sweep"].load(), 16_000)
    assert f"{cosine:.2f}" in part.answer.value and part.other.layout.display == ""
    part.file.name, part.file.content = "x.wav", b"no sound"
    part._use_file()
    assert i18n.t("speech.upload.format", lang, name="x.wav") in part.status.value


def test_a_drawing_is_read_by_a_saved_network(home: Path) -> None:
    network = save_digits(home)
    part = DigitPart("en")
    part.begin()
    part.asked()
    assert i18n.t("try.pad.hint", "en") in part.answer.value
    ink = np.zeros((140, 140), np.uint8)
    ink[30:110, 60:80] = 255
    part.pad.pixels = ink.tobytes()
    given = drawing.as_input(drawing.from_bytes(ink.tobytes(), 140), 8)
    odds = sampan.nn.functional.softmax(network(sampan.to_tensor(given[None, None])))[0].numpy()
    assert labels(part.answer.value) == [str(i) for i in np.argsort(-odds, kind="stable")[: answers.MOST]]


def test_weights_that_do_not_fit_are_named(home: Path) -> None:
    save_digits(home, hidden=5, stated=6)
    (model,) = (model for model in all_models(home) if model.origin == "saved")
    with pytest.warns(UserWarning), pytest.raises(answers.NoModel, match=r"model\.pdparams: missing"):
        answers.digit_reader(model)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_kind_without_a_model_says_so(lang: str) -> None:
    page = TryPage(lang)
    for part in page.parts[1:]:
        part.begin()
        assert i18n.t(f"try.none.{part.kind}", lang) in part.status.value and part.ask.disabled
        part.asked()


def test_a_word_has_neighbours(home: Path) -> None:
    folder = home / "models" / "rows"
    folder.mkdir(parents=True)
    model = sampan.text.WordVectors(dim=8, least=1, epochs=2, threads=1)
    model.fit([["red", "green", "blue"], ["one", "two", "three"]] * 20)
    model.save(folder / "rows.safetensors")
    (folder / "config.json").write_text('{"model_type": "word_vectors"}')
    part = WordPart("en")
    part.begin()
    part.word.value = "red"
    assert labels(part.answer.value) == [near for near, _ in model.similar("red", most=2 * answers.MOST)]
    part.word.value = "nothing"
    assert i18n.t("try.unknown_word", "en", word="nothing") in part.answer.value
