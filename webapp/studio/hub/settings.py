"""All settings that the class mode makes in JupyterHub."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from studio.compute.settings import warm_kernels
from studio.identity import group
from studio.runtime import write_atomically

from . import front, roster
from .accounts import GRADER
from .folder import ClassFolder

# "system": the accounts of this machine, by PAM. "trial": everyone runs as the account that started the Hub.
Accounts = Literal["system", "trial"]
START_S = 120  # a learner's server imports JupyterLab and Voilà; thirty may start at the same moment
SERVICE_START_S = 300  # the Hub ends if the service does not answer by then
FILE = "serve.json"
CONFIG = "jupyterhub_config.py"  # which JupyterHub executes: it only calls `configure`
CONFIG_TEXT = """from studio.hub import settings

settings.configure(get_config(), settings.load({root!r}))
"""
PROXY_PID = "proxy.pid"
DATABASE = "jupyterhub.sqlite"
SHARED = (
    *("PYTHONPATH", "SAMPAN_DATA", "SAMPAN_UPLOAD_GIB", "SAMPAN_WARM_KERNELS"),
    *("SAMPAN_CPU_SLOTS", "SAMPAN_SIMULATED_GPUS", "SAMPAN_THREADS"),
    *("SAMPAN_CPU_HOURS", "SAMPAN_GPU_HOURS", "SAMPAN_LONGEST_HOURS"),
    *("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


@dataclass(frozen=True)
class Settings:
    """How a class is served. `address` is where browsers connect; the ports are for programs on this machine."""

    root: str
    accounts: Accounts
    address: str  # http://127.0.0.1:8000
    hub_port: int
    proxy_port: int
    service_port: int
    proxy: str  # the program
    certificate: str = ""
    key: str = ""
    subdomains: str = ""  # https://class.example.org: each learner's server at an origin of its own
    learners_password: str = ""  # of a trial
    teachers_password: str = ""

    @property
    def folder(self) -> ClassFolder:
        return ClassFolder(Path(self.root))

    def save(self) -> None:
        """Into the Hub's folder, with JupyterHub's configuration file."""
        write_atomically(self.folder.hub / FILE, json.dumps(asdict(self), indent=1).encode())
        write_atomically(self.folder.hub / CONFIG, CONFIG_TEXT.format(root=self.root).encode())


def load(root: Path | str) -> Settings:
    return Settings(**json.loads((ClassFolder(Path(root)).hub / FILE).read_text("utf-8")))


def configure(c: Any, settings: Settings) -> None:
    """Fill JupyterHub's configuration `c`."""
    folder = settings.folder
    people = roster.load(folder.roster)
    _hub(c, settings)
    _people(c, settings, people)
    _servers(c, settings)
    c.JupyterHub.services = [
        {
            "name": folder.service,
            "url": f"http://127.0.0.1:{settings.service_port}",
            "command": [sys.executable, "-m", "studio.hub.service"],
            "environment": {
                **shared(settings.accounts),
                "SAMPAN_HOME": str(folder.grading),
                "SAMPAN_CLASS": folder.name,
                "SAMPAN_CLASS_ACCOUNTS": settings.accounts,
            },
            "oauth_no_confirm": True,  # it belongs to the class as the pages of the Studio do
            "timeout": SERVICE_START_S,
            "cwd": str(folder.grading),
            **({"user": GRADER} if settings.accounts == "system" else {}),
        }
    ]


def _hub(c: Any, settings: Settings) -> None:
    hub, private = c.JupyterHub, settings.folder.hub
    hub.bind_url = settings.address
    hub.hub_bind_url = f"http://127.0.0.1:{settings.hub_port}"
    hub.subdomain_host = settings.subdomains
    hub.ssl_cert, hub.ssl_key = settings.certificate, settings.key
    hub.db_url = f"sqlite:///{private / DATABASE}"
    hub.cookie_secret_file = str(private / "cookie_secret")
    hub.confirm_no_ssl = not settings.certificate
    hub.redirect_to_server = True
    hub.template_paths = [str(front.PAGES)]
    hub.template_vars = front.template_vars(
        group(settings.folder.name, "teacher"), _public(settings, f"/services/{settings.folder.service}/")
    )
    c.ConfigurableHTTPProxy.command = [settings.proxy]
    c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{settings.proxy_port}"
    c.ConfigurableHTTPProxy.pid_file = str(private / PROXY_PID)


def _people(c: Any, settings: Settings, people: list[roster.Person]) -> None:
    """Groups and roles. Nobody who is not in the roster can log in; a learner may enter the class's service and the own
    server, and nothing else."""
    name = settings.folder.name
    teachers, learners = group(name, "teacher"), group(name, "learner")
    c.JupyterHub.load_groups = {
        teachers: {"users": roster.named(people, "teacher")},
        learners: {"users": roster.named(people, "learner")},
    }
    c.JupyterHub.load_roles = [
        {
            "name": f"{settings.folder.service}-members",
            "description": f"Members of the class {name}",
            "scopes": [f"access:services!service={settings.folder.service}"],
            "groups": [teachers, learners],
        }
    ]
    admins = set(roster.named(people, "admin"))
    authenticator = c.Authenticator
    authenticator.allowed_users = {person.name for person in people}
    authenticator.allow_all = False
    authenticator.allow_existing_users = False  # nobody but the roster
    authenticator.any_allow_config = True
    if settings.accounts == "system":
        c.JupyterHub.authenticator_class = "pam"
        c.PAMAuthenticator.open_sessions = False  # a session of PAM is for a login on a terminal
    else:
        # One password for all learners; teachers have another, which JupyterHub has only for its administrators.
        c.JupyterHub.authenticator_class = "shared-password"
        c.SharedPasswordAuthenticator.user_password = settings.learners_password
        c.SharedPasswordAuthenticator.admin_password = settings.teachers_password
        admins |= set(roster.named(people, "teacher"))
    authenticator.admin_users = admins


def _servers(c: Any, settings: Settings) -> None:
    folder = settings.folder
    spawner = c.Spawner
    spawner.cmd = [sys.executable, "-m", "studio.hub.singleuser"]
    spawner.default_url = "/studio"
    spawner.start_timeout = spawner.http_timeout = START_S
    spawner.server_token_scopes = [
        "users:activity!user",
        "access:servers!server",
        f"access:services!service={folder.service}",
    ]
    prefix = f"/services/{folder.service}/"
    spawner.environment = {
        **shared(settings.accounts),
        "SAMPAN_CLASS": folder.name,
        "SAMPAN_CLASS_SERVICE": f"http://127.0.0.1:{settings.service_port}{prefix}",
        "SAMPAN_CLASS_ADDRESS": _public(settings, prefix),
        "SAMPAN_CLASS_RELEASED": str(folder.released),
    }
    if settings.accounts == "system":
        c.JupyterHub.spawner_class = "studio.hub.spawner.WarmSpawner"
        if warm_kernels():
            spawner.environment["SAMPAN_CLASS_WARM"] = str(folder.warm)
    else:
        c.JupyterHub.spawner_class = "simple"
        c.SimpleLocalProcessSpawner.home_dir_template = str(folder.root / "homes" / "{username}")


def _public(settings: Settings, prefix: str) -> str:
    """The service's address for browsers. With subdomains, services have an origin of their own."""
    if not settings.subdomains:
        return prefix
    scheme, _, host = settings.subdomains.partition("://")
    return f"{scheme}://services.{host}{prefix}"


def shared(kind: Accounts) -> dict[str, str]:
    """From the environment of the Hub: what every process needs, and no secret."""
    kept = {name: os.environ[name] for name in SHARED if name in os.environ}
    if kind == "system":
        # Accounts that do not own the library's compiled kernels read them, and write none.
        kept["NUMBA_CACHE_LOCATOR_CLASSES"] = "studio.grading.kernel_cache.ReadOnly,IPythonCacheLocator"
    return kept
