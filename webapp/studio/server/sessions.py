"""Sessions: what runs, what it uses, how long it may run; the queue, jobs with their curves, and the use of the
week."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import psutil
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.escape import url_escape

from studio.compute import jobs, record
from studio.compute.jobs import Job
from studio.compute.lease import Lease, Refused
from studio.compute.machine import Device, Machine
from studio.compute.sessions import Session, Sessions

from . import charts
from .base import StudioPage

EXTEND_S = 3600.0
JOBS_SHOWN = 20
LOOK_SECONDS = 1.0  # between two measurements of the busy cores
LOG_SHOWN = 4000  # characters of a job's log on the page; the full log has its own address


@dataclass(frozen=True)
class Share:
    """The free resources of this machine: places and GPUs, bytes of memory; and the busy cores."""

    places: int
    of_places: int
    gpus: int
    of_gpus: int
    simulated: bool
    memory: int
    of_memory: int
    cores: float
    of_cores: int


class _Busy:
    """How many cores were busy since the last measurement but one, for any thread: psutil.cpu_percent stores it per
    thread, and returns 0 at a thread's first call."""

    # Time of work is counted, not idle time: the idle time of a core that slept is added at once when it wakes, so in
    # a short interval it can be more than the interval. On Linux `user` includes `guest`.
    WORK = ("user", "nice", "system", "irq", "softirq", "steal")

    def __init__(self) -> None:
        self._looks = [self._look()] * 2

    def _look(self) -> tuple[float, float]:
        times = psutil.cpu_times()
        return time.monotonic(), sum(getattr(times, kind, 0.0) for kind in self.WORK)

    def cores(self, count: int) -> float:
        if time.monotonic() - self._looks[1][0] > LOOK_SECONDS:
            self._looks = [self._looks[1], self._look()]
        (began, work_before), (ended, work) = self._looks
        if ended == began:  # the first measurement
            return 0.0
        return min(max((work - work_before) / (ended - began), 0.0), float(count))


_BUSY = _Busy()


def share(machine: Machine, leases: list[Lease]) -> Share:
    """The machine's free share. Blocks for a moment."""
    lent: dict[str, float] = {}
    for lease in leases:
        for device in lease.devices:
            lent[device] = lent.get(device, 0.0) + lease.ask.share
    places = [device for device in machine.devices if device.kind == "cpu" and not device.grading_only]
    gpus = [device for device in machine.devices if device.kind == "gpu"]

    def free(devices: list[Device]) -> int:
        return sum(lent.get(device.id, 0.0) == 0 for device in devices)

    count = psutil.cpu_count() or 1
    return Share(
        places=free(places),
        of_places=len(places),
        gpus=free(gpus),
        of_gpus=len(gpus),
        simulated=any(device.id.startswith("sim:") for device in gpus),
        memory=psutil.virtual_memory().available,
        of_memory=machine.memory,
        cores=_BUSY.cores(count),
        of_cores=count,
    )


class SessionPage(StudioPage):
    section = "sessions"

    def initialize(self, sessions: Sessions) -> None:
        self.sessions = sessions

    @property
    def everyone(self) -> bool:
        """Whether the admin is viewing all sessions."""
        return self.user.admin and self.get_query_argument("who", "") == "everyone"

    @property
    def whose(self) -> str | None:
        """The owner of the sessions and jobs that this visitor may end; None for the admin: everyone's."""
        return None if self.user.admin else self.user.name

    def find(self, session_id: str) -> Session:
        """A session of this visitor; for the admin, of anyone. 404 if it has ended."""
        try:
            return self.sessions.find(session_id, self.whose)
        except LookupError as error:
            raise web.HTTPError(404, str(error)) from error

    def find_job(self, job_id: str) -> Job:
        try:
            return jobs.find(job_id, self.whose)
        except LookupError as error:
            raise web.HTTPError(404, str(error)) from error

    def back(self) -> None:
        """The address of the form's page if it is ours, else the list."""
        there = self.get_body_argument("next", "")
        ours = there.startswith(self.address() + "/")
        self.redirect(there if ours else self.address("sessions"), status=303)

    def notebook_address(self, session: Session) -> str:
        """A notebook's address in Lab; "" for anything else."""
        title = self.session_title(session.lease.ask)
        if session.lease.ask.purpose != "notebook" or not title.endswith(".ipynb") or title.startswith("/"):
            return ""
        return url_path_join(self.base_url, "lab/tree", url_escape(title, plus=False))

    def gather(self, owner: str | None) -> dict[str, Any]:
        """All live data of the page. Blocks."""
        store, me = self.sessions.store, self.user.name
        running = self.sessions.running(owner)
        return {
            "running": running,
            "share": share(store.machine, store.leases()),
            "queue": store.queue(),
            "jobs": [(job, _curves(job)) for job in jobs.all(owner)[:JOBS_SHOWN]],
            "week": charts.week(self.sessions.week(me)),
            "left": {kind: store.left(me, kind) for kind in ("cpu", "gpu")},
            "me": me,
        }


def _curves(job: Job) -> list[charts.Curve]:
    found = (charts.curve(name, values) for name, values in sorted(job.curve().items()))
    return [curve for curve in found if curve is not None]


class Overview(SessionPage):
    """/studio/sessions, and /studio/sessions/live: the part of it that is refreshed."""

    @web.authenticated
    async def get(self, live: str = "") -> None:
        everyone = self.everyone
        told = await asyncio.to_thread(self.gather, None if everyone else self.user.name)
        self.show(
            "sessions_live.html" if live else "sessions.html",
            everyone=everyone,
            chart=charts,
            now=time.time(),
            notebook_address=self.notebook_address,
            log_shown=LOG_SHOWN,
            **told,
        )


class Stop(SessionPage):
    """Ends a session: interrupt, then kill; its place is free at once."""

    @web.authenticated
    async def post(self, session_id: str) -> None:
        await self.sessions.stop(await asyncio.to_thread(self.find, session_id))
        self.back()


class Extend(SessionPage):
    """Extends a session by an hour."""

    @web.authenticated
    async def post(self, session_id: str) -> None:
        session = await asyncio.to_thread(self.find, session_id)
        try:
            await asyncio.to_thread(self.sessions.extend, session.id, EXTEND_S)
        except LookupError as error:
            raise web.HTTPError(404, str(error)) from error
        except Refused as refusal:
            raise web.HTTPError(409, reason=refusal.sentence) from refusal
        self.back()


class Keep(SessionPage):
    """Keeps an idle session: it is not culled for now."""

    @web.authenticated
    async def post(self, session_id: str) -> None:
        session = await asyncio.to_thread(self.find, session_id)
        record.keep(self.sessions.state, session.id)
        await asyncio.to_thread(self.sessions.note, session.id, culled_at=0.0)
        self.back()


class Line(SessionPage):
    """The status line of the session that runs this kernel, for the header of a page and the footer of a notebook."""

    @web.authenticated
    async def get(self, kernel: str) -> None:
        session = await asyncio.to_thread(self._session_of, kernel)
        self.show("session_line.html", session=session, now=time.time())

    def _session_of(self, kernel: str) -> Session | None:
        for session in self.sessions.standing():
            if session.kernel == kernel and (self.user.admin or session.lease.ask.owner == self.user.name):
                return self.find(session.id)
        return None


class CancelJob(SessionPage):
    @web.authenticated
    async def post(self, job_id: str) -> None:
        job = await asyncio.to_thread(self.find_job, job_id)
        await asyncio.to_thread(jobs.cancel, job.id)
        self.back()


class RemoveJob(SessionPage):
    """Deletes a job that has ended, with its output files."""

    @web.authenticated
    async def post(self, job_id: str) -> None:
        job = await asyncio.to_thread(self.find_job, job_id)
        try:
            await asyncio.to_thread(jobs.remove, job.id)
        except ValueError as error:
            raise web.HTTPError(409, str(error)) from error
        self.back()


class JobFile(SessionPage):
    """A job's log or an output file, as a download, never shown as a page."""

    @web.authenticated
    async def get(self, job_id: str, path: str) -> None:
        job = await asyncio.to_thread(self.find_job, job_id)
        found = {job.log_file.name: job.log_file} if job.log_file.is_file() else {}
        found |= {file.relative_to(job.folder).as_posix(): file for file in job.files()}
        file: Path | None = found.get(path)
        if file is None:
            raise web.HTTPError(404, f"the job {job.id} has no output file {path!r}")
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("X-Content-Type-Options", "nosniff")
        name = url_escape(PurePosixPath(path).name, plus=False)
        self.set_header("Content-Disposition", f"attachment; filename*=utf-8''{name}")
        with file.open("rb") as stream:
            while part := await asyncio.to_thread(stream.read, 1 << 20):
                self.write(part)
                await self.flush()
