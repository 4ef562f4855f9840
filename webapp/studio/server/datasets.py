"""Data sets: the cards, and a page for each with what it looks like."""

from __future__ import annotations

import asyncio
from typing import Any

from tornado import web

from studio.data.shelf import LookError, Shelf
from studio.moments import minute
from studio.uploads.places import Uploads
from studio.uploads.store import Store

from .base import STRICT_POLICY, StudioPage


class DataPage(StudioPage):
    section = "datasets"

    def initialize(self, shelf: Shelf, uploads: Uploads) -> None:
        self.shelf, self.uploads = shelf, uploads

    @property
    def content_security_policy(self) -> str:
        return f"{STRICT_POLICY}; media-src data:"  # the recordings of a look

    def cards(self) -> list[dict[str, Any]] | None:
        try:
            return self.shelf.cards()
        except LookError as error:
            self.log.error("the cards of the data sets: %s", error)
            raise web.HTTPError(503) from error

    def find(self, name: str) -> dict[str, Any] | None:
        """The card of that name; None while the cards are read."""
        cards = self.cards()
        if cards is None:
            return None
        for card in cards:
            if card["name"] == name:
                return card
        raise web.HTTPError(404, f"no data set named {name!r}")


class Overview(DataPage):
    """All cards; with `live`, only the part that changes while they are read."""

    @web.authenticated
    async def get(self, live: str = "") -> None:
        if live:
            self.show("datasets_cards.html", cards=self.cards())
            return
        stores = self.uploads.stores
        sets = [await asyncio.to_thread(store.sets) for store in stores]
        usage = await asyncio.to_thread(self.uploads.own.usage)
        self.show("datasets.html", cards=self.cards(), sets=sets, usage=usage)


class DataSet(DataPage):
    """One data set; with `live`, only the part that changes while its look is made."""

    @web.authenticated
    async def get(self, name: str, live: str = "") -> None:
        version = self.get_query_argument("version", "") or None
        try:
            found = await asyncio.to_thread(self.uploads.find, name, version)
        except LookupError as error:
            raise web.HTTPError(404, str(error)) from error
        if found is not None:
            await self.uploaded(*found)
            return
        card, blocks, failed = self.find(name), None, False
        if card is not None and card["present"]:
            try:
                blocks = self.shelf.look(card)
            except LookError as error:
                self.log.warning("the look of %s: %s", name, error)
                failed = True
        template = "dataset_look.html" if live else "dataset.html"
        self.show(template, name=name, card=card, blocks=blocks, failed=failed)

    async def uploaded(self, store: Store, card: dict[str, Any]) -> None:
        """The page of a set that a user has uploaded; its look was made when it was added."""
        blocks = await asyncio.to_thread(store.look, card)
        versions = (await asyncio.to_thread(store.sets))[card["name"]]
        line = f'sampan.datasets.load("{card["name"]}", version="{card["version"]}")'
        shared = self.uploads.shared
        given = (
            None if shared is None else await asyncio.to_thread(shared.card, card["name"], card["version"])
        )
        self.show(
            "upload.html",
            **{"card": card, "blocks": blocks, "versions": versions, "line": line},
            **{"own": store is self.uploads.own, "shared": given, "moment": minute},
        )
