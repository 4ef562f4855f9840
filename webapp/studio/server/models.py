"""Models: those that the library ships and those that the learner saved, with cards, two compared, and downloads."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tornado import web

from studio.models import Model, TooLarge, all_models

from .base import StudioPage
from .markdown import rendered

_CHUNK = 2**18  # bytes of a download


class ModelPage(StudioPage):
    section = "models"

    def initialize(self, workspace: Path) -> None:
        self.workspace = workspace

    async def models(self) -> list[Model]:
        return await asyncio.to_thread(all_models, self.workspace)

    async def find(self, origin: str, name: str) -> Model:
        """Only what was listed: a name is never part of a path."""
        for model in await self.models():
            if (model.origin, model.name) == (origin, name):
                return model
        raise web.HTTPError(404, f"no {origin} model is named {name!r}")


def described(model: Model, card: bool = True) -> dict[str, Any]:
    """What a page shows of a model, with its card as HTML."""
    words = ("name", "origin", "kind", "input", "lead", "licence", "bytes", "parameters")
    shown = {word: getattr(model, word) for word in words}
    base = model.path if model.path.is_dir() else model.path.parent
    files = [(path.relative_to(base).as_posix(), path.stat().st_size) for path in model.files]
    return {**shown, "files": files, "card": rendered(model.text) if card and model.text.strip() else ""}


class Overview(ModelPage):
    """All models; with `a` and `b`, two of them beside each other."""

    @web.authenticated
    async def get(self) -> None:
        models = await self.models()
        asked = [self.get_query_argument(word, "") for word in "ab"]
        keys = {f"{model.origin}/{model.name}": model for model in models}
        shown = await asyncio.to_thread(lambda: [described(model, card=False) for model in models])
        two = await asyncio.to_thread(lambda: [described(keys[key]) for key in asked if key in keys])
        self.show("models.html", models=shown, two=two if len(two) == 2 else [], asked=asked)


class Card(ModelPage):
    """One model."""

    @web.authenticated
    async def get(self, origin: str, name: str) -> None:
        model = await self.find(origin, name)
        self.show("model.html", model=await asyncio.to_thread(described, model))


class Download(ModelPage):
    """A model's files as a zip."""

    @web.authenticated
    async def get(self, origin: str, name: str) -> None:
        model = await self.find(origin, name)
        with tempfile.TemporaryFile() as file:
            try:
                await asyncio.to_thread(model.pack, file)
            except TooLarge as error:
                raise web.HTTPError(413, f"{name} is too large for a download") from error
            self.set_header("Content-Type", "application/zip")
            self.set_header("Content-Length", str(file.tell()))
            self.set_header(
                "Content-Disposition", f"attachment; filename*=UTF-8''{quote(model.path.stem)}.zip"
            )
            file.seek(0)
            while part := await asyncio.to_thread(file.read, _CHUNK):
                self.write(part)
                await self.flush()
