"""The messages between the Studio and the zygote: datagrams on one Unix socket for each child.

The Studio sends one `Spawn`, with the files that become the child's standard output and error. The child sends
`{"ready": true}` once it is set up, or `{"error": ...}`; the operating system adds its process number. At its end
the zygote sends `{"exit": status}`. The caller keeps the socket open: it is the child's lifeline.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..limits import Limits

LONGEST = 1 << 20


@dataclass(frozen=True)
class Spawn:
    """A program to run in a fork. `argv` is what the program sees after its own name:

    - "kernel": ipykernel's arguments, `["-f", connection_file]`;
    - "script": a file and its arguments;
    - "module": a module's name and its arguments, as after `python -m`.

    `env` is the whole environment. `output` takes standard output and error, appended (None: those of the caller). `tied`: it
    ends with the process that asked for it. `account`: the uid, in a class for root only.
    """

    what: Literal["kernel", "script", "module"]
    argv: list[str]
    env: Mapping[str, str]
    cwd: str
    limits: Limits | None = None
    output: Path | None = None
    tied: bool = True
    account: int | None = None

    def encode(self) -> bytes:
        """As sent on the socket, without the output files, which are sent as descriptors."""
        fields = {name: value for name, value in vars(self).items() if name != "output"}
        limits = None if self.limits is None else asdict(self.limits)
        return encode(**{**fields, "env": dict(self.env), "cwd": str(self.cwd), "limits": limits})

    @classmethod
    def decode(cls, message: bytes) -> Spawn:
        """Raises ValueError, TypeError or KeyError for anything else than `encode` makes."""
        fields = json.loads(message)
        if fields["limits"] is not None:
            fields["limits"] = Limits(**fields["limits"])
        return cls(**fields)


def encode(**message: Any) -> bytes:
    return json.dumps(message).encode()


def open_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets of the type that the zygote uses."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
