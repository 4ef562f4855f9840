"""Formats numbers for people and small HTML figures: no assets, readable by a screen reader, in the page's theme.

Every text that comes from outside goes through `escape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from studio.i18n import t


def percent(value: float) -> str:
    """0.9731 -> "97.3 %". Values that would only round to 0.0 or 100.0 are shown as "< 0.1 %", "> 99.9 %"."""
    if value in (0, 1):
        return f"{100 * value:.0f} %"
    if value < 0.0005:
        return "< 0.1 %"
    if value >= 0.9995:
        return "> 99.9 %"
    return f"{100 * value:.1f} %"


def duration(seconds: float, lang: str) -> str:
    """Seconds for people: 0.4 s, 8 s, 2 min 05 s, 1 h 03 min."""
    if seconds < 9.95:
        return t("train.seconds", lang, s=f"{seconds:.1f}")
    whole = round(seconds)
    if whole < 60:
        return t("train.seconds", lang, s=whole)
    if whole < 3600:
        return t("train.minutes", lang, m=whole // 60, s=f"{whole % 60:02d}")
    return t("train.hours", lang, h=whole // 3600, m=f"{whole % 3600 // 60:02d}")


def duration_short(seconds: float) -> str:
    """The time of one call: 3.2 µs, 0.45 ms, 1.20 s."""
    if seconds < 1e-4:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def size(memory: float) -> str:
    """Bytes: 812 B, 14.2 kB, 3.4 MB, 17 GB, by powers of 1024."""
    for unit in ("B", "kB", "MB", "GB"):
        if memory < 1000 or unit == "GB":
            break
        memory /= 1024
    return f"{memory:.0f} {unit}" if unit == "B" or memory >= 99.5 else f"{memory:.3g} {unit}"


def origin(card: Any, facts: str, about: str, lang: str) -> str:
    """Whether data are real, how much there is, what they are, from where and under which licence. card: a `Card`."""
    good = " is-good" if card.origin == "real" else ""
    address = card.source.split("://")[-1].split("/")[0]
    link = f'<a href="{escape(card.source, quote=True)}" target="_blank" rel="noopener">{escape(address)}</a>'
    licence = (lang == "zh" and card.licence_zh) or card.licence
    return (
        f'<p><span class="sp-tag{good}">{escape(t(f"train.origin.{card.origin}", lang))}</span> {escape(facts)}</p>'
        f"<p>{escape(about)}</p>"
        f"<p>{escape(t('train.dataset_source', lang))}: {link} · "
        f"{escape(t('train.dataset_licence', lang))}: {escape(licence.split(' (')[0])}</p>"
    )


def bar(
    state: str,
    sentence: str,
    fraction: float | None,
    label: str,
    figures: Sequence[tuple[str, str, str]] = (),
) -> str:
    """A progress display: a sentence, its bar (None: unknown), and figures (key, name, value) under it."""
    value = "" if fraction is None else f' value="{fraction:.4f}"'
    stats = "".join(
        f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(name)}</span>'
        f'<span class="sp-value">{escape(text)}</span></div>'
        for key, name, text in figures
    )
    stats = f'<div class="sp-stats">{stats}</div>' if stats else ""
    return (
        f'<div class="sx-status" data-state="{state}"><p>{escape(sentence)}</p>'
        f'<progress class="sp-track" max="1"{value} aria-label="{escape(label, quote=True)}"></progress>{stats}</div>'
    )


def notice(text: str, bad: bool = False, more: str = "", detail: str = "", lang: str = "en") -> str:
    """A message on the page; a screen reader reads a bad one at once. `detail` is the library's message, in
    English: on a page in another language it is folded up below the page's own sentence."""
    kind, role = ("sp-notice is-bad", "alert") if bad else ("sp-notice", "status")
    body = f"<p>{escape(text)}</p>"
    if more:
        body += f"<p>{escape(more)}</p>"
    if detail:
        words = f"<p><code>{escape(detail)}</code></p>"
        original = f"<details><summary>{escape(t('error.original', lang))}</summary>{words}</details>"
        body += words if lang == "en" else original
    return f'<div class="{kind}" role="{role}">{body}</div>'
