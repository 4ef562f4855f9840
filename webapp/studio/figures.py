"""Formats numbers for people: durations, sizes, places in a queue."""

from __future__ import annotations

from .i18n import t


def duration(seconds: float, lang: str) -> str:
    """ "40 s", "12 min", "3 h 05 min"; never below zero."""
    whole = max(0, int(seconds))
    if whole < 60:
        return t("figure.seconds", lang, seconds=whole)
    if whole < 3600:
        return t("figure.minutes", lang, minutes=whole // 60)
    return t("figure.hours", lang, hours=whole // 3600, minutes=f"{whole % 3600 // 60:02}")


def size(memory: float) -> str:
    """Bytes as "812 MB" or "1.4 GB", by powers of 1024 as every system monitor counts."""
    return f"{memory / 2**30:.1f} GB" if memory >= 2**30 else f"{memory / 2**20:.0f} MB"


def decimal_size(count: float) -> str:
    """Bytes by powers of 1000, as those of a network are: "812 B", "1.22 kB", "204 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def ordinal(number: int, lang: str) -> str:
    """ "1st", "2nd", "11th"; Chinese sentences use the plain number."""
    if lang != "en":
        return str(number)
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def brief(seconds: float) -> str:
    """A time below some minutes with three digits, in its usual unit: "41.5 µs", "1.2 ms", "3.04 s"."""
    units = ((1e6, "µs"), (1e3, "ms"), (1.0, "s"))
    factor, unit = next((pair for pair in units if seconds * pair[0] < 999.5), units[-1])
    return f"{seconds * factor:.3g} {unit}"
