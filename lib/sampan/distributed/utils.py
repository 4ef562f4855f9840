"""paddle.distributed.utils of one process."""

import socket

from .spawn import free_ports


def get_host_name_ip() -> tuple[str, str] | None:
    """This machine's name and address, or None."""
    try:
        name = socket.gethostname()
        return name, socket.gethostbyname(name)
    except OSError:
        return None


def find_free_ports(num: int) -> set[int] | None:
    """Ports that are free now."""
    return set(free_ports(num))
