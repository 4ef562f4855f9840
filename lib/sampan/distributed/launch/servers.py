"""Programs with parameter servers: each process gets the role that PaddlePaddle's programs read from the
environment."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

from . import worker
from .main import ENDING_S, Shown, ended, ready, show_end
from .settings import PORT, Settings

ROLES = {"PSERVER": "serverlog", "TRAINER": "workerlog"}


def run_with_servers(settings: Settings) -> int:
    """Start servers and trainers on this machine and wait for the trainers; the servers are ended after them.
    The exit status is 1 where one of them failed, and the others are then ended too."""
    addresses = settings.server_addresses or [f"127.0.0.1:{PORT + n}" for n in range(settings.servers)]
    starts = [("PSERVER", n) for n in range(settings.servers)] + [
        ("TRAINER", n) for n in range(settings.trainers)
    ]
    names = [f"{ROLES[role]}.{number}" for role, number in starts]
    begins = ready(settings.logs, names, settings.append)
    processes: list[subprocess.Popen[bytes]] = []
    shown = Shown(os.path.join(settings.logs, "workerlog.0"))
    try:
        for (role, number), name in zip(starts, names, strict=True):
            variables = os.environ | _variables(role, number, addresses, settings)
            variables[worker.COMMAND] = f"{os.path.join(settings.logs, name)}|{os.getpid()}"
            command = [sys.executable, *worker.command(settings.script, settings.arguments)]
            processes.append(subprocess.Popen(command, env=variables))
        failed = _wait(processes, settings.servers)
        shown.end()
        if failed is None:
            return 0
        process = processes[failed]
        print(f"launch: {names[failed]} (process {process.pid}) {ended(process.returncode)}", file=sys.stderr)
        show_end(settings.logs, names[failed], begins)
        return 1
    finally:
        shown.end()
        _end(processes)


def _variables(role: str, number: int, addresses: Sequence[str], settings: Settings) -> dict[str, str]:
    made = {
        "TRAINING_ROLE": role,
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(addresses),
        "PADDLE_PSERVER_NUMS": str(settings.servers),
        "PADDLE_TRAINERS_NUM": str(settings.trainers),
    }
    if role == "TRAINER":
        return made | {"PADDLE_TRAINER_ID": str(number)}
    host, _, port = addresses[number].rpartition(":")
    return made | {"POD_IP": host, "PADDLE_PORT": port, "PADDLE_SERVER_ID": str(number)}


def _wait(processes: Sequence[subprocess.Popen[bytes]], servers: int) -> int | None:
    """Wait for all trainers, or for the first process that fails: its number."""
    while True:
        for number, process in enumerate(processes):
            if process.poll() not in (None, 0):
                return number
        if all(process.returncode == 0 for process in processes[servers:]):
            return None
        time.sleep(0.05)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    until = time.monotonic() + ENDING_S
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
