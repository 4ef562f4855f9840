"""paddle.distributed.utils of one process."""

import socket


def get_host_name_ip() -> tuple[str, str] | None:
    """This machine's name and address, or None."""
    try:
        name = socket.gethostname()
        return name, socket.gethostbyname(name)
    except OSError:
        return None


def find_free_ports(num: int) -> set[int] | None:
    """Ports that are free now."""
    found: set[int] = set()
    sockets = []
    for _ in range(num):
        opened = socket.socket()
        opened.bind(("127.0.0.1", 0))
        sockets.append(opened)
        found.add(opened.getsockname()[1])
    for opened in sockets:
        opened.close()
    return found
