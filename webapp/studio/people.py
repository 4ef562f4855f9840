"""Who is at work: the name that leases, jobs and marks stand under."""

from __future__ import annotations

import getpass
import os


def me() -> str:
    """The learner's name under JupyterHub, else this person's name on the machine."""
    return os.environ.get("JUPYTERHUB_USER") or getpass.getuser()


def is_admin() -> bool:
    """Whether everyone's sessions may be seen and stopped: on one's own Studio one is one's own admin."""
    return not os.environ.get("JUPYTERHUB_USER")
