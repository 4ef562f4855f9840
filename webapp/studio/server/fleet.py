"""The part of the page "Fleet" that needs no kernel: the workers of the visitor's job, and the buttons that disturb them.

The page shows it through `static/live_part.js`, so it is there again when the page is closed and opened.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tornado import web

from studio import i18n
from studio.compute import jobs
from studio.compute.lease import Refused
from studio.figures import decimal_size
from studio.fleet import control, settings
from studio.fleet.control import Fleet
from studio.fleet.settings import Settings

from .base import StudioPage

WIDTH, HEIGHT = 600.0, 180.0  # of the curve, in units that the style sheet stretches
SMALL_WIDTH, SMALL_HEIGHT = 120.0, 32.0
SHORTEST = 50  # steps that the curve's axis has at least
EVENTS = 8


@dataclass(frozen=True)
class Drawn:
    """A curve for an SVG: `points` of its line; `gaps` are (x, width) of steps that were computed again; `high` is the
    value at its upper edge, 0 is at the lower one."""

    points: str
    high: float
    last: float
    step: float
    gaps: tuple[tuple[float, float], ...] = ()


def drawn(
    points: list[tuple[float, float]],
    last_step: float,
    width: float = WIDTH,
    height: float = HEIGHT,
    restarts: list[dict[str, float]] | None = None,
) -> Drawn | None:
    """(step, loss) over steps up to `last_step`; None for no points."""
    if not points:
        return None
    high = max(y for _, y in points) * 1.05 or 1.0
    across = width / max(last_step, 1.0)
    line = " ".join(f"{x * across:.1f},{height - 1 - y / high * (height - 2):.1f}" for x, y in points)
    gaps = tuple(
        (round((one["at"] - one["again"]) * across, 1), round(max(one["again"] * across, 1.5), 1))
        for one in restarts or []
    )
    return Drawn(line, high, points[-1][1], points[-1][0], gaps)


def happened(fleet: Fleet) -> list[dict[str, Any]]:
    """Events and restarts, the newest first."""
    restarts = [{"what": "restart", **one} for one in fleet.state.get("restarts", ())]
    known = {"kill", "pause", "resume", "slow", "add", "restart"}
    found = [one for one in [*fleet.state.get("events", ()), *restarts] if one["what"] in known]
    return sorted(found, key=lambda one: -float(one["time"]))[:EVENTS]


class FleetPart(StudioPage):
    section = "page/fleet"

    def initialize(self, refusals: dict[str, str]) -> None:
        self.refusals = refusals  # by person: why the last button did nothing

    def latest(self) -> Fleet:
        """The visitor's own fleet. 404 if there is none."""
        fleet = control.latest(self.user.name)
        if fleet is None:
            raise web.HTTPError(404)
        return fleet

    async def do(self, deed: Callable[[], Any]) -> None:
        """Do what a button says. A refusal is shown on the page."""
        me, lang = self.user.name, self.language
        self.refusals.pop(me, None)
        try:
            await asyncio.to_thread(deed)
        except Refused as refusal:
            self.refusals[me] = refusal.sentence_zh if lang == "zh" else refusal.sentence
        except ValueError as error:
            self.refusals[me] = i18n.t("fleet.wrong", lang, why=error)
        self.redirect(self.address("page", "fleet"), status=303)


class Live(FleetPart):
    """/studio/fleet/live: what is refreshed."""

    @web.authenticated
    async def get(self) -> None:
        me = self.user.name
        fleet, places = await asyncio.gather(
            asyncio.to_thread(control.latest, me), asyncio.to_thread(control.free_places)
        )
        state = fleet.state if fleet else {}
        shown = min(max(fleet.step, SHORTEST), fleet.settings.steps) if fleet else SHORTEST
        self.show(
            "fleet_live.html",
            fleet=fleet,
            given=fleet.settings if fleet else Settings(),
            choices=settings,
            places=places,
            refusal=self.refusals.get(me, ""),
            shown=shown,
            chart=drawn(state.get("curve", []), shown, restarts=state.get("restarts")),
            small=lambda points: drawn(points, points[-1][0] if points else 1, SMALL_WIDTH, SMALL_HEIGHT),
            box=(WIDTH, HEIGHT, SMALL_WIDTH, SMALL_HEIGHT),
            events=happened(fleet) if fleet else [],
            amount=decimal_size,
            now=time.time(),
        )


class Start(FleetPart):
    @web.authenticated
    async def post(self) -> None:
        names = ("network", "exchange", "workers", "steps", "pace")
        form = {name: self.get_body_argument(name, "") for name in names}
        await self.do(lambda: control.start(self.user.name, Settings.of_form(form)))


class Stop(FleetPart):
    @web.authenticated
    async def post(self) -> None:
        await self.do(lambda: jobs.cancel(self.latest().job.id))


class Add(FleetPart):
    @web.authenticated
    async def post(self) -> None:
        await self.do(lambda: control.add(self.latest()))


class Worker(FleetPart):
    """Kill, pause, resume or slow down one worker."""

    @web.authenticated
    async def post(self) -> None:
        deed = self.get_body_argument("deed", "")
        numbers = [self.get_body_argument(name, "0") for name in ("rank", "rate")]
        await self.do(lambda: control.ask(self.latest(), deed, *map(int, numbers)))


def routes() -> list[tuple[Any, ...]]:
    """Addresses under /studio."""
    shared: dict[str, Any] = {"refusals": {}}
    parts = {"live": Live, "start": Start, "stop": Stop, "add": Add, "worker": Worker}
    return [(f"/fleet/{name}", part, shared) for name, part in parts.items()]
