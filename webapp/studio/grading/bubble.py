"""The sandbox around the process that runs learners' code: bubblewrap's command line, and whether it works here.

Imports neither the library nor torch: the server imports this file too.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from studio import library, paths
from studio.environment import ONE_THREAD

from .isolation import WORK

SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
LEARNER = 1000  # inside; outside it is the user who grades, or for root:
NOBODY_ELSE = 64_000  # an account that owns nothing, because process limits do not apply to root
PROBE_SECONDS = 30.0
TRUST = "SAMPAN_TRUST_LEARNERS"
Text = tuple[str, str]  # English, Chinese


def trusted() -> bool:
    """Whether learners' code may run without a sandbox, by the setting of this user."""
    return os.environ.get(TRUST, "") == "1"


def refusal(reason: Text) -> Text:
    """Why nothing is graded without a sandbox, and what to do."""
    return (
        f"no sandbox, so nothing is graded: {reason[0]}. To grade without one, with all your rights given to the "
        f"notebook's code, use --trust-learners or set {TRUST}=1",
        f"没有沙箱，因此不评分：{reason[1]}。若要不用沙箱评分（笔记本的代码将拥有你的全部权限），请使用 "
        f"--trust-learners 或设置 {TRUST}=1",
    )


def command(program: list[str]) -> list[str]:
    """`program` inside bubblewrap: own namespaces, a read-only system, no network, a cleared environment.

    It sees the interpreter, the library, the Studio's code and the open data; not the course with its checks, the
    repository, the workspace, or any home folder. It needs no account of its own; started by root, it changes to
    one that owns nothing. User namespaces stay allowed once: each submission creates its own (`isolation.py`) and
    then disables them.
    """
    seen = _needed()
    inner = ["bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]
    inner += [f"--unshare-{kind}" for kind in ("user", "pid", "net", "ipc", "uts", "cgroup")]
    inner += ["--uid", str(LEARNER), "--gid", str(LEARNER), "--ro-bind", "/usr", "/usr"]
    for name in SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            inner += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            inner += ["--ro-bind", str(path), str(path)]
    for name in SETTINGS:
        inner += ["--ro-bind-try", name, name]
    for path in seen:
        inner += ["--ro-bind", str(path), str(path)]
    for path in _hidden(seen):
        inner += ["--tmpfs", str(path), "--remount-ro", str(path)]
    inner += ["--tmpfs", str(WORK), "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    if not any(path.is_relative_to("/tmp") for path in seen):
        inner += ["--symlink", str(WORK / "tmp"), "/tmp"]
    inner += ["--clearenv", *_environment(), "--remount-ro", "/", "--chdir", "/", "--", *program]
    return [*_as_nobody_else(seen), *inner] if os.geteuid() == 0 else inner


def _needed() -> list[Path]:
    """Folders that a learner's process reads, without folders inside others of them."""
    interpreter = Path(sys.executable).resolve().parents[1]
    found = {Path(sys.prefix), Path(sys.base_prefix), interpreter, paths.PACKAGE, library.folder()}
    found |= {folder for folder in data_folders() if folder.is_dir()}
    return sorted(
        path
        for path in found
        if not path.is_relative_to("/usr")
        and not any(path != other and path.is_relative_to(other) for other in found)
    )


def data_folders() -> list[Path]:
    """The folders of open data, as the library finds them."""
    folders: list[Path] = library.load("datasets/places.py").folders()
    return folders


def _hidden(seen: Iterable[Path]) -> list[Path]:
    """Private folders inside the visible ones, for example if the environment is the root of the repository."""
    private = (paths.NOTEBOOKS, paths.NOTEBOOKS.parent / ".git", paths.workspace())
    return [path for path in private if path.is_dir() and any(path.is_relative_to(one) for one in seen)]


def _as_nobody_else(seen: Iterable[Path]) -> list[str]:
    """For root: the same command as an account that owns nothing; folders on the path that it may not enter are
    replaced."""
    opened: list[str] = []
    made: set[Path] = set()
    for path in seen:
        closed = next((one for one in reversed(path.parents) if not one.stat().st_mode & 0o001), None)
        if closed is None:
            continue
        if closed not in made:
            opened += ["--tmpfs", str(closed)]
            made.add(closed)
        for between in reversed(path.parents):
            if between.is_relative_to(closed) and between not in made:
                opened += ["--dir", str(between)]
                made.add(between)
        opened += ["--ro-bind", str(path), str(path)]
    return [
        *("bwrap", "--die-with-parent", "--dev-bind", "/", "/", *opened),
        *(
            "--cap-drop",
            "ALL",
            "--cap-add",
            "CAP_SETUID",
            "--cap-add",
            "CAP_SETGID",
            "--cap-add",
            "CAP_SETPCAP",
        ),
        *("--", "setpriv", f"--reuid={NOBODY_ELSE}", f"--regid={NOBODY_ELSE}", "--clear-groups"),
        *("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"),
    ]


def environment() -> dict[str, str]:
    """The complete environment of a learner's code."""
    packages = (library.folder().parent, paths.PACKAGE.parent)
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(WORK),
        "USER": "learner",
        "LANG": "C.UTF-8",
        "TMPDIR": str(WORK / "tmp"),
        "IPYTHONDIR": str(WORK / ".ipython"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "studio.grading.kernel_cache.ReadOnly,IPythonCacheLocator",
        "PLOTLY_RENDERER": "json",  # a figure shown by a cell opens no browser here
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": ":".join(map(str, packages)),
        "SAMPAN_DATA": ":".join(map(str, data_folders())),
        **ONE_THREAD,
    }


def _environment() -> list[str]:
    return [word for name, value in environment().items() for word in ("--setenv", name, value)]


@functools.cache
def available() -> Text | None:
    """None if learners' code can be sandboxed, else the reason in both languages. Tested once by a real start (0.3
    s)."""
    if sys.platform != "linux":
        return "the sandbox needs Linux", "沙箱需要 Linux"
    for program, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            return (
                f"{package} is missing; install it with: sudo apt-get install {package}",
                f"缺少 {package}；请安装：sudo apt-get install {package}",
            )
    try:
        import pyseccomp  # noqa: F401  tests whether it loads
    except (ImportError, RuntimeError, OSError):
        return (
            "libseccomp is missing; install it with: sudo apt-get install libseccomp2",
            "缺少 libseccomp；请安装：sudo apt-get install libseccomp2",
        )
    try:
        tried = subprocess.run(
            command([sys.executable, "-m", "studio.grading.isolation"]),
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return (
            f"the sandbox did not start within {PROBE_SECONDS:g} s",
            f"沙箱在 {PROBE_SECONDS:g} 秒内没有启动",
        )
    if tried.returncode == 0:
        return None
    words = (tried.stderr.strip().splitlines() or [f"exit status {tried.returncode}"])[-1][:300]
    return (
        f"this machine does not let bubblewrap make namespaces ({words})",
        f"本机不允许 bubblewrap 建立命名空间（{words}）",
    )
