"""Ports that a server can open."""

from __future__ import annotations

import errno
import itertools
import os
import random
import socket


def is_free(ip: str, port: int) -> bool:
    """False where another program has the port, or it is reserved for the system. Raises OSError for an address that is not
    this machine's."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # as servers do: a port that was just closed is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ip, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def free_ports(count: int) -> list[int]:
    """Below those that the system gives to connections: seconds pass until they are opened."""
    ports = range(20_000, 32_000)
    # Not from a seed, with which another process would choose the same.
    shuffled = random.SystemRandom().sample(ports, len(ports))
    return list(itertools.islice((port for port in shuffled if is_free("127.0.0.1", port)), count))
