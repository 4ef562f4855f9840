"""Programs with parameter servers: each process gets the role that PaddlePaddle's programs read from the
environment.

A server that ends is started again as often as --max_restart says, and reads its rows and the pushes since
the last snapshot from its folder. Servers are forked from a process that has imported the library, so that
this takes a fraction of a second.
"""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import worker
from .main import ENDING_S, Shown, ended, ready, show_end
from .settings import PORT, Settings

ROLES = {"PSERVER": "serverlog", "TRAINER": "workerlog"}


FOLDER = "SAMPAN_SHARD_FOLDER"  # where servers keep rows and logs
LIBRARY = "sampan.distributed.parameter_server"


class Server:
    """A server's process, with the interface of subprocess.Popen that is needed here."""

    def __init__(self, context: Any, variables: Mapping[str, str], log: str, settings: Settings) -> None:
        given = dict(variables), log, settings.script, settings.arguments, os.getcwd()
        self.process = context.Process(target=_serve, args=given, daemon=True)
        self.process.start()
        self.pid = self.process.pid
        self.terminate, self.kill = self.process.terminate, self.process.kill

    @property
    def returncode(self) -> int | None:
        """The exit status, None while it runs."""
        code: int | None = self.process.exitcode
        return code

    def poll(self) -> int | None:
        """As `returncode`."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end. Raises subprocess.TimeoutExpired."""
        self.process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return self.returncode


def _serve(variables: dict[str, str], log: str, script: str, arguments: list[str], folder: str) -> None:
    """The life of a server."""
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    worker.begin(log, os.getppid())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with what is done at exit
    worker.program(script, arguments)


def run_with_servers(settings: Settings) -> int:
    """Start servers and trainers on this machine and wait for the trainers; the servers are ended after them.
    The exit status is 1 where one of them failed, a server more often than it may, and the others are then
    ended too."""
    addresses = settings.server_addresses or [f"127.0.0.1:{PORT + n}" for n in range(settings.servers)]
    roles = [("PSERVER", n) for n in range(settings.servers)] + [
        ("TRAINER", n) for n in range(settings.trainers)
    ]
    names = [f"{ROLES[role]}.{number}" for role, number in roles]
    begins = ready(settings.logs, names, settings.append)
    # Python's tracker would warn of semaphores of Numba, which it removes after a server was killed.
    sys.warnoptions.append("ignore:resource_tracker")
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([LIBRARY])
    folder = tempfile.mkdtemp(prefix="sampan-shards-") if FOLDER not in os.environ else ""
    processes: list[Any] = []

    def started(place: int) -> Any:
        (role, number), log = roles[place], os.path.join(settings.logs, names[place])
        variables = os.environ | _variables(role, number, addresses, settings)
        if role == "PSERVER":
            kept = {FOLDER: folder} if folder and settings.restarts else {}
            return Server(context, variables | kept, os.path.abspath(log), settings)
        variables[worker.COMMAND] = f"{log}|{os.getpid()}"
        command = [sys.executable, *worker.command(settings.script, settings.arguments)]
        return subprocess.Popen(command, env=variables)

    shown = Shown(os.path.join(settings.logs, "workerlog.0"))
    try:
        processes += [started(place) for place in range(len(roles))]
        failed, again = _wait(processes, settings.servers), 0
        while failed is not None and failed < settings.servers and again < settings.restarts:
            end = ended(processes[failed].returncode)
            print(f"launch: {names[failed]} {end}; it is started again", file=sys.stderr)
            processes[failed], again = started(failed), again + 1
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
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


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


def _wait(processes: Sequence[Any], servers: int) -> int | None:
    """Wait for all trainers, or for the first process that fails: its number."""
    while True:
        for number, process in enumerate(processes):
            if process.poll() not in (None, 0):
                return number
        if all(process.returncode == 0 for process in processes[servers:]):
            return None
        time.sleep(0.05)


def _end(processes: Sequence[Any]) -> None:
    for process in processes:
        process.terminate()
    until = time.monotonic() + ENDING_S
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
