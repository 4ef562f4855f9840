"""Ports of kernels, in a range of its own for each account.

Jupyter asks the system for a free port, closes it, and starts a kernel that opens it later. Meanwhile another server may be
given it, or any connection: the system takes both from the same range. With sixty learners at once a kernel died so in every
second class. The ports here are below that range, and the accounts of a class have different ones. Two Studios of one
account begin with the same ports, so a port that is given is also reserved among the processes of the machine.
"""

from __future__ import annotations

import os
import socket
import sys
from itertools import count
from pathlib import Path

from jupyter_client.connect import LocalPortCache

from studio.free_port import is_free

FIRST = 10_000
ACCOUNTS = 256  # with neighbouring numbers, as those of a class, have ranges of their own
USUAL_END = 32_768  # where Linux's own range begins


def of_account(uid: int) -> range:
    """The ports of an account's kernels; empty where the system's own range leaves no room."""
    try:
        end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:  # another system: its range begins higher
        end = USUAL_END
    width = max(end - FIRST, 0) // ACCOUNTS
    begin = FIRST + uid % ACCOUNTS * width
    return range(begin, begin + width)


def reserve(port: int) -> socket.socket | None:
    """Reserve a port among the processes that ask here, until the socket is closed or its process ends; None where another
    process has it.

    The socket has a name in Linux's abstract namespace, which is no file. Other systems have none, and reserve nothing.
    """
    holder = socket.socket(socket.AF_UNIX)
    if sys.platform == "linux":
        try:
            holder.bind(f"\0sampan-kernel-port-{port}")
        except OSError:
            holder.close()
            return None
    return holder


class AccountPorts(LocalPortCache):
    """What Jupyter's provisioner asks for ports, once `AccountPorts.instance()` was called."""

    def __init__(self) -> None:
        super().__init__()
        self._range, self._turn = of_account(os.getuid()), count()
        self._reserved: dict[int, socket.socket] = {}

    def find_available_port(self, ip: str) -> int:
        """The next free port of the account's range, so that one that was just closed is not taken at once; a port of the
        system's choice where none is free."""
        for _ in self._range:
            port = self._range[next(self._turn) % len(self._range)]
            if port in self.currently_used_ports or (holder := reserve(port)) is None:
                continue
            if is_free(ip, port):
                self._reserved[port] = holder
                self.currently_used_ports.add(port)
                return port
            holder.close()
        return int(super().find_available_port(ip))

    def return_port(self, port: int) -> None:
        super().return_port(port)
        if port in self._reserved:
            self._reserved.pop(port).close()
