"""Notebooks in Lab: their kernels get the place that was held for them, or Lab gets the reason as a sentence."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler
from jupyter_server.services.kernels.handlers import KernelActionHandler, MainKernelHandler, _kernel_id_regex
from jupyter_server.services.sessions.handlers import SessionRootHandler
from jupyter_server.services.sessions.sessionmanager import SessionManager
from jupyter_server.utils import url_path_join
from tornado import web

from studio import i18n
from studio.compute.provisioner import NoSession
from studio.compute.room import WaitingRoom


class NotebookSessions(SessionManager):
    """Jupyter's list of open notebooks. A kernel that it starts gets the ticket of its notebook, if there is one."""

    def get_kernel_env(self, path: str | None, name: Any = None) -> dict[str, str]:
        env: dict[str, str] = super().get_kernel_env(path, name)
        assert self.parent is not None  # the server
        room: WaitingRoom = self.parent.web_app.settings["studio_room"]
        ticket = room.ticket(env["JPY_SESSION_NAME"])
        return {**env, "SAMPAN_TICKET": ticket} if ticket else env


class _InWords(APIHandler):
    """If a kernel cannot start because no place is free, Lab's dialog shows the reason in the visitor's language;
    Jupyter's own handlers answer 500, or in one language."""

    async def in_words(self, starting: Awaitable[None]) -> None:
        try:
            await starting
        except web.HTTPError as error:
            full = error if isinstance(error, NoSession) else error.__cause__
            if not isinstance(full, NoSession):
                raise
            lang = i18n.negotiate(
                self.get_cookie(i18n.LANGUAGE_COOKIE), self.request.headers.get("Accept-Language", "")
            )
            sentence = full.sentence_zh if lang == "zh" else full.sentence
            raise web.HTTPError(503, sentence.replace("%", "%%"), reason=full.sentence) from full


class StartNotebook(_InWords, SessionRootHandler):
    """POST /api/sessions"""

    @web.authenticated
    async def post(self) -> None:
        await self.in_words(ensure_async(super().post()))


class StartKernel(_InWords, MainKernelHandler):
    """POST /api/kernels"""

    @web.authenticated
    async def post(self) -> None:
        await self.in_words(ensure_async(super().post()))


class ActOnKernel(_InWords, KernelActionHandler):
    """POST /api/kernels/<id>/restart: a kernel whose lease was taken back needs a new one."""

    @web.authenticated
    async def post(self, kernel_id: str, action: str) -> None:
        await self.in_words(ensure_async(super().post(kernel_id, action)))


def routes(server: Any) -> list[tuple[Any, ...]]:
    return [
        (url_path_join(server.base_url, "/api/sessions"), StartNotebook),
        (url_path_join(server.base_url, "/api/kernels"), StartKernel),
        (
            url_path_join(server.base_url, rf"/api/kernels/{_kernel_id_regex}/(?P<action>restart|interrupt)"),
            ActOnKernel,
        ),
    ]
