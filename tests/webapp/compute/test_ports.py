"""Kernels' ports: apart from those of other accounts and from those that the system gives to connections."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.connect import LocalPortCache

from studio.compute import ports
from studio.compute.ports import ACCOUNTS, AccountPorts, of_account
from studio.free_port import is_free


@pytest.fixture
def found() -> Iterator[AccountPorts]:
    """As a Studio has it; at the end the ports are returned."""
    made = AccountPorts()
    yield made
    for port in [*made.currently_used_ports]:
        made.return_port(port)


def test_neighbouring_accounts_have_ports_of_their_own_below_the_systems() -> None:
    ranges = [of_account(1000 + n) for n in range(ACCOUNTS)]
    given = [port for one in ranges for port in one]
    assert len(set(given)) == len(given) and all(len(one) >= 50 for one in ranges)  # five for a kernel
    system = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert min(given) > 1024 and max(given) < system


def test_a_port_is_given_once_until_it_is_returned_and_a_taken_one_never(found: AccountPorts) -> None:
    span = found._range
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free = next(port for port in span if is_free("127.0.0.1", port))
        other.bind(("127.0.0.1", free))
        other.listen()
        first = [found.find_available_port("127.0.0.1") for _ in range(10)]
        assert len(set(first)) == 10 and set(first) <= set(span) and free not in first
        found.return_port(first[0])
        rest = [found.find_available_port("127.0.0.1") for _ in range(len(span) - 10)]
        assert first[0] in rest and free not in rest
        beyond = found.find_available_port("127.0.0.1")  # all are given: one of the system's
        assert beyond not in span and beyond not in rest


ANOTHER = """
from studio.compute.ports import AccountPorts
found = AccountPorts()
print(*[found.find_available_port("127.0.0.1") for _ in range(20)], flush=True)
input()
"""


def test_two_studios_of_one_account_are_given_different_ports(found: AccountPorts) -> None:
    """Before a kernel has opened them; those of a process that has ended are free again."""
    own = {found.find_available_port("127.0.0.1") for _ in range(20)}
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        others = {int(port) for port in other.stdout.readline().split()}
        assert len(others) == 20 and not own & others
        for port in own:
            found.return_port(port)
        given = {found.find_available_port("127.0.0.1") for _ in range(len(found._range))}
        assert own <= given and not others & given
        other.kill()
        for port in given:
            found.return_port(port)
    assert others <= {found.find_available_port("127.0.0.1") for _ in range(len(found._range))}


def test_without_room_the_system_chooses(monkeypatch: pytest.MonkeyPatch, found: AccountPorts) -> None:
    monkeypatch.setattr(ports, "FIRST", 70_000)
    assert len(of_account(1000)) == 0
    assert AccountPorts().find_available_port("127.0.0.1") > 1024


def test_jupyter_asks_it() -> None:
    """`instance` of the class that Jupyter names is this one, whatever was asked before in this process."""
    LocalPortCache.clear_instance()
    try:
        made = AccountPorts.instance()
        assert LocalPortCache.instance() is made
    finally:
        AccountPorts.clear_instance()
