"""The Studio's extension of the Jupyter server: its own pages, and pages that compute."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

FIRST_PAGE_S = 5.0


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "studio.server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Called by jupyter_server with its ServerApp."""
    from .routes import add_routes

    add_routes(server)


async def _start_jupyter_server_extension(server: Any) -> None:
    """Called by jupyter_server once its loop runs."""
    settings = server.web_app.settings
    settings["studio_afterwards"] = asyncio.create_task(_afterwards(server.log))
    settings["studio_culling"] = asyncio.create_task(settings["studio_culler"].run())
    if "studio_competitions" in settings:  # submissions that an earlier server did not score
        settings["studio_competitions"].queue.wake()


async def _afterwards(log: Any) -> None:
    """Work that can wait until the Studio answers and the first page is served."""
    from studio.compute import cgroup

    try:
        await asyncio.to_thread(cgroup.sweep)
        await asyncio.sleep(FIRST_PAGE_S)
        # Imports that take seconds; otherwise the first page of a class or the first check would wait for them.
        await asyncio.to_thread(importlib.import_module, "nbgrader.api")
    except Exception:  # the Studio runs without it
        log.exception("The work after the Studio's start failed")
