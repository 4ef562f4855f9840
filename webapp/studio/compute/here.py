"""This workspace's store of leases and its state folder, one of each for a process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from sqlalchemy.engine import URL

from studio.paths import state_folder, workspace

from . import opening
from .lease import Store
from .remote import HttpStore
from .sql import SqlStore, open_store
from .zygote.client import Zygote


def state() -> Path:
    """The Studio's private folder in the workspace; created if missing."""
    folder = state_folder(workspace())
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def class_zygote() -> Zygote | None:
    """The warm process that root keeps for all members of the class of this process; None outside of a class."""
    folder = os.environ.get("SAMPAN_CLASS_WARM", "")
    return Zygote(Path(folder)) if folder else None


def zygote() -> Zygote:
    """The warm process to ask for forks: the class's, else the own one."""
    return class_zygote() or Zygote(state())


def store() -> Store:
    """The store that this process uses, opened at the first call: that of the class for a learner's server under
    JupyterHub, else the workspace's."""
    service, token = os.environ.get("SAMPAN_CLASS_SERVICE", ""), os.environ.get("JUPYTERHUB_API_TOKEN", "")
    return HttpStore(service, token) if service and token else _opened(opening.address(None))


@cache
def _opened(address: URL) -> SqlStore:
    return open_store(address.render_as_string(hide_password=False))
