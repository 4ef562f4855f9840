"""Points in time for people: in the time zone of this machine, which is said."""

from __future__ import annotations

from datetime import datetime, timedelta

from .i18n import t


def shown(seconds: float) -> str:
    """ "2026-12-01 23:59 UTC+01:00" """
    when = datetime.fromtimestamp(seconds).astimezone()
    text = f"{when:%Y-%m-%d %H:%M}" + (f":{when:%S}" if when.second else "")
    return f"{text} {_offset(when)}"


def minute(seconds: float) -> str:
    """ "2026-12-01 23:59", where the zone is said elsewhere or is of no importance."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def zone(seconds: float) -> str:
    """The time zone at that time: "CET, UTC+01:00"."""
    when = datetime.fromtimestamp(seconds).astimezone()
    name = when.tzname() or ""
    return f"{name}, {_offset(when)}" if name.isalpha() and name != "UTC" else _offset(when)


def _offset(when: datetime) -> str:
    minutes = int((when.utcoffset() or timedelta()).total_seconds() // 60)
    return (
        f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        if minutes
        else "UTC"
    )


def field(seconds: float | None) -> str:
    """The value of an <input type="datetime-local">."""
    return "" if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%dT%H:%M:%S")


def parse(text: str) -> float | None:
    """What such an input sends, or a person writes: "2026-12-01 23:59". None for an empty one.

    Raises `ValueError`.
    """
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"expected a date and a time such as 2026-12-01 23:59, got {text!r}") from error


def left(seconds: float, lang: str) -> str:
    """A time from now on in two units: "2 days 3 hours", "3 hours 10 minutes", "less than a minute"."""
    minutes = int(seconds // 60)
    for unit, part, inside in (("days", 1440, 60), ("hours", 60, 1)):
        if minutes >= part:
            rest = minutes % part // inside
            first = _many(unit, minutes // part, lang)
            lower = "hours" if unit == "days" else "minutes"
            return f"{first} {_many(lower, rest, lang)}" if rest else first
    return _many("minutes", minutes, lang) if minutes > 0 else t("assignments.left.soon", lang)


def _many(unit: str, count: int, lang: str) -> str:
    return t(f"assignments.left.{unit[:-1] if count == 1 else unit}", lang, count=count)
