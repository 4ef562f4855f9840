"""Data sets of a class: a teacher's own server sends one, the service examines and keeps it, learners read it from the disk."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any

from tornado import web

from studio.uploads import store
from studio.uploads.adding import add_stream
from studio.uploads.refusal import Refusal
from studio.uploads.store import Store

from .calls import Call
from .desk import ServiceDesk

MOST_SHARED = 256 << 20  # bytes of one file: it comes in one request
SHARED_BY = "by"  # on the card: the teacher


def shared(desk: ServiceDesk) -> Store:
    """The sets of the class. It has no quota of its own: each teacher has one."""
    return store.of_class(desk.folder.shared)


def check_quota(sets: Store, teacher: str, size: int) -> None:
    """Refuses what is too large for one request, or together with what the teacher has shared for their quota."""
    if size > MOST_SHARED:
        raise Refusal("quota", size=size, free=MOST_SHARED, most=MOST_SHARED)
    cards = (card for versions in sets.sets().values() for card in versions)
    used = sum(card["bytes"] for card in cards if card.get(SHARED_BY) == teacher)
    if used + size > store.quota():
        raise Refusal("quota", size=size, free=max(0, store.quota() - used), most=store.quota())


class SharingCall(Call):
    """For teachers."""

    def only_teachers(self) -> None:
        if not self.teaches:
            raise web.HTTPError(403, "only teachers share data sets")


class Share(SharingCall):
    """Keeps the file in the body as the newest version of a set; answers its card."""

    @web.authenticated
    async def post(self, name: str) -> None:
        self.only_teachers()
        words = {word: self.get_query_argument(word, "") for word in store.WORDS}
        sets, body = shared(self.desk), self.request.body
        try:
            await asyncio.to_thread(check_quota, sets, self.user.name, len(body))
            file, teacher = self.get_query_argument("file"), {SHARED_BY: self.user.name}
            card = await add_stream(sets, BytesIO(body), len(body), file, name, words, teacher)
        except Refusal as refusal:
            self.refuse("refused", refusal.words)
            return
        self.set_status(201)
        self.finish(json.dumps(card))


class Withdraw(SharingCall):
    """Removes a version."""

    @web.authenticated
    async def delete(self, name: str, version: str) -> None:
        self.only_teachers()
        sets = shared(self.desk)
        card = await asyncio.to_thread(sets.card, name, version)
        if card is None:
            raise web.HTTPError(404, f"no shared data set {name} of version {version}")
        await asyncio.to_thread(sets.remove, card)
        self.set_status(204)
        self.finish()


def routes(desk: ServiceDesk) -> list[tuple[Any, ...]]:
    own = {"desk": desk}
    return [("/datasets/([a-z0-9_]+)", Share, own), ("/datasets/([a-z0-9_]+)/([0-9a-f]{12})", Withdraw, own)]
