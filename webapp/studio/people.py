"""The user: the name under which leases, jobs and marks are stored."""

from __future__ import annotations

import getpass
import os


def me() -> str:
    """The learner's name under JupyterHub, else the user name on this machine."""
    return os.environ.get("JUPYTERHUB_USER") or getpass.getuser()


def is_admin() -> bool:
    """Whether this user may see and stop all sessions; in a personal Studio the user is the admin."""
    return not os.environ.get("JUPYTERHUB_USER")
