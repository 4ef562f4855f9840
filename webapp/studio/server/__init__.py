"""The Studio's extension of the Jupyter server: its own pages, and pages that compute."""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "studio.server"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Called by jupyter_server with its ServerApp."""
    from .routes import add_routes

    add_routes(server)
