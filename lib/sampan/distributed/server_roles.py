"""Which role a process has where there are parameter servers: from Paddle's environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..engine.tensor import InvalidArgument

SERVERS = "PADDLE_PSERVERS_IP_PORT_LIST"


class Roles(NamedTuple):
    """server: whether this process is one. number: its own among servers or workers. workers: how many.
    endpoints: of the servers, "host:port"; none: the program is one process, with its tables in it."""

    server: bool = False
    number: int = 0
    workers: int = 1
    endpoints: tuple[str, ...] = ()

    @classmethod
    def of_environment(cls, variables: Mapping[str, str] | None = None) -> Roles:
        """TRAINING_ROLE (TRAINER or PSERVER), PADDLE_PSERVERS_IP_PORT_LIST, PADDLE_TRAINERS_NUM, and
        PADDLE_TRAINER_ID, or POD_IP and PADDLE_PORT. Raises InvalidArgument for what contradicts."""
        given = os.environ if variables is None else variables
        endpoints = tuple(one for one in given.get(SERVERS, "").split(",") if one)
        role = given.get("TRAINING_ROLE", "TRAINER")
        if role not in ("TRAINER", "PSERVER"):
            raise InvalidArgument(f"TRAINING_ROLE: expected TRAINER or PSERVER, got {role!r}")
        workers = _number(given, "PADDLE_TRAINERS_NUM", 1)
        if role == "TRAINER":
            return cls(False, _number(given, "PADDLE_TRAINER_ID", 0), workers, endpoints)
        mine = f"{given.get('POD_IP', '127.0.0.1')}:{given.get('PADDLE_PORT', '')}"
        return cls.of_server(mine, endpoints, workers)

    @classmethod
    def of_server(cls, mine: str, endpoints: Sequence[str], workers: int) -> Roles:
        """Raises InvalidArgument for an address that is not one of the servers'."""
        if mine not in endpoints:
            raise InvalidArgument(
                f"POD_IP:PADDLE_PORT: expected one of {SERVERS}, {list(endpoints)}, got {mine!r}"
            )
        return cls(True, list(endpoints).index(mine), workers, tuple(endpoints))


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not text.isdigit():
        raise InvalidArgument(f"{name}: expected a whole number, got {text!r}")
    return int(text)
