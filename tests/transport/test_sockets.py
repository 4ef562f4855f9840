"""Shards behind addresses, with clients that know the key, and others."""

import contextlib
import socket
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest

from sampan.distributed.utils import find_free_ports
from sampan.transport import ShardError, Sockets, serve_shard
from sampan.transport.sockets import KEY, address_of, shared_key
from tests.transport.counting import Counting

pytestmark = pytest.mark.servers


@pytest.fixture
def served(monkeypatch: Any) -> Any:
    """Two shards in threads: their endpoints."""
    monkeypatch.setenv(KEY, "secret")
    endpoints, ended = [f"127.0.0.1:{port}" for port in find_free_ports(2) or ()], threading.Event()
    threads = [
        threading.Thread(target=serve_shard, args=(endpoint, number, Counting(), ended.is_set, 0.02))
        for number, endpoint in enumerate(endpoints)
    ]
    for thread in threads:
        thread.start()
    home = Sockets(endpoints, patience=60.0)
    home.request([(0, "all", ()), (1, "all", ())])  # both listen
    home.close()
    yield endpoints
    ended.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_clients_share_the_shards(served: list[str]) -> None:
    homes = [Sockets(served, patience=10.0) for _ in range(3)]
    counts = [home.request([(0, "note", (1,)), (1, "note", (2,))]) for home in homes]
    assert counts == [[1, 1], [2, 2], [3, 3]]
    with pytest.raises(ValueError, match="no"):
        homes[0].request([(1, "fail", ("ValueError",))])
    homes[0].close()
    assert homes[1].request([(1, "all", ())]) == [[2, 2, 2]] and homes[1].sent > 0


def test_a_client_without_the_key_is_refused_and_harms_nobody(served: list[str]) -> None:
    home = Sockets(served, patience=10.0)
    assert home.request([(0, "note", (1,))]) == [1]
    with pytest.raises(AuthenticationError):
        Client(address_of(served[0]), authkey=b"other")
    assert home.request([(0, "note", (1,))]) == [2]


def test_connections_that_say_nothing_or_nonsense_keep_nobody_waiting(served: list[str]) -> None:
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address_of(served[0]))) for _ in range(5)]
        silent[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
        silent[1].close()
        assert Sockets(served, timeout=5.0, patience=5.0).request([(0, "note", (1,))]) == [1]


def test_an_address_where_nothing_is_or_which_is_taken(served: list[str]) -> None:
    port = next(iter(find_free_ports(1) or {0}))
    with pytest.raises(ShardError, match=f"shard 0 at 127.0.0.1:{port} does not answer: ConnectionRefused"):
        Sockets([f"127.0.0.1:{port}"], patience=0.2).request([(0, "all", ())])
    with pytest.raises(OSError, match=f"shard 1: cannot listen on {served[0]}: Address already in use"):
        serve_shard(served[0], 1, Counting(), lambda: True)
    with pytest.raises(ValueError, match="endpoint: expected host:port"):
        address_of("8000")


def test_the_key_is_made_once_for_this_user_alone(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    key = shared_key()
    assert len(key) == 64 and shared_key() == key
    assert [path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.key")] == [0o600]
