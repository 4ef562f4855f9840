"""The warm process of a class: who gets a fork of which account, and what members can try against it. Run by root.

The tests create no accounts: two that every Linux has are used as members of the class, `nobody` (ADA) and `daemon` (BOB).
`acting` runs a function in a child process with the account of one of them.
"""

from __future__ import annotations

import array
import asyncio
import json
import os
import pwd
import secrets
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from studio.compute.zygote import client as zygote_client
from studio.compute.zygote import gate
from studio.compute.zygote.client import SOCKET, NotReady, Zygote, ask
from studio.compute.zygote.gate import Gate
from studio.compute.zygote.spawn import Spawn
from tests.webapp.compute.test_zygote import WAIT_S, Nest, until
from tests.webapp.running import memory_of

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux, and root"),
]
ADA, BOB = (pwd.getpwnam(name).pw_uid for name in ("nobody", "daemon"))
STRANGER = 54321
# What a process can do and sees. Only modules that the warm process has: an account may not be able to read the interpreter's.
TELL = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
try:
    os.setuid(0)
except PermissionError:
    back = False
files = [f for f in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{f}")]
mask = os.umask(0)
print(json.dumps({
    "ids": [*os.getresuid(), *os.getresgid()], "groups": os.getgroups(), "back": back, "mask": mask, "files": files,
    "rights": [status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs")],
    "owner": os.stat("/proc/self/status").st_uid, "env": dict(os.environ), "leads": os.getsid(0) == os.getpid()}))
"""


class ClassNest(Nest):
    """A class's warm process. All accounts may enter its folder; only root may list it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.zygote = Zygote(folder, members=(ADA, BOB))
        for closed in (folder, *folder.parents[:3]):
            closed.chmod(closed.stat().st_mode | 0o111)
        self.shared = folder / "open"
        self.shared.mkdir()
        self.shared.chmod(0o1777)

    def request(self, source: str, name: str, **fields: Any) -> Spawn:
        script = self.shared / f"{name}.py"
        script.write_text(source)
        script.chmod(0o644)
        return Spawn(
            "script", [str(script)], {"MINE": name}, "/", output=self.shared / f"{name}.out", **fields
        )

    def output(self, name: str = "") -> str:
        return (self.shared / f"{name}.out").read_text()

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(WAIT_S)
        connection.connect(str(self.folder / SOCKET))
        return connection

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.warm()}/fd"))


@pytest.fixture
def nest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClassNest]:
    monkeypatch.setattr(zygote_client, "WARM", ("json", "pkgutil"))
    monkeypatch.setattr(zygote_client, "_PAUSE_S", 0)
    made = ClassNest(tmp_path)
    made.warm()
    yield made
    made.close()


def acting(uid: int, act: Callable[[], Any]) -> Any:
    """What `act` returns in a process of that account, as JSON; an exception as its text."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        try:
            told = act()
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = json.loads(pipe.read())
    os.waitpid(pid, 0)
    return told


def run(nest: ClassNest, request: Spawn) -> int:
    return ask(nest.connect(), request).wait(WAIT_S)


def sent(nest: ClassNest, message: bytes, descriptors: list[int]) -> str:
    """The answer to a raw message; "" if the other side hung up."""
    with nest.connect() as connection:
        enclosed = (
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        )
        connection.sendmsg([message], enclosed)
        return connection.recv(1 << 16).decode()


def test_a_fork_has_the_account_of_who_asked_and_nothing_of_root(nest: ClassNest) -> None:
    for uid, name in ((ADA, "ada"), (BOB, "bob")):
        request = nest.request(TELL, name)
        assert acting(uid, partial(run, nest, request)) == 0
        told = json.loads(nest.output(name))
        person = pwd.getpwuid(uid)
        assert told["ids"] == [uid] * 3 + [person.pw_gid] * 3 and told["owner"] == uid
        assert set(told["groups"]) == set(os.getgrouplist(person.pw_name, person.pw_gid)) and not told["back"]
        assert told["rights"] == ["0" * 16] * 4 + ["1"] and told["mask"] == 0o077 and told["leads"]
        assert told["files"][:3] == [0, 1, 2] and len(told["files"]) == 4  # the fourth is its lifeline
        assert told["env"] == {"MINE": name}
    assert stat.S_IMODE((nest.folder / "zygote.lock").stat().st_mode) == 0o600  # else a member could lock it


@pytest.mark.parametrize("account", [0, BOB, ADA, -1])
def test_a_member_cannot_name_an_account(nest: ClassNest, account: int) -> None:
    request = nest.request(TELL, "other", account=account)
    told = acting(ADA, partial(run, nest, request))
    assert "PermissionError: only root may name an account" in told


def test_a_stranger_is_turned_away(nest: ClassNest) -> None:
    assert acting(STRANGER, lambda: len(nest.connect().recv(100))) == 0


def test_root_starts_a_server_for_a_member_and_for_nobody_else(nest: ClassNest) -> None:
    child = ask(nest.connect(), nest.request(TELL, "server", account=BOB, tied=False))
    assert child.wait(WAIT_S) == 0
    assert json.loads(nest.output("server"))["ids"][:3] == [BOB] * 3
    for account in (None, 0, STRANGER):
        with pytest.raises(OSError, match="is not one of the class"):
            ask(nest.connect(), nest.request(TELL, "wrong", account=account))


def test_a_server_outlives_the_hub(nest: ClassNest) -> None:
    source = "import time; time.sleep(600)"
    hub = os.fork()
    if hub == 0:
        child = ask(nest.connect(), nest.request(source, "server", account=BOB, tied=False))
        (nest.folder / "pid").write_text(str(child.pid))
        os._exit(0)
    os.waitpid(hub, 0)
    server = psutil.Process(int((nest.folder / "pid").read_text()))
    until(lambda: True if server.status() == psutil.STATUS_SLEEPING else None, "its program")
    assert server.uids().real == BOB
    server.kill()
    until(lambda: None if psutil.pid_exists(server.pid) else True, "the warm process reaps it")


def test_what_one_fork_is_given_is_in_no_other(nest: ClassNest) -> None:
    """The warm process itself never reads a request: a server's token is not in the memory that all forks share."""
    token = secrets.token_hex(16)
    request = nest.request("import time; time.sleep(600)", "server", account=ADA)
    child = ask(nest.connect(), Spawn(**{**vars(request), "env": {"JUPYTERHUB_API_TOKEN": token}}))
    nest.children.append(child)
    assert token.encode() in memory_of(child.pid)
    assert token.encode() not in memory_of(nest.warm())


def test_malformed_requests_harm_nobody(nest: ClassNest) -> None:
    pid, files = nest.warm(), nest.files()
    good = nest.request("pass", "good").encode()
    outputs = [1, 2]

    def attack() -> list[str]:
        attacks = [
            b"\xff\xfe",
            b"{}",
            b"[" * 100_000,
            b"3",
            b'{"limits": 3}',
            good[:-5],
            b'{"limits": null, "x": 1}',
        ]
        answers = [sent(nest, message, outputs) for message in attacks]
        for descriptors in ([], [1], [1, 2, *[0] * 100]):
            answers.append(sent(nest, good, descriptors))
        return answers

    *errors, crowded = acting(ADA, attack)
    assert all(answer.startswith('{"error"') for answer in errors), errors
    assert crowded.startswith('{"ready"')  # the others were never received
    assert nest.warm() == pid
    until(lambda: True if nest.files() == files else None, "its files closed")
    assert acting(BOB, partial(run, nest, nest.request("pass", "after"))) == 0


def test_a_flood_of_one_member_leaves_the_others_their_forks(nest: ClassNest) -> None:
    pid, files = nest.warm(), nest.files()
    sleep = nest.request("import time; time.sleep(600)", "sleep")
    hello = nest.request("pass", "hello")

    def flood() -> list[int]:
        silent = [nest.connect() for _ in range(2 * gate.MOST)]
        open_ones = sum(not _hung_up(connection) for connection in silent)
        for connection in silent:
            connection.close()
        time.sleep(0.2)
        started = []
        for _ in range(2 * gate.MOST):
            try:
                started.append(ask(nest.connect(), sleep))
            except NotReady:
                break
        (nest.shared / "flooded").touch()
        until(lambda: True if (nest.shared / "served").exists() else None, "the other member is served")
        return [open_ones, len(started)]

    counts = nest.folder / "counts"
    flooder = os.fork()
    if flooder == 0:
        counts.write_text(json.dumps(acting(ADA, flood)))
        os._exit(0)
    until(lambda: True if (nest.shared / "flooded").exists() or counts.exists() else None, "the flood")
    assert not counts.exists(), counts.read_text()  # why the flooder ended
    assert acting(BOB, partial(run, nest, hello)) == 0
    (nest.shared / "served").touch()
    os.waitpid(flooder, 0)
    open_ones, started = json.loads(counts.read_text())
    assert open_ones == gate.MOST and 0 < started <= gate.MOST
    until(lambda: True if nest.files() == files else None, "all forks of the flood ended with it")
    assert nest.warm() == pid and not psutil.Process(pid).children()  # no zombies either


def _hung_up(connection: socket.socket) -> bool:
    connection.settimeout(0.05)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False


def test_a_member_ends_or_stops_an_own_fork_only(nest: ClassNest) -> None:
    sleep = nest.request("import time; time.sleep(600)", "sleep")
    theirs = ask(nest.connect(), nest.request("import time; time.sleep(600)", "theirs", account=BOB))
    nest.children.append(theirs)
    warm = nest.warm()

    def attack() -> list[Any]:
        killed = ask(nest.connect(), sleep)
        os.kill(killed.pid, signal.SIGKILL)
        stopped = ask(nest.connect(), sleep)
        os.kill(stopped.pid, signal.SIGSTOP)
        refused = []
        for pid in (theirs.pid, warm):
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                refused.append(pid)
        return [killed.wait(WAIT_S), refused]

    assert acting(ADA, attack) == [-signal.SIGKILL, [theirs.pid, warm]]
    assert theirs.poll() is None and nest.warm() == warm
    until(lambda: True if len(psutil.Process(warm).children()) == 1 else None, "the stopped one ended too")


def test_without_root_there_is_no_class(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="cannot have the account 0"):
        from studio.compute.zygote import account

        account.become(0)
    told = acting(ADA, lambda: asyncio.run(_never_ready(tmp_path)))
    assert "NotReady" in told


async def _never_ready(folder: Path) -> None:
    await Zygote(folder).spawn(Spawn("script", ["x"], {}, "/"))


def test_starts_come_back_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    door = Gate(frozenset({ADA}))
    assert sum(door.may_start(ADA) for _ in range(200)) == gate.BURST
    now[0] += 3 * gate.EACH_S
    assert sum(door.may_start(ADA) for _ in range(200)) == 3
    assert all(door.may_start(os.geteuid()) for _ in range(200))
    assert door.enter(ADA) and not door.enter(BOB)
