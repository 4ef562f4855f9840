"""A real class for tests: `sampan class serve` with real accounts, started as root would start it."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
import requests

from studio.hub import settings
from studio.paths import NOTEBOOKS
from tests.webapp.running import free_port, memory_of

from . import namespace

NOTEBOOK = "00_orientation"
PEOPLE = """name;first_name;last_name;email;role
ada;Ada;Lovelace;ada@example.org;learner
bob;Bob;Müller;;learner
tia;Tia;张;;teacher
"""
START_S = 300


class Visitor:
    """A browser without scripts: cookies, redirects, and the value against forgery that forms carry."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.trust_env = False

    def log_in(self, name: str, password: str) -> requests.Response:
        self.get("/hub/login")
        return self.post("/hub/login", {"username": name, "password": password}, self.xsrf("/hub/"))

    def xsrf(self, path: str) -> str:
        return next((c.value or "" for c in self.session.cookies if c.name == "_xsrf" and c.path == path), "")

    def get(self, path: str, **options: Any) -> requests.Response:
        return self.session.get(self.url + path, timeout=60, **options)

    def post(self, path: str, data: dict[str, str], xsrf: str, **options: Any) -> requests.Response:
        return self.session.post(self.url + path, data={**data, "_xsrf": xsrf}, timeout=120, **options)

    def press(self, page: str, action: str, **values: str) -> requests.Response:
        """Open a page and send its form with that action, as its button does, with what was entered."""
        text = self.get(page).text
        form = re.search(
            rf'<form[^>]*action="{re.escape(action)}"[^>]*>\s*<input[^>]*name="_xsrf" value="([^"]*)"', text
        )
        assert form, f"{page} has no form for {action}"
        return self.post(action, values, form[1], allow_redirects=False)

    def open_studio(self, name: str) -> requests.Response:
        """The learner's own Studio, after waiting for the Hub to start it."""

        def opened() -> requests.Response | None:
            reply = self.get(f"/user/{name}/studio")
            if f"/hub/user/{name}" in reply.url:  # it does not run: 424
                self.get(f"/hub/spawn/{name}")
                return None
            return reply if reply.ok and reply.url == f"{self.url}/user/{name}/studio" else None

        return wait_for(opened, START_S)  # type: ignore[no-any-return]  # `wait_for` is not typed


@dataclass
class ClassHub:
    """A running `sampan class serve`."""

    process: subprocess.Popen[bytes]
    root: Path
    log: Path

    def answers(self) -> bool:
        """Whether the Hub and the grading service answer."""
        assert self.process.poll() is None, self.printed()[-3000:]
        try:
            service = requests.get(
                f"{self.url}/services/sampan-7b/studio/health", timeout=2, allow_redirects=False
            )
            return requests.get(f"{self.url}/hub/health", timeout=2).ok and service.status_code in (302, 403)
        except (OSError, requests.RequestException):
            return False

    def log_in(self, name: str, password: str) -> Visitor:
        visitor = Visitor(self.url)
        assert visitor.log_in(name, password).ok
        return visitor

    def printed(self) -> str:
        return self.log.read_text("utf-8", "replace")

    @cached_property
    def passwords(self) -> dict[str, str]:
        (table,) = self.root.glob("passwords-*.csv")
        with table.open(encoding="utf-8") as stream:
            return {row["name"]: row["first password"] for row in csv.DictReader(stream)}

    @property
    def settings(self) -> settings.Settings:
        return settings.load(self.root)

    @property
    def url(self) -> str:
        return self.settings.address

    def visitor(self, name: str) -> Visitor:
        return self.log_in(name, self.passwords[name])

    def token(self, name: str) -> str:
        """An API token of a person, with all that the person may do."""
        visitor = self.visitor(name)
        reply = visitor.session.post(
            f"{self.url}/hub/api/users/{name}/tokens",
            params={"_xsrf": visitor.xsrf("/hub/")},
            headers={"Referer": f"{self.url}/hub/token"},
            json={},
            timeout=60,
        )
        assert reply.status_code == 201, reply.text
        return str(reply.json()["token"])

    def program(self, module: str, user: str = "") -> psutil.Process:
        """The running program of that module, of that account."""

        def found() -> psutil.Process | None:
            for process in psutil.process_iter(["cmdline", "uids"]):
                ours = module in (process.info["cmdline"] or ()) and self._is_ours(process)
                with suppress(psutil.NoSuchProcess):  # it has just ended
                    if ours and user in ("", self._account(process)):
                        return process
            return None

        return wait_for(found, START_S)  # type: ignore[no-any-return]  # `wait_for` is not typed

    def variable(self, process: psutil.Process, name: str) -> str:
        """A variable of a process's environment. Of a fork, /proc shows that of the warm process: so from its memory."""
        found = re.search(rb"\0%s=([^\0]+)\0" % name.encode(), memory_of(process.pid))
        assert found, f"{process} has no {name}"
        return found[1].decode()

    def _account(self, process: psutil.Process) -> str:
        uid = process.uids().real
        return next((name for name in ("ada", "bob", "tia") if self.uid(name) == uid), "")

    def _is_ours(self, process: psutil.Process) -> bool:
        """By the mount namespace of the class: a fork outlives the warm process that it came from, and has no parent."""
        try:
            own, other = (os.stat(f"/proc/{pid}/ns/mnt").st_ino for pid in (self.process.pid, process.pid))
        except OSError:  # it has just ended
            return False
        return own == other

    def uid(self, user: str) -> int:
        lines = (self.root.parent / "etc" / "passwd").read_text("utf-8").splitlines()
        return next(int(line.split(":")[2]) for line in lines if line.startswith(f"{user}:"))

    def run_as(self, user: str, code: str) -> subprocess.CompletedProcess[str]:
        """Python code with the rights that a person's notebook has, beside the person's server."""
        inside = ["nsenter", "--target", str(self.process.pid), "--mount"]
        uid = str(self.uid(user))
        account = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
        command = [*inside, *account, sys.executable, "-c", code]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, cwd="/")

    def stop(self) -> None:
        """As Ctrl-C does; then nothing that it started is left."""
        below = (
            psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
        )
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(timeout=150)
        finally:
            left = psutil.wait_procs(below, timeout=60)[1]
            for process in left:
                process.kill()
        assert left == [], left


@contextmanager
def serving(trial: bool = False, people: str = PEOPLE) -> Iterator[ClassHub]:
    """A class while it is served, in a folder that every account may enter; nothing of it is left afterwards. `people` is
    its roster, CSV."""
    with tempfile.TemporaryDirectory(prefix="sampan-class-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        hub = start(place, trial, people)
        try:
            wait_for(hub.answers, START_S)
            yield hub
        finally:
            hub.stop()


def start(place: Path, trial: bool = False, people: str = PEOPLE) -> ClassHub:
    """Import the roster, make the accounts, and serve; or serve a trial from an account that is not root's."""
    course = place / "course-source"
    (course / "checks").mkdir(parents=True)
    course.chmod(0o700)
    for name in (f"{NOTEBOOK}.ipynb", f"checks/{NOTEBOOK}.py"):
        shutil.copyfile(NOTEBOOKS / name, course / name)
    (place / "people.csv").write_text(people, "utf-8")
    root = place / "7b"
    studio = f"{sys.executable} -m studio.cli class"
    roster = f"{studio} roster {root} {place}/people.csv"
    serve = f"exec {studio} serve {root} --course {course} --port {free_port()}"
    script = f"{roster} --create-accounts && {serve}"
    if trial:
        account = "setpriv --reuid=tim --regid=tim --clear-groups env HOME=/home/tim USER=tim"
        script = f"useradd --create-home tim && chown -R tim {course} && mkdir {root} && chown tim {root} {place}/people.csv"
        script += f" && exec {account} sh -c '{roster} && {serve} --trial'"
    log = place / "hub.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            namespace.command(place, ["sh", "-c", script]),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(_paths())},
        )
    return ClassHub(process, root, log)


def _paths() -> list[str]:
    return [str(namespace.ROOT / "lib"), str(namespace.ROOT / "webapp"), str(namespace.ROOT)]


def wait_for(found: Any, seconds: float = 60.0) -> Any:
    """What `found` gives as soon as that is true; asked every half second, because it asks over the network."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, f"still nothing after {seconds} s"
        time.sleep(0.5)
    return result
