"""Uploading a data set, changing its card, and removing a version."""

from __future__ import annotations

import asyncio
from typing import Any

from tornado import web

from studio.grading.client import GradingError
from studio.hub.member import Away, RemoteChecker
from studio.trouble import trouble
from studio.uploads import store
from studio.uploads.examine import examined
from studio.uploads.places import Uploads, taken
from studio.uploads.refusal import Refusal
from studio.uploads.store import Incoming

from .base import StudioPage

LONGEST_FILE_NAME = 120


class UploadPage(StudioPage):
    section = "datasets"

    def initialize(self, uploads: Uploads, remote: RemoteChecker | None = None) -> None:
        """`remote`: in a class, its service."""
        self.uploads, self.remote = uploads, remote

    def sharing(self) -> RemoteChecker:
        """What takes data sets for the class; only teachers give them."""
        if self.remote is None or not self.user.teaches:
            raise web.HTTPError(403, "only a teacher of a class shares data sets")
        return self.remote

    def words(self) -> dict[str, str]:
        """What the visitor says about the set, from the fields of a form or the query."""
        return {word: self.get_argument(word, "") for word in store.WORDS}

    def find(self, name: str, version: str) -> dict[str, Any]:
        """A version of the visitor's own; those of the class are not changed here."""
        card = self.uploads.own.card(name, version)
        if card is None:
            raise web.HTTPError(404, f"no uploaded data set {name} of version {version}")
        return card

    def answer(self, refusal: Refusal | None, **values: Any) -> None:
        """JSON for upload.js: `refused` is a sentence, or ""."""
        words = "" if refusal is None else refusal.words(self.language)
        self.finish({"refused": words, **values})


class Room(UploadPage):
    """Whether a file of so many bytes would be taken under that name: asked before it is sent."""

    @web.authenticated
    async def get(self) -> None:
        try:
            size = int(self.get_query_argument("bytes", "0"))
        except ValueError as error:
            raise web.HTTPError(400, "bytes must be a whole number") from error
        try:
            store.checked(self.words(), "")
            names = await asyncio.to_thread(taken)
            await asyncio.to_thread(self.uploads.own.check, self.get_query_argument("name", ""), size, names)
        except Refusal as refusal:
            self.answer(refusal)
        else:
            self.answer(None)


@web.stream_request_body
class Upload(UploadPage):
    """Takes the file in the body. It goes to the disk as it arrives; a cancelled or refused one leaves nothing."""

    incoming: Incoming | None = None
    refusal: Refusal | None = None
    working: asyncio.Task[Any] | None = None
    left = False  # the visitor has

    def set_default_headers(self) -> None:
        super().set_default_headers()
        # An answer may come before the body has been read. Tornado ends the connection then; a client that did not know
        # would send its next request into it.
        self.set_header("Connection", "close")

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        if self._finished or self.request.method != "PUT" or not self.current_user:
            return
        name = self.get_query_argument("name", "")
        try:
            size = int(self.request.headers.get("Content-Length", "0"))
            if "Transfer-Encoding" in self.request.headers:
                raise Refusal("length")
            store.checked(self.words(), "")
            names = await asyncio.to_thread(taken)
            self.incoming = await asyncio.to_thread(self.uploads.own.begin, name, size, names)
        except Refusal as refusal:
            self.set_status(413)
            self.answer(refusal)
            return
        self.request.connection.set_max_body_size(size)  # type: ignore[union-attr]  # it is an HTTP/1 connection

    async def data_received(self, chunk: bytes) -> None:
        if self.incoming is None or self.refusal is not None or self.left:
            return
        try:
            await asyncio.to_thread(self.incoming.write, chunk)
        except Refusal as refusal:
            self.refusal = refusal
        except ValueError:  # the file was closed meanwhile
            if not self.left:
                raise
        except OSError as error:
            if trouble(error) is None:
                raise
            self.refusal = Refusal("disk")

    @web.authenticated
    async def put(self) -> None:
        if self.incoming is None:
            raise web.HTTPError(400, "no body")
        try:
            if self.refusal is not None:
                raise self.refusal
            self.working = asyncio.ensure_future(self._keep(self.incoming))
            card = await self.working
        except Refusal as refusal:
            self.set_status(422)
            self.answer(refusal)
        except asyncio.CancelledError:  # by the visitor, who has left
            return
        else:
            self.answer(None, address=self.address("datasets", card["name"]))

    async def _keep(self, incoming: Incoming) -> dict[str, Any]:
        await asyncio.to_thread(incoming.complete)
        given = "".join(letter for letter in self.get_query_argument("file", "") if letter.isprintable())
        file = given.replace("\\", "/").rpartition("/")[2][-LONGEST_FILE_NAME:] or "data"
        found = await examined(incoming.path, file)
        name = self.get_query_argument("name")
        return await asyncio.to_thread(self.uploads.own.keep, incoming, name, found, self.words())

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self.left = True
        if self.working is not None:
            self.working.cancel()
        self._discard()

    def on_finish(self) -> None:
        self._discard()

    def _discard(self) -> None:
        if self.incoming is not None:
            self.incoming.discard()


class Edit(UploadPage):
    """Other words on the card of a version."""

    @web.authenticated
    async def post(self, name: str, version: str) -> None:
        card = await asyncio.to_thread(self.find, name, version)
        try:
            await asyncio.to_thread(self.uploads.own.edit, card, self.words())
        except Refusal as refusal:
            raise web.HTTPError(400, reason=refusal.words("en")) from refusal
        self.redirect(f"{self.address('datasets', name)}?version={version}", status=303)


class Remove(UploadPage):
    """Deletes a version with its file."""

    @web.authenticated
    async def post(self, name: str, version: str) -> None:
        card = await asyncio.to_thread(self.find, name, version)
        await asyncio.to_thread(self.uploads.own.remove, card)
        left = await asyncio.to_thread(self.uploads.own.card, name)
        self.redirect(
            self.address("datasets") if left is None else self.address("datasets", name), status=303
        )


class Share(UploadPage):
    """Gives a version of an own set to the class, or takes it back (`withdraw`)."""

    @web.authenticated
    async def post(self, name: str, version: str) -> None:
        remote, withdraw = self.sharing(), bool(self.get_body_argument("withdraw", ""))
        shared = self.uploads.shared if withdraw else self.uploads.own
        card = None if shared is None else await asyncio.to_thread(shared.card, name, version)
        if card is None:
            raise web.HTTPError(404, f"no data set {name} of version {version}")
        try:
            if withdraw:
                await remote.withdraw(card)
            else:
                await remote.share(card, await asyncio.to_thread(self.uploads.own.content, card))
        except GradingError as error:
            self.set_status(503 if isinstance(error, Away) else 409)
            self.show("share_refused.html", refusal=error.words(self.language), name=name)
            return
        left = await asyncio.to_thread(self.uploads.find, name)
        self.redirect(self.address("datasets", name) if left else self.address("datasets"), status=303)
