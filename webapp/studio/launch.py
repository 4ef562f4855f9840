"""Starts the Studio: one Jupyter server with JupyterLab, the pages and the Studio's extension, one token."""

from __future__ import annotations

import json
import os
import secrets
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout
from traitlets.config import Config

from . import runtime
from .backup import states
from .free_port import is_free
from .paths import DEFAULT, FORMER, JUPYTER_SHARE, checkout, state_folder, workspace
from .trouble import Trouble, trouble

HOST = "127.0.0.1"
DEFAULT_PORT = 8866
START_WAIT_S = 60  # how long a second `sampan studio` waits while a first one is starting
ANSWER_S = 20.0  # how long it waits for the first answer of one that has just started, on a busy machine
# With tornado 6.6 (timeout <= interval) jupyter_server counts every pong as late and closes a working connection each
# minute, in the middle of a training run. On one machine TCP detects closed connections.
NO_PINGS = {"ws_ping_interval": 0}
# No page may use these devices, but the microphone where server/pages.py allows it.
NO_DEVICES = {"Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=()"}
# Parts of JupyterLab that request servers which do not exist here, or the internet; and a developer tool.
LAB_WITHOUT = (
    "@jupyterlab/lsp-extension",
    "@jupyterlab/fileeditor-extension:language-server",
    "@jupyterlab/notebook-extension:language-server",
    "@jupyterlab/extensionmanager-extension",
    "@jupyterlab/apputils-extension:announcements",
    "jupyterlab-jupytext",
    *(
        f"@jupyter/nbgrader:{name}"
        for name in (
            "assignment-list",
            "course-list",
            "create-assignment",
            "formgrader",
            "menu",
            "validate-assignment",
        )
    ),
)


def launch(port: int | None, browser: bool) -> int:
    """Run the Studio until it is stopped; returns the exit status.

    Without `port`: if a Studio of the same workspace already runs, its address is printed instead of starting
    another, and a port in use is skipped. With `port`: exactly that one, or a message with the reason.
    """
    home = workspace()
    try:
        state = state_folder(home)
        state.mkdir(parents=True, exist_ok=True)
        state.chmod(0o700)
        states.settle(state)
    except (OSError, ValueError) as error:
        return _fail(f"The workspace cannot be used: {error}")
    print(about_former(home), end="", flush=True)

    # two starts at the same moment: the second one waits, then checks
    lock = FileLock(state / "starting.lock")
    try:
        lock.acquire(timeout=START_WAIT_S)
    except Timeout:
        return _fail(f"Another Studio has been starting for over {START_WAIT_S} s. See its terminal.")
    try:
        running = runtime.find(state)
        if port is None and running is not None:
            return _point_at(running, browser)
        if port is not None and not is_free(HOST, port):
            return _fail(_taken(port, running))
        return _serve(home, state, port, browser, started=lock.release)
    finally:
        lock.release()


def _serve(home: Path, state: Path, port: int | None, browser: bool, started: Callable[[], None]) -> int:
    jupyter_folders(state)
    from . import lean  # noqa: F401  before any import of nbformat
    from .server.app import PersonalServer  # after the folders are set: Jupyter reads them while importing

    settings = base(home)
    settings.merge(alone(port, secrets.token_urlsafe(24), browser and has_browser()))
    app = PersonalServer.instance(config=settings, state=state, on_started=started)
    try:
        app.initialize(argv=[], find_extensions=False)
    except (
        Exception
    ) as error:  # an extension that failed: a Studio without its pages must not say that it is ready
        app.log.debug("the start failed", exc_info=True)
        return _fail(_not_started(error, home))
    app.start()
    return 0


_ADVICE: dict[Trouble | None, str] = {
    "full": "The disk that holds {home} is full. Free some space, then start again.",
    "locked": "Another program has locked the database in {home}. Close it, then start again.",
    "read_only": "{home} cannot be written to. Choose another workspace with SAMPAN_HOME.",
}


def _not_started(error: Exception, home: Path) -> str:
    advice = _ADVICE.get(trouble(error), "").format(home=home)
    return f"The Studio could not start. {advice or f'{type(error).__name__}: {error}'}"


def alone(port: int | None, token: str, open_browser: bool) -> Config:
    """What a personal Studio adds to `base`: the address, and a login by token."""
    c = Config()
    server = c.ServerApp
    server.ip = HOST
    server.port = DEFAULT_PORT if port is None else port
    server.port_retries = 50 if port is None else 0
    server.open_browser = open_browser
    server.allow_root = True  # a container often has only root; it listens on 127.0.0.1 only
    server.tornado_settings = {
        **NO_PINGS,
        "headers": dict(NO_DEVICES),
        "xsrf_cookie_kwargs": {"samesite": "Strict"},
    }
    c.IdentityProvider.token = token
    c.IdentityProvider.cookie_options = {"samesite": "Strict"}
    c.IdentityProvider.login_handler_class = "studio.server.base.LoginHandler"
    return c


def base(home: Path) -> Config:
    """The Studio's settings in Jupyter, whoever logs its visitors in."""
    c = Config()
    server = c.ServerApp
    server.root_dir = str(home)
    server.default_url = "/studio"
    server.tornado_settings = {**NO_PINGS, "headers": dict(NO_DEVICES)}
    server.allow_unauthenticated_access = False
    server.answer_yes = True  # one Ctrl-C stops it: notebooks are saved, kernels are shut down
    c.Application.log_level = "WARN"
    server.terminals_enabled = False
    server.static_immutable_cache = ["/voila/kept/"]  # see server/frontend.py
    # Exactly these. jupyter_server loads no others (find_extensions=False).
    server.jpserver_extensions = {"jupyterlab": True, "studio.server": True}
    server.reraise_server_extension_failures = True  # if one of them fails, the start fails

    # JupyterLab computes its defaults when it is imported, which may be before the account is known.
    lab = state_folder(home) / "jupyter" / "config" / "lab"
    c.LabApp.user_settings_dir = str(lab / "user-settings")
    c.LabApp.workspaces_dir = str(lab / "workspaces")
    c.LabApp.news_url = None
    c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
    c.LabApp.extension_manager = "readonly"

    server.session_manager_class = "studio.server.notebooks.NotebookSessions"
    server.kernel_spec_manager_class = "studio.server.kernels.StudioKernels"
    c.KernelSpecManager.ensure_native_kernel = False
    c.KernelSpecManager.allowed_kernelspecs = {"sampan"}
    c.MultiKernelManager.default_kernel_name = "sampan"
    c.AsyncIOLoopKernelManager.restarter_class = "studio.server.kernels.Restarter"
    c.KernelManager.transport_encryption = "auto"  # other users of the machine cannot connect to a kernel
    c.MappingKernelManager.cull_idle_timeout = 0  # compute/culling.py warns before it culls
    return c


def jupyter_folders(state: Path) -> None:
    """The Studio's own Jupyter folders, so that other installations of this user do not affect it."""
    for name in ("config", "data", "runtime"):
        folder = state / "jupyter" / name
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[f"JUPYTER_{name.upper()}_DIR"] = str(folder)
    lab = state / "jupyter" / "config" / "labconfig"
    lab.mkdir(exist_ok=True)
    without = json.dumps({"disabledExtensions": dict.fromkeys(LAB_WITHOUT, True)})
    runtime.write_atomically(lab / "page_config.json", without.encode())
    os.environ["JUPYTER_PATH"] = str(JUPYTER_SHARE)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"


def has_browser() -> bool:
    """Whether a browser window can be opened: not on a machine without a screen."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def about_former(home: Path) -> str:
    """The message about the folder that earlier versions used as the workspace, or ""."""
    former = Path.home() / FORMER
    if os.environ.get("SAMPAN_HOME") or not state_folder(former).is_dir():
        return ""
    if home == former:
        return f"\n  The workspace is {former}, as before. (New ones are made in ~/{DEFAULT}.)\n"
    if checkout(former) is not None:
        return (
            f"\n  {former} is a checkout of Sampan and no longer the workspace, which is {home}.\n"
            f"  Data of the earlier version are still in {state_folder(former)} and {former / 'notebooks'}.\n"
        )
    return ""


def _taken(port: int, running: runtime.Running | None) -> str:
    if running is not None and running.port == port:
        return f"Port {port} is in use by a Studio that is already running:\n\n    {running.address}\n"
    if port < 1024 and os.name == "posix" and os.geteuid() != 0:
        return f"Port {port} is reserved for the system. Choose one above 1023: sampan studio --port {DEFAULT_PORT}"
    return (
        f"Port {port} is in use by another program. Choose another one with --port, "
        "or leave --port out: the Studio then takes the next free one."
    )


def _point_at(running: runtime.Running, browser: bool) -> int:
    if not running.answers(ANSWER_S):
        return _fail(
            f"A Studio runs as process {running.pid} on port {running.port}, but does not answer. "
            f"Stop it (kill {running.pid}), or start a second one with --port."
        )
    print(f"\n  The Studio is already running:\n\n    {running.address}\n", flush=True)
    if browser and has_browser():
        webbrowser.open(running.address)
    return 0


def _fail(message: str) -> int:
    print(message, file=sys.stderr, flush=True)
    return 1
