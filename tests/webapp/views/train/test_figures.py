"""What the Train page shows: results, figures, the form's words. No browser, no training."""

from __future__ import annotations

import base64
import re
import struct
import zlib

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

from studio import i18n
from studio.paths import PACKAGE
from studio.views.train import figures
from studio.views.train.form import LINK_WORDS
from studio.views.train.insight import View
from studio.views.train.page import COLUMNS, WORDS, smaller_rate
from studio.views.train.results import Result
from studio.views.train.runs import Progress
from studio.views.train.settings import DATASETS, MODELS, OPTIMIZERS, SettingError, Settings
from tests.webapp.views.tags import Tags


@pytest.fixture
def result() -> Result:
    random = np.random.default_rng(3)
    labels = random.integers(0, 10, 500)
    logits = random.normal(size=(500, 10)) + 2 * np.eye(10)[labels]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    pictures = random.random((500, 8, 8)).astype(np.float32)
    return Result(pictures, labels.astype(np.int64), probabilities.astype(np.float32))


def test_result_against_scikit_learn(result: Result) -> None:
    assert np.array_equal(result.confusion(), confusion_matrix(result.labels, result.predictions))
    assert result.accuracy == pytest.approx(accuracy_score(result.labels, result.predictions))
    assert result.loss == pytest.approx(log_loss(result.labels, result.probabilities), rel=1e-5)


def test_worst_mistakes_are_wrong_and_the_surest_come_first(result: Result) -> None:
    worst = result.worst(12)
    assert len(worst) == 12
    assert all(m.true != m.predicted and m.true == result.labels[m.index] for m in worst)
    sure = [m.probability for m in worst]
    assert sure == sorted(sure, reverse=True)
    wrong = result.predictions != result.labels
    assert sure[0] == pytest.approx(result.probabilities[wrong].max())
    assert np.array_equal(worst[0].picture, result.pictures[worst[0].index])


def test_result_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one, got 0, 0 and 0"):
        Result(np.zeros((0, 8, 8), np.float32), np.zeros(0, np.int64), np.zeros((0, 10), np.float32))


GOOD = {
    "dataset": "digits",
    "model": "mlp",
    "optimizer": "Adam",
    "learning_rate": " 0.01 ",
    "batch_size": "32",
    "epochs": "3",
    "device": "cpu",
}


def test_settings_from_text() -> None:
    assert Settings.from_text(GOOD) == Settings("digits", "mlp", "Adam", 0.01, 32, 3, "cpu")
    assert Settings.from_text({**GOOD, "learning_rate": "1e-3"}).learning_rate == 0.001
    assert Settings.from_text({**GOOD, "learning_rate": "0,5"}).learning_rate == 0.5


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("learning_rate", "fast"),
        ("learning_rate", ""),
        ("learning_rate", "0"),
        ("learning_rate", "-1"),
        ("learning_rate", "nan"),
        ("learning_rate", "inf"),
        ("batch_size", "0"),
        ("batch_size", "2.5"),
        ("batch_size", "5000"),
        ("epochs", "none"),
        ("epochs", "501"),
        ("dataset", "letters"),
        ("model", "gpt"),
        ("optimizer", "Magic"),
        ("device", "tpu"),
    ],
)
def test_a_wrong_field_is_named_with_what_came_and_what_was_expected(
    field: str, text: str, lang: str
) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_text({**GOOD, field: text})
    assert caught.value.field == field
    sentence = i18n.t(caught.value.key, lang, **caught.value.values)
    assert text.strip("0") in sentence
    assert "{" not in sentence


def test_png_holds_the_picture() -> None:
    picture = np.random.default_rng(0).random((5, 7)).astype(np.float32)
    data = base64.b64decode(figures.png(picture).removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (7, 5)
    start = data.index(b"IDAT")
    length = struct.unpack(">I", data[start - 4 : start])[0]
    assert struct.unpack(">I", data[start + 4 + length : start + 8 + length])[0] == zlib.crc32(
        data[start : start + 4 + length]
    )
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), np.uint8).reshape(5, 8)
    assert not rows[:, 0].any()
    assert np.abs((255 - rows[:, 1:]) / 255 - picture).max() < 0.5 / 255 + 1e-6


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_figures_are_drawn_in_both_languages(result: Result, lang: str) -> None:
    matrix = Tags(figures.confusion(result.confusion(), lang)).tags
    cells = [attributes for tag, attributes in matrix if tag == "td" and "title" in attributes]
    assert len(cells) == 100
    assert sum(1 for tag, attributes in matrix if tag == "th" and attributes.get("scope") == "row") == 10
    worst = result.worst(12)
    mistakes = Tags(figures.mistakes(worst, 99, 500, lang)).tags
    images = [attributes for tag, attributes in mistakes if tag == "img"]
    assert len(images) == 12 and all(str(worst[i].true) in (a["alt"] or "") for i, a in enumerate(images))
    assert "500" in figures.mistakes([], 0, 500, lang)
    seen = View(np.zeros((1, 8, 8), np.float32), 1, result.probabilities[0])
    bars = Tags(figures.prediction(seen, result.pictures[0], lang, true=3)).tags
    assert sum(tag == "li" for tag, _ in bars) == 10
    for state in ("loading", "running", "done", "cancelled", "failed"):
        progress = Progress(state, 2, 5, 10, 20, 0.3, 70.0, 125.0, 0.5, 0.9, None, None)
        html = figures.status(progress, "<b>", lang)
        assert "<b>" not in html and f'data-state="{state}"' in html
        assert (i18n.t("train.minutes", lang, m=2, s="05") in html) == (state == "running")


def test_what_a_picture_is_called_is_escaped() -> None:
    assert Tags(figures.image(np.zeros((2, 2), np.float32), '"><script>')).tags[0][1]["alt"] == '"><script>'


@pytest.mark.parametrize(("rate", "advice"), [(1e6, 0.01), (1.0, 0.01), (0.05, 0.005), (0.001, 0.0001)])
def test_the_advised_rate_is_smaller_and_usable(rate: float, advice: float) -> None:
    assert float(smaller_rate(rate)) == pytest.approx(advice)


def test_every_sentence_of_the_page_exists_and_is_used() -> None:
    """Keys that are built from a name are listed here; all others are literals in the source."""
    source = "".join(path.read_text("utf-8") for path in (PACKAGE / "views").rglob("*.py"))
    composed = {f"column.{name}" for name, _ in COLUMNS} | {f"table.{word}" for word in WORDS}
    composed |= {f"model.{name}" for name in MODELS}
    composed |= {
        f"{kind}.{name}" for name in DATASETS for kind in ("dataset", "dataset_short", "dataset_about")
    }
    composed |= {f"field.{name}" for name in GOOD}
    composed |= {f"error.{name}" for name in ("batch_size", "epochs")}
    composed |= {f"figure.{name}" for name in ("loss", "accuracy", "test_loss", "test_accuracy")}
    composed |= {f"state.{s}" for s in ("loading", "begun", "running", "done", "cancelled", "failed")}
    composed |= {f"row.{s}" for s in ("running", "done", "cancelled", "failed", "error")}
    composed |= {f"announce.{s}" for s in ("done", "cancelled", "failed")}
    composed |= {f"heading.{s}" for s in ("live", "units", "compare", "confusion", "mistakes")}
    composed |= {f"link.{word}" for word in LINK_WORDS}
    composed |= {f"chart.{s}" for s in ("loss", "accuracy")} | {"origin.real", "origin.made"}
    composed |= {
        f"draw.{s}"
        for s in re.findall(
            r"""self\._(?:t|say)\(["'](\w+)["']\)""", (PACKAGE / "views/train/sketch.py").read_text()
        )
    }
    written = {key[6:] for key in i18n.catalog("en") if key.startswith("train.")}
    assert composed <= written
    plain = {key for key in written if re.search(rf"""["'](?:train\.)?{re.escape(key)}["']""", source)}
    assert written - composed - plain == set()
    assert set(OPTIMIZERS) == {"SGD", "Momentum", "Adam", "AdamW"}
