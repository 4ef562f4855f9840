"""Data sets: the cards, and a page for each with what it looks like."""

from __future__ import annotations

from typing import Any

from tornado import web

from studio.data.shelf import LookError, Shelf

from .base import STRICT_POLICY, StudioPage


class DataPage(StudioPage):
    section = "datasets"

    def initialize(self, shelf: Shelf) -> None:
        self.shelf = shelf

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
        self.show("datasets_cards.html" if live else "datasets.html", cards=self.cards())


class DataSet(DataPage):
    """One data set; with `live`, only the part that changes while its look is made."""

    @web.authenticated
    async def get(self, name: str, live: str = "") -> None:
        card, blocks, failed = self.find(name), None, False
        if card is not None and card["present"]:
            try:
                blocks = self.shelf.look(card)
            except LookError as error:
                self.log.warning("the look of %s: %s", name, error)
                failed = True
        template = "dataset_look.html" if live else "dataset.html"
        self.show(template, name=name, card=card, blocks=blocks, failed=failed)
