"""Figures of a run as plain HTML: no assets, readable by a screen reader, in the page's theme.

Every text that comes from outside goes through `escape`.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.i18n import t

from ..common.figures import duration, notice, origin, percent
from .insight import View
from .likeness import Nearest
from .results import Mistake
from .runs import Progress


def png(picture: NDArray[np.float32]) -> str:
    """A picture [height, width] of 0..1 as a data URL of a grey PNG, ink black on white paper."""
    grey = np.clip(np.rint(255 - 255 * picture), 0, 255).astype(np.uint8)
    height, width = grey.shape
    rows = np.concatenate(
        [np.zeros((height, 1), np.uint8), grey], axis=1
    ).tobytes()  # filter 0 before each row

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


def image(picture: NDArray[np.float32], alt: str) -> str:
    """The picture as an <img> with hard pixel edges."""
    return f'<img class="tr-digit" src="{png(picture)}" alt="{escape(alt, quote=True)}">'


def dataset(name: str, card: Any, counts: tuple[int, int, int], lang: str) -> str:
    """The facts about a data set: real or generated, its size (train, test, pixels), its origin."""
    train, test, size = counts
    facts = t("train.dataset_facts", lang, train=f"{train:,}", test=f"{test:,}", size=size)
    about = t(f"train.dataset_about.{name}", lang)
    return f'<div class="tr-about" data-dataset="{escape(name, quote=True)}">{origin(card, facts, about, lang)}</div>'


def status(progress: Progress, name: str, lang: str) -> str:
    """The progress bar with its sentence, and the figures under it."""
    words = {
        "epoch": progress.epoch,
        "epochs": progress.epochs,
        "time": duration(progress.seconds, lang),
        "left": "" if progress.seconds_left is None else duration(progress.seconds_left, lang),
    }
    key = progress.state
    if key == "running" and (progress.seconds_left is None or progress.seconds < 0.5):
        key = "begun"
    sentence = escape(t(f"train.state.{key}", lang, **words))
    label = escape(t("train.progress_label", lang), quote=True)
    value = "" if progress.state == "loading" else f' value="{progress.fraction:.4f}"'
    figures = [
        ("loss", _figure(progress.loss)),
        ("accuracy", _share(progress.accuracy)),
        ("test_loss", _figure(progress.test_loss)),
        ("test_accuracy", _share(progress.test_accuracy)),
    ]
    stats = "".join(
        f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(t(f"train.figure.{key}", lang))}</span>'
        f'<span class="sp-value">{escape(text)}</span></div>'
        for key, text in figures
    )
    return (
        f'<div class="tr-status" data-state="{progress.state}">'
        f'<p class="tr-state"><strong>{escape(name)}</strong> <span>{sentence}</span></p>'
        f'<progress class="sp-track" max="1"{value} aria-label="{label}"></progress>'
        f'<div class="sp-stats">{stats}</div></div>'
    )


def _figure(value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:.3f}" if value < 100 else f"{value:.3g}"


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def confusion(matrix: NDArray[np.int64], lang: str) -> str:
    """The confusion matrix as a table: rows are true digits, columns predictions, colour the share of a row."""
    classes = range(matrix.shape[0])
    totals = matrix.sum(axis=1)
    head = "".join(f'<th scope="col">{digit}</th>' for digit in classes)
    lines = []
    for true in classes:
        cells = []
        for predicted in classes:
            count = int(matrix[true, predicted])
            share = count / max(int(totals[true]), 1)
            kind = "is-right" if true == predicted else "is-wrong"
            # Mistakes are rare, so their colour scale is steeper: full at a sixth of the row.
            strength = round(100 * (share if true == predicted else min(6 * share, 1) ** 0.7))
            style = f' style="--tr-share:{strength}"' if count else ""
            title = escape(
                t("train.confusion_cell", lang, true=true, predicted=predicted, n=count), quote=True
            )
            cells.append(f'<td class="{kind}"{style} title="{title}">{count or "·"}</td>')
        lines.append(f'<tr><th scope="row">{true}</th>{"".join(cells)}</tr>')
    corner = escape(t("train.confusion_corner", lang))
    return (
        f'<div class="tr-matrix-frame"><table class="tr-matrix">'
        f"<caption>{escape(t('train.confusion_caption', lang))}</caption>"
        f'<thead><tr><td class="tr-corner"><span class="sp-hidden">{corner}</span></td>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def mistakes(worst: Sequence[Mistake], wrong: int, total: int, lang: str) -> str:
    """The worst mistakes as images, with the true digit, the prediction, and its probability."""
    if not worst:
        return f'<p class="sp-muted">{escape(t("train.mistakes_none", lang, total=total))}</p>'
    lead = escape(t("train.mistakes_lead", lang, wrong=wrong, total=total))
    figures = []
    for mistake in worst:
        words = {"true": mistake.true, "predicted": mistake.predicted, "p": percent(mistake.probability)}
        alt = t("train.mistake_alt", lang, **words)
        caption = (
            f'<span class="tr-true">{escape(t("train.mistake_true", lang, **words))}</span>'
            f'<span class="tr-predicted">{escape(t("train.mistake_predicted", lang, **words))}</span>'
            f'<span class="sp-number">{escape(str(words["p"]))}</span>'
        )
        figures.append(
            f"<li><figure>{image(mistake.picture, alt)}<figcaption>{caption}</figcaption></figure></li>"
        )
    return f'<p class="sp-muted">{lead}</p><ul class="tr-mistakes">{"".join(figures)}</ul>'


def prediction(
    view: View,
    picture: NDArray[np.float32],
    lang: str,
    true: int | None = None,
    nearest: tuple[Nearest, float] | None = None,
    moving: bool = False,
) -> str:
    """The predicted digit, a bar for each probability, the input image of the network, and the nearest training image with
    the limit of its distance. `moving`: the answer changes several times a second, which a screen reader need not hear."""
    assert view.probabilities is not None
    best = int(view.probabilities.argmax())
    highest = percent(float(view.probabilities[best]))
    verdict = escape(t("train.prediction", lang, digit=best, p=highest))
    if true is not None:
        key = "train.prediction_right" if true == best else "train.prediction_wrong"
        verdict += " " + escape(t(key, lang, true=true))
    bars = "".join(
        f'<li class="{"is-best" if digit == best else ""}" data-p="{float(p):.4f}"><span>{digit}</span>'
        f'<span class="sp-track"><span class="sp-bar" style="width:{100 * float(p):.1f}%"></span></span>'
        f'<span class="sp-number">{escape(percent(float(p)))}</span></li>'
        for digit, p in enumerate(view.probabilities)
    )
    label = escape(t("train.bars_label", lang), quote=True)
    pictures = _input(picture, "train.seen", lang)
    unlike = nearest is not None and nearest[0].unlike
    words = {"p": highest, "entropy": f"{view.entropy:.2f}"}
    facts = escape(t("train.certainty", lang, **words))
    if nearest is not None:
        found, limit = nearest
        pictures += _input(found.picture, "train.nearest", lang)
        words |= {"distance": f"{found.distance:.2f}", "limit": f"{limit:.2f}"}
        facts += " " + escape(t("train.distance", lang, **words))
    note = notice(t("train.unlike", lang, **words)) if unlike else ""
    role = "" if moving else ' role="status"'
    return (
        f'<div class="tr-prediction" data-digit="{best}" data-unlike="{str(unlike).lower()}">'
        f'<p class="tr-answer"{role}>{verdict}</p>'
        f'<ul class="tr-bars" aria-label="{label}">{bars}</ul>'
        f'{note}<div class="tr-inputs">{pictures}</div><p class="sp-muted sp-small">{facts}</p></div>'
    )


def _input(picture: NDArray[np.float32], key: str, lang: str) -> str:
    words = t(key, lang, size=picture.shape[0])
    return f"<figure>{image(picture, words)}<figcaption>{escape(words)}</figcaption></figure>"
