"""paddle.distributed.utils: ports, names, the logger, and the exchange of mixtures of experts."""

import socket
import sys

from ..spawn import free_ports
from . import log_utils as log_utils
from . import moe_utils as moe_utils
from .log_utils import get_logger as get_logger

launch_utils = sys.modules[f"{__name__}.launch_utils"] = sys.modules[__name__]


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
