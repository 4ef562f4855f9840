"""Figures as people read them, and the numbers behind the small charts."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from studio import figures
from studio.server import charts, sessions

pytestmark = pytest.mark.alone


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (-3, "0 s", "0 秒"),
        (59.9, "59 s", "59 秒"),
        (60, "1 min", "1 分钟"),
        (3599, "59 min", "59 分钟"),
        (3600, "1 h 00 min", "1 小时 00 分"),
        (29120, "8 h 05 min", "8 小时 05 分"),
    ],
)
def test_duration(seconds: float, en: str, zh: str) -> None:
    assert (figures.duration(seconds, "en"), figures.duration(seconds, "zh")) == (en, zh)


def test_bytes_of_a_network() -> None:
    told = [figures.decimal_size(n) for n in (0, 812, 1220, 203_900, 12_340_000, 5e9, 2e15)]
    assert told == ["0 B", "812 B", "1.22 kB", "204 kB", "12.3 MB", "5 GB", "2e+03 TB"]


def test_busy_cores_for_a_thread_that_asks_for_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server answers from many threads; none of them may say 0 while the machine works."""
    busy = sessions._Busy()
    until = time.monotonic() + 1.1 * sessions.LOOK_SECONDS
    while time.monotonic() < until:
        pass
    with ThreadPoolExecutor(1) as another:
        found = another.submit(busy.cores, 2).result()
    assert 0.1 < found <= 2
    monkeypatch.setattr(sessions, "LOOK_SECONDS", 3600.0)
    assert busy.cores(2) == found  # too soon for another look


def test_size() -> None:
    assert [figures.size(n) for n in (0, 5 << 20, 1 << 30, 3 << 29)] == ["0 MB", "5 MB", "1.0 GB", "1.5 GB"]


def test_ordinal() -> None:
    numbers = [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111]
    assert [figures.ordinal(n, "en") for n in numbers] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th"]
    )
    assert figures.ordinal(2, "zh") == "2"


def test_a_week_of_bars() -> None:
    monday = datetime(2026, 11, 16, tzinfo=UTC).timestamp()
    bars = charts.week([(monday + day * 86400, day * 3600.0) for day in range(7)])
    assert [bar.weekday for bar in bars] == list(range(7))
    assert bars[0].height == 0 and bars[6].height == charts.FLOOR - charts.ROOF
    most = charts.FLOOR - charts.ROOF
    assert [bar.height for bar in bars] == pytest.approx([most / 6 * day for day in range(7)], abs=0.1)
    assert all(bar.y + bar.height == pytest.approx(charts.FLOOR, abs=0.15) for bar in bars)
    assert bars[6].x + bars[6].width < charts.WIDTH


def test_minutes_do_not_fill_the_chart() -> None:
    assert charts.week([(0.0, 600.0)])[0].height == pytest.approx((charts.FLOOR - charts.ROOF) / 6, abs=0.1)


def points(curve: charts.Curve | None) -> list[tuple[float, float]]:
    assert curve is not None
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", curve.points)]


def test_a_curve_fills_its_box() -> None:
    curve = charts.curve("loss", [(0, 2.0), (5, 1.0), (10, 0.5)])
    assert points(curve) == [(4.0, 4.0), (120.0, pytest.approx(46.7)), (236.0, 68.0)]
    assert curve is not None and (curve.low, curve.high, curve.last, curve.steps) == ("0.5", "2", "0.5", 3)


def test_a_long_curve_is_thinned_and_keeps_its_last_point() -> None:
    values = [(float(i), float(i)) for i in range(1001)]
    drawn = points(charts.curve("loss", values))
    assert len(drawn) <= charts.POINTS + 1 and drawn[-1] == (236.0, 4.0)


def test_what_cannot_be_drawn() -> None:
    assert charts.curve("loss", []) is None
    assert charts.curve("loss", [(1, float("nan"))]) is None
    assert points(charts.curve("loss", [(1, 3.0)])) == [(4.0, 4.0)]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.15e-5, "41.5 µs"),
        (9.99e-4, "999 µs"),
        (9.999e-4, "1 ms"),
        (0.0012, "1.2 ms"),
        (3.04, "3.04 s"),
        (75, "75 s"),
    ],
)
def test_a_short_time_has_three_digits_and_its_unit(seconds: float, text: str) -> None:
    assert figures.brief(seconds) == text
