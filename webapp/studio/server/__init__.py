"""The Studio's extension of the Jupyter server: its own pages, and pages that compute."""

from __future__ import annotations

import asyncio
from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "studio.server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Called by jupyter_server with its ServerApp."""
    from .routes import add_routes

    add_routes(server)


async def _start_jupyter_server_extension(server: Any) -> None:
    """Called by jupyter_server once its loop runs."""
    settings = server.web_app.settings
    settings["studio_culling"] = asyncio.create_task(settings["studio_culler"].run())
