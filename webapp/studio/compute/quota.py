"""Limits for one person: hours a week, and the longest that one session may last."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from studio.i18n import t

from . import turns
from .lease import Ask, Impossible, Kind, OverQuota
from .machine import Machine
from .settings import number

HOUR = 3600.0
WEEK = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Quota:
    """`cpu` and `gpu` in hours a week (None: no limit); `longest` in seconds. Grading is never counted."""

    cpu: float | None = None
    gpu: float | None = None
    longest: float = 24 * HOUR

    @classmethod
    def from_environment(cls) -> Quota:
        """SAMPAN_CPU_HOURS and SAMPAN_GPU_HOURS a week, SAMPAN_LONGEST_HOURS a session."""
        longest = number("SAMPAN_LONGEST_HOURS", least=0.1)
        return cls(
            number("SAMPAN_CPU_HOURS", least=0),
            number("SAMPAN_GPU_HOURS", least=0),
            cls.longest if longest is None else longest * HOUR,
        )

    def hours(self, kind: Kind) -> float | None:
        return self.cpu if kind == "cpu" else self.gpu

    def over(self, kind: Kind, now: float) -> OverQuota:
        return OverQuota(
            *_both("quota.over", kind=kind.upper(), hours=f"{self.hours(kind):g}", when=_next_week(now))
        )

    def check(self, ask: Ask, machine: Machine) -> None:
        """Raises Impossible if waiting cannot help."""
        if ask.kind == "gpu" and not any(device.kind == "gpu" for device in machine.devices):
            raise Impossible(*_both("quota.no_gpu"))
        if ask.memory > machine.memory:
            asked, most = (f"{size / 2**30:.1f}" for size in (ask.memory, machine.memory))
            raise Impossible(*_both("quota.memory", asked=asked, most=most))
        if ask.places > (places := len(turns.suited(machine, ask))):
            raise Impossible(*_both("quota.places", asked=ask.places, most=places))
        if ask.places * ask.memory > machine.promised:
            asked, most_memory = (
                f"{size / 2**30:.1f}" for size in (ask.places * ask.memory, machine.promised)
            )
            raise Impossible(*_both("quota.memory", asked=asked, most=most_memory))
        if ask.seconds > self.longest:
            raise self.too_long(ask.seconds)

    def too_long(self, seconds: float) -> Impossible:
        asked, most = f"{seconds / HOUR:.1f}", f"{self.longest / HOUR:g}"
        return Impossible(*_both("quota.too_long", asked=asked, most=most))


def week(now: float) -> float:
    """When the week of `now` began: Monday, 00:00 UTC, in seconds since 1970."""
    day = datetime.datetime.fromtimestamp(now, datetime.UTC)
    monday = day - datetime.timedelta(days=day.weekday())
    return monday.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


def _next_week(now: float) -> str:
    begins = datetime.datetime.fromtimestamp(week(now), datetime.UTC) + WEEK
    return f"{begins:%Y-%m-%d %H:%M} UTC"


def _both(key: str, **values: object) -> tuple[str, str]:
    return t(key, "en", **values), t(key, "zh", **values)
