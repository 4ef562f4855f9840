"""Notebooks in Lab: their kernels get the place that was kept for them, or Lab hears in words why there is none."""

from __future__ import annotations

from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.services.sessions.handlers import SessionRootHandler
from jupyter_server.services.sessions.sessionmanager import SessionManager
from jupyter_server.utils import url_path_join
from tornado import web

from studio import i18n
from studio.compute.provisioner import NoSession
from studio.compute.room import WaitingRoom


class NotebookSessions(SessionManager):
    """Jupyter's list of open notebooks. A kernel that it starts brings the ticket of its notebook, if there is one."""

    def get_kernel_env(self, path: str | None, name: Any = None) -> dict[str, str]:
        env: dict[str, str] = super().get_kernel_env(path, name)
        assert self.parent is not None  # the server
        room: WaitingRoom = self.parent.web_app.settings["studio_room"]
        ticket = room.ticket(env["JPY_SESSION_NAME"])
        return {**env, "SAMPAN_TICKET": ticket} if ticket else env


class StartNotebook(SessionRootHandler):
    """POST /api/sessions. Jupyter's own makes a 500 of whatever stops a kernel from starting."""

    @web.authenticated
    async def post(self) -> None:
        try:
            await ensure_async(super().post())
        except web.HTTPError as error:
            if not isinstance(error.__cause__, NoSession):
                raise
            full = error.__cause__
            lang = i18n.negotiate(
                self.get_cookie(i18n.LANGUAGE_COOKIE), self.request.headers.get("Accept-Language", "")
            )
            sentence = full.sentence_zh if lang == "zh" else full.sentence
            raise web.HTTPError(503, sentence.replace("%", "%%"), reason=full.sentence) from full


def routes(server: Any) -> list[tuple[Any, ...]]:
    return [(url_path_join(server.base_url, "/api/sessions"), StartNotebook)]
