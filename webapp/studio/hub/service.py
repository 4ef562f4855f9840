"""The grading service of a class, which the Hub starts as the grading account:

    python -m studio.hub.service

It answers learners' servers (`calls.py`), shows teachers the pages of `server/grading.py`, and everyone the competitions. It is not a Jupyter server:
no kernel, no file and no terminal can be reached through it.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import secrets
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from jupyter_server.base.handlers import FileFindHandler
from jupyter_server.utils import url_path_join
from jupyterhub.log import log_request
from jupyterhub.services.auth import HubOAuth
from jupyterhub.singleuser.extension import (
    JupyterHubAuthorizer,
    JupyterHubIdentityProvider,
    JupyterHubOAuthCallbackHandler,
)
from tornado import web
from tornado.httpserver import HTTPServer

from studio import lean  # noqa: F401  before any import of nbformat
from studio.compute.sql import open_store
from studio.course import Course
from studio.gradebook.submissions import MOST_BYTES
from studio.paths import STATIC, state_folder
from studio.server import admin, base, competitions, grading, home, journal
from studio.server.bodies import BoundedBodies
from studio.server.grading_release import MOST_UPLOADED

from . import calls, leases, sharing
from .desk import ServiceDesk, people_of
from .folder import ClassFolder

FORM_BYTES = 1 << 20  # what a form needs besides its file
MOST_BODY = MOST_UPLOADED + FORM_BYTES  # of a teacher's request; a learner sends one notebook


class NoPages:
    """The pages that compute are on learners' servers, not here."""

    def listed(self) -> list[Any]:
        return []

    def page(self, _name: str) -> None:
        return None


def application(desk: ServiceDesk, hub_auth: HubOAuth, prefix: str) -> web.Application:
    """`prefix` is the path of the service in the Hub, with a slash at the end."""
    provider = JupyterHubIdentityProvider(hub_auth=hub_auth)
    settings: dict[str, Any] = {
        "base_url": prefix,
        "identity_provider": provider,
        "authorizer": JupyterHubAuthorizer(identity_provider=provider),
        "cookie_secret": secrets.token_bytes(32),
        "login_url": hub_auth.login_url,
        "allow_remote_access": True,  # the Hub's proxy names the host
        "allow_unauthenticated_access": False,
        "xsrf_cookies": False,  # the identity provider checks, with the Hub's own tokens
        "log_function": log_request,  # it leaves tokens and codes out
        "headers": {"X-Content-Type-Options": "nosniff"},
        "server_root_dir": str(desk.folder.grading),
        "studio_pages": NoPages(),
        "studio_class": desk.folder.name,
        "studio_learners_body": MOST_BYTES + FORM_BYTES,
        "studio_hub": hub_auth.hub_host + hub_auth.hub_prefix + "user-redirect/studio",
        "studio_leave": hub_auth.hub_host + hub_auth.hub_prefix + "logout",
    }
    course = Course(desk.folder.course, desk.folder.grading)
    contests = competitions.Desk.at(desk.folder.grading, desk.folder.receipt_key)
    settings["studio_competitions"] = contests
    pages = [
        *grading.routes(desk.folder.grading, course),
        *competitions.routes(contests),
        *admin.routes(desk.folder.grading, "class", desk.store),
        ("/preferences", home.Preferences),
        ("/static/(.*)", FileFindHandler, {"path": [str(STATIC)]}),
        ("/health", home.Health),
        ("/(.*)", base.NotFound),
    ]
    table = [
        (url_path_join(prefix, "api") + path, *rest)
        for path, *rest in [*calls.routes(desk), *leases.routes(desk), *sharing.routes(desk)]
    ]
    table += [(url_path_join(prefix, "studio") + path + "/?", *rest) for path, *rest in pages]
    table += [
        (url_path_join(prefix, "oauth_callback"), JupyterHubOAuthCallbackHandler, {"hub_auth": hub_auth}),
        (
            prefix + "?",
            web.RedirectHandler,
            {"url": url_path_join(prefix, "studio/grading"), "permanent": False},
        ),
    ]
    return web.Application(table, **settings)


async def serve() -> None:
    folder = ClassFolder(Path(os.environ["SAMPAN_HOME"]).parent)
    address = urlparse(os.environ["JUPYTERHUB_SERVICE_URL"])
    os.environ.pop("JUPYTERHUB_USER", None)
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    with open_store() as store:
        desk = ServiceDesk(folder, store, workers=max(2, len(os.sched_getaffinity(0))))
        await asyncio.to_thread(desk.name_people, people_of(folder))
        hub_auth = HubOAuth()
        journal.keep(state_folder(folder.grading), [logging.getLogger()], [hub_auth.api_token])
        app = application(desk, hub_auth, os.environ["JUPYTERHUB_SERVICE_PREFIX"])
        server = HTTPServer(app, max_buffer_size=MOST_BODY, max_body_size=MOST_BODY)
        server.request_callback = BoundedBodies(app)
        server.listen(address.port or 80, address.hostname or "127.0.0.1")
        app.settings["studio_competitions"].queue.wake()  # what an earlier service did not score
        await desk.warm_up()
        grading_task = asyncio.create_task(desk.grade_for_ever(getpass.getuser()))
        await end.wait()
        server.stop()
        grading_task.cancel()
        await asyncio.wait([grading_task], timeout=10)
        await app.settings["studio_competitions"].queue.close()
        await desk.close()


def main() -> None:
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    asyncio.run(serve())


if __name__ == "__main__":
    main()
