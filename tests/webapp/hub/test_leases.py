"""The leases of a class over HTTP: a store at the service and learners' clients, without a Hub.

Who may call at all is tested with a real Hub in test_class.py. Here the name in the token is believed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tornado import web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from studio.compute import machine as machines
from studio.compute import remote
from studio.compute.lease import Ask, Holder, Impossible, Lease, OverQuota, Place, Store
from studio.compute.quota import Quota
from studio.compute.remote import Away, HttpStore
from studio.compute.sql import SqlStore
from studio.hub import leases
from studio.identity import User
from tests.webapp.compute.conftest import GIB, machine

Client = Callable[[str], HttpStore]
ME = machines.holder(os.getpid())


class Believing(leases.Leases):
    """Its user is named by the token; teachers are those named t..."""

    @property
    def user(self) -> User:
        name = self.request.headers["Authorization"].removeprefix("token ")
        return User(name, frozenset({"teacher"} if name.startswith("t") else {"learner"}))

    @property
    def teaches(self) -> bool:
        return self.user.teaches

    async def prepare(self) -> None:
        self.current_user = self.user.name

    def set_default_headers(self) -> None: ...


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    monkeypatch.setenv("SAMPAN_CLASS_ACCOUNTS", "trial")  # all processes are of this account
    with SqlStore(f"sqlite:///{tmp_path}/leases.sqlite3", machine(2), Quota(cpu=2.0)) as opened:
        yield opened


@pytest.fixture
def client(store: SqlStore) -> Iterator[Client]:
    """`client(name)`: the store as that learner's server sees it."""
    ready, loops = threading.Event(), []
    (listening,) = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
    names = "|".join(leases.ANSWERS)
    app = web.Application(
        [(f"/api/leases/(?P<name>{names})", Believing, {"desk": SimpleNamespace(store=store)})]
    )

    async def serve() -> None:
        end = asyncio.Event()
        loops.append((asyncio.get_running_loop(), end))
        server = HTTPServer(app)
        server.add_sockets([listening])
        ready.set()
        await end.wait()
        server.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    yield lambda name: HttpStore(f"http://127.0.0.1:{listening.getsockname()[1]}/", name)
    loop, end = loops[0]
    loop.call_soon_threadsafe(end.set)
    thread.join()


def ask(owner: str, **values: Any) -> Ask:
    return Ask(owner, "notebook", **{"title": f"{owner}.ipynb", "memory": GIB, "seconds": 600.0, **values})


def test_it_is_the_interface_and_gives_what_the_store_gives(store: SqlStore, client: Client) -> None:
    ada: Store = client("ada")
    lease = ada.take(ask("ada"), holder=ME)
    assert isinstance(lease, Lease) and store.leases() == [lease] == ada.leases("ada") == ada.leases()
    longer = ada.extend(lease.id, 600)
    assert longer.ends == lease.ends + 600 and store.leases() == [longer]
    assert ada.used("ada", 0.0) >= 0 and 0 < (ada.left("ada") or 0) <= 7200
    assert ada.machine.devices and ada.queue() == []
    ada.release(lease.id)
    ada.release(lease.id)  # nothing, as in every store
    assert store.leases() == [] and [use.id for use in ada.uses(0.0)] == [lease.id]
    with pytest.raises(LookupError, match="there is no lease"):
        ada.bind(lease.id, ME)


def test_a_server_hands_its_lease_on_to_the_kernel_and_takes_it_back(store: SqlStore, client: Client) -> None:
    ada = client("ada")
    lease = ada.take(ask("ada"), holder=ME)
    assert isinstance(lease, Lease)
    with subprocess.Popen(["sleep", "60"]) as kernel:
        there = machines.holder(kernel.pid)
        ada.bind(lease.id, there)
        assert store.leases()[0].holder == there
        with pytest.raises(ValueError, match=f"used by process {kernel.pid}, which still runs"):
            ada.bind(lease.id, ME)
        kernel.kill()
    ada.bind(lease.id, ME)
    assert store.leases()[0].holder == ME


def test_learners_share_one_machine_and_wait_for_each_other(store: SqlStore, client: Client) -> None:
    held = [client(name).take(ask(name), holder=ME) for name in ("ada", "bob")]
    waits = client("eve").take(ask("eve"))
    assert isinstance(waits, Place) and (waits.ahead, waits.of) == (0, 1)
    assert [ticket.id for ticket in client("eve").queue("eve")] == [waits.ticket]
    assert isinstance(held[0], Lease)
    client("ada").release(held[0].id)
    found = client("eve").take(ask("eve"), waits.ticket)
    assert isinstance(found, Lease) and found.id == waits.ticket
    client("eve").bind(found.id, ME)
    client("eve").leave(found.id)  # it is in use
    assert {lease.ask.owner for lease in store.leases()} == {"bob", "eve"}


def test_nobody_acts_for_another_or_sees_what_another_does(store: SqlStore, client: Client) -> None:
    mine = client("ada").take(ask("bob", title="secret.ipynb"), holder=ME)
    assert isinstance(mine, Lease) and mine.ask.owner == "ada"  # the token's name, not the request's
    mallory = client("mallory")
    for act in (
        lambda: mallory.bind(mine.id, ME),
        lambda: mallory.extend(mine.id, 60),
        lambda: mallory.leave(mine.id),
        lambda: mallory.take(ask("ada"), mine.id),
    ):
        with pytest.raises(LookupError, match="of mallory"):
            act()
    mallory.release(mine.id)
    assert store.leases() == [mine] and store.leases()[0].holder == ME
    (seen,) = mallory.leases()
    assert (seen.device, seen.ask.owner, seen.ask.title, seen.holder) == (mine.device, "·", "", None)
    assert mine.id not in repr(seen) and "secret" not in repr(seen)
    (told,) = client("tia").leases()  # a teacher
    assert told == mine
    client("bob").take(ask("bob"), holder=ME)
    waiting = client("ada").take(ask("ada", title="secret.ipynb"))
    assert isinstance(waiting, Place)
    assert [(t.id, t.ask.owner, t.ask.title) for t in mallory.queue()] == [("·", "·", "")]
    with pytest.raises(LookupError, match="no ticket"):
        mallory.take(ask("mallory"), waiting.ticket)
    assert mallory.uses(0.0, "ada") == [] and mallory.used("ada", 0.0) == 0.0
    with pytest.raises(ValueError, match="only the class's service grades"):
        mallory.take(Ask("mallory", "grading", memory=GIB, seconds=60.0))


def test_a_holder_is_a_process_of_the_learners_account(
    store: SqlStore, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to start a process under another account")
    monkeypatch.setenv("SAMPAN_CLASS_ACCOUNTS", "system")
    nobody = leases.uid_of("nobody")
    with (
        subprocess.Popen(["sleep", "60"], user=nobody) as theirs,
        subprocess.Popen(["sleep", "60"]) as others,
    ):
        good, bad = machines.holder(theirs.pid), machines.holder(others.pid)
        with pytest.raises(ValueError, match=rf"process {others.pid} does not belong to nobody"):
            client("nobody").take(ask("nobody"), holder=bad)
        lease = client("nobody").take(ask("nobody"), holder=good)
        assert isinstance(lease, Lease) and lease.holder == good
        with pytest.raises(ValueError, match="does not belong to nobody"):
            client("nobody").bind(lease.id, bad)
        theirs.kill(), others.kill()
    with pytest.raises(LookupError, match="there is no process"):
        client("nobody").take(ask("nobody"), holder=good)


def test_refusals_and_nonsense_come_back_as_they_are(client: Client, store: SqlStore) -> None:
    ada = client("ada")
    with pytest.raises(Impossible) as refused:
        ada.take(ask("ada", memory=10**15))
    assert refused.value.sentence and refused.value.sentence_zh != refused.value.sentence
    with pytest.raises(ValueError, match="seconds must be more than 0"):
        ada.extend(_taken(ada).id, -1)
    store.quota = Quota(cpu=0.0)
    with pytest.raises(OverQuota):
        ada.take(ask("ada"))
    for name, values in [
        ("take", {}),
        ("take", {"ask": {"owner": "ada"}, "ticket": None, "holder": None}),
        (
            "take",
            {
                "ask": {"owner": "ada", "purpose": "notebook", "memory": "much"},
                "ticket": None,
                "holder": None,
            },
        ),
        ("bind", {"lease": 7, "holder": {"pid": "x", "started": 0}}),
        ("left", {"kind": "tpu"}),
        ("extend", {"lease": [], "seconds": {}}),
    ]:
        with pytest.raises((ValueError, LookupError)):
            ada._call(name, **values)


def _taken(store: HttpStore) -> Lease:
    found = store.take(ask("ada"), holder=Holder(ME.pid, ME.started))
    assert isinstance(found, Lease)
    return found


def test_a_service_that_is_away_is_waited_for_and_then_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "AGAIN_S", (0.01, 0.01))
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        store = HttpStore(f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/", "ada")
        with pytest.raises(Away) as away:
            store.leases()
    assert "does not answer" in away.value.sentence and "没有应答" in away.value.sentence_zh
    assert isinstance(away.value, OSError)  # as a database that is away
