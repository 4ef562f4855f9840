"""The waiting page, /studio/open/...: a place in the queue for a visitor who opens a page or a notebook, then a
redirect.

With a free slot it only redirects. Else it creates a ticket, which is part of the address, so that a reload keeps
the place: the address shows the queue, its event stream updates it, and a form to it leaves the queue.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.escape import url_escape
from tornado.iostream import StreamClosedError

from studio.compute.lease import Ask, Lease, Place, Refused
from studio.compute.provisioner import SessionProvisioner
from studio.compute.room import WaitingRoom
from studio.compute.sessions import Sessions

from . import lab_settings
from .base import StudioPage

LOOK_S = 1.0
REFRESH_S = 5  # of the page itself, if scripts are off
TICKET = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Destination:
    """The target of a visitor, its name for people, and its request to the machine."""

    address: str
    title: str
    ask: Ask


class Open(StudioPage):
    """/studio/open/page/<name> and /studio/open/lab/<path of a notebook>."""

    def initialize(self, room: WaitingRoom, sessions: Sessions) -> None:
        self.room = room
        self.sessions = sessions
        self._closed = False

    @web.authenticated
    async def get(self, kind: str, path: str) -> None:
        destination = await self._destination(kind, path.strip("/"))
        ticket = self._ticket(self.get_query_argument("ticket", ""))
        if self.request.headers.get("Accept", "").startswith("text/event-stream"):
            await self._stream(destination, ticket)
            return
        if kind == "lab" and await self._runs(path.strip("/")):
            self.redirect(destination.address)
            return
        try:
            answer = await self.room.look(destination.ask, ticket)
        except Refused as refusal:
            self.set_status(503)
            await self._show(destination, refusal=refusal)
            return
        except LookupError:  # the visitor left the queue and returned by this address
            self.redirect(self.request.path)
            return
        if isinstance(answer, Place):
            if ticket is None:
                self.redirect(f"{self.request.path}?ticket={answer.ticket}")
                return
            await self._show(destination, place=answer)
        elif answer.holder is not None:  # a used ticket, from the browser's history
            self.redirect(self.request.path)
        else:
            self.redirect(self._forward(destination, answer))

    @web.authenticated
    async def post(self, kind: str, path: str) -> None:
        """Leaves the queue."""
        ticket = self._ticket(self.get_body_argument("ticket"))
        if ticket is not None:
            await self.room.leave(ticket)
        self.redirect(self.address("courses" if kind == "lab" else ""), status=303)

    def on_connection_close(self) -> None:
        self._closed = True
        super().on_connection_close()

    async def _stream(self, destination: Destination, ticket: str | None) -> None:
        """Server-sent events: the place whenever it changes, then the address to go to."""
        if ticket is None:
            raise web.HTTPError(400, "an event stream needs ?ticket=")
        self.set_header("Content-Type", "text/event-stream")
        told = ""
        try:
            while not self._closed:
                html = ""
                try:
                    answer = await self.room.look(destination.ask, ticket)
                    if isinstance(answer, Lease):
                        address = (
                            self._forward(destination, answer) if answer.holder is None else self.request.path
                        )
                        return await self._tell("go", address)
                    html = self.fill("place.html", place=answer)
                except LookupError:
                    return await self._tell("go", self.request.path)
                except Refused as refusal:
                    html = self.fill("refusal.html", refusal=refusal)
                await self._tell("place", html if html != told else "")
                told = html
                await asyncio.sleep(LOOK_S)
        except StreamClosedError:
            return  # the visitor is gone; the ticket is not renewed any more

    async def _tell(self, event: str, data: str) -> None:
        """Send one event; without data a comment, which detects a closed connection."""
        lines = "".join(f"data: {line}\n" for line in data.splitlines())
        self.write(f"event: {event}\n{lines}\n" if lines else ":\n\n")
        await self.flush()

    async def _show(
        self, destination: Destination, place: Place | None = None, refusal: Refused | None = None
    ) -> None:
        mine = await asyncio.to_thread(self.sessions.running, destination.ask.owner)
        self.show(
            "waiting.html",
            title=destination.title,
            here_path=self.request.path,
            ticket=place.ticket if place else "",
            place=place,
            refusal=refusal,
            refresh=REFRESH_S,
            mine=[session for session in mine if session.lease.holder],
        )

    def _forward(self, destination: Destination, lease: Lease) -> str:
        return (
            f"{destination.address}?ticket={lease.id}" if lease.ask.purpose == "page" else destination.address
        )

    async def _destination(self, kind: str, path: str) -> Destination:
        offer = SessionProvisioner(config=self.config)
        if kind == "page":
            page = self.settings["studio_pages"].page(path)
            if page is None:
                raise web.HTTPError(404, f"no page named {path!r}")
            address = self.address("page", path)
            return Destination(address, page.title(self.language), offer.ask("page", path))
        if not path.endswith(".ipynb") or not await ensure_async(self.contents_manager.file_exists(path)):
            raise web.HTTPError(404, f"no notebook {path!r}")
        await asyncio.to_thread(lab_settings.follow, self.language, self.theme)
        # the path in the form that notebooks.NotebookSessions gets
        title = str(Path(self.contents_manager.root_dir) / path)
        address = url_path_join(self.base_url, "lab/tree", url_escape(path, plus=False))
        return Destination(address, PurePosixPath(path).stem, offer.ask("notebook", title))

    async def _runs(self, path: str) -> bool:
        """Whether this notebook has its kernel already."""
        open_now: list[dict[str, Any]] = await ensure_async(self.session_manager.list_sessions())
        return any(session["path"] == path for session in open_now)

    def _ticket(self, text: str) -> str | None:
        if text and not TICKET.fullmatch(text):
            raise web.HTTPError(400, f"a ticket is 32 digits 0-9 a-f, got {text!r}")
        return text or None
