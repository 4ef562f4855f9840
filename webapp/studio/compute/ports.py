"""Ports of kernels, in a range of its own for each account.

Jupyter asks the system for a free port, closes it, and starts a kernel that opens it later. Meanwhile another server may be
given it, or any connection: the system takes both from the same range. With sixty learners at once a kernel died so in every
second class. The ports here are below that range, and the accounts of a class have different ones.
"""

from __future__ import annotations

import os
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


class AccountPorts(LocalPortCache):
    """What Jupyter's provisioner asks for ports, once `AccountPorts.instance()` was called."""

    def __init__(self) -> None:
        super().__init__()
        self._range, self._turn = of_account(os.getuid()), count()

    def find_available_port(self, ip: str) -> int:
        """The next free port of the account's range, so that one that was just closed is not taken at once; a port of the
        system's choice where none is free."""
        for _ in self._range:
            port = self._range[next(self._turn) % len(self._range)]
            if port not in self.currently_used_ports and is_free(ip, port):
                self.currently_used_ports.add(port)
                return port
        return int(super().find_available_port(ip))
