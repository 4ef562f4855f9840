"""The warm process of a class: root keeps it, beside the Hub, and it forks the servers and the kernels of all members. What they
import is in memory once.

It is started with a clean environment and without the Hub's secrets; see `compute/zygote/server.py` for who gets what.
"""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from contextlib import contextmanager

from studio.compute.zygote.client import Zygote
from studio.paths import JUPYTER_SHARE

from . import roster
from .settings import Settings, shared

READY_S = 120  # its imports, on a busy machine; then the class starts without it
NOWHERE = "/nonexistent"
# A server's imports, beside those of a kernel. `lean` before any import of nbformat.
SERVER = (
    *("studio.lean", "studio.hub.singleuser", "studio.server.app", "studio.server.routes"),
    *("jupyterlab.labapp", "jupyterhub.singleuser.extension", "voila.app", "nbgrader.api"),
)


def members(settings: Settings) -> list[int]:
    """The accounts of everyone in the roster."""
    return [pwd.getpwnam(person.name).pw_uid for person in roster.load(settings.folder.roster)]


@contextmanager
def kept(settings: Settings) -> Iterator[None]:
    """Keep it while the block runs, which begins when it is ready."""
    environment = {
        **shared(settings.accounts),
        # What imported modules keep of these must not be root's: a server sets its own before it uses them.
        **dict.fromkeys(("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"), NOWHERE),
        **{"JUPYTER_PATH": str(JUPYTER_SHARE), "JUPYTER_PREFER_ENV_PATH": "1"},
    }
    zygote = Zygote(settings.folder.warm, SERVER, environment, members(settings))
    with zygote.kept():
        if not zygote.await_ready(READY_S):
            print(
                f"The warm process is not ready; see {settings.folder.warm / 'zygote.log'}. Servers start without it, slowly.",
                flush=True,
            )
        yield
