"""The launcher: torchrun's agent, with PaddlePaddle's options, logs and variables.

The agent starts the processes, watches them, and starts all again when one fails or, with MIN:MAX machines,
when one comes or goes. Two of its habits are changed. Its key-value store lives on after a restart, with the
addresses of dead processes: each start gets a store of its own (TORCH_DISABLE_SHARE_RDZV_TCP_STORE). Its
processes go on when it is killed: ours end with it (spawn.end_with_parent).

Where there is no GPU the launcher imports the library once and forks, so that a restart takes a fraction of a
second; CUDA does not survive a fork, so elsewhere each process imports it.
"""

import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

from . import worker
from .settings import Settings, read

SHOWN = 4096  # bytes of a failed process's log
ENDING_S = 5  # seconds between the signal to end and SIGKILL


def launch(command: Sequence[str] | None = None) -> None:
    """Start the processes that the command line describes, and wait for them; `command` in place of
    sys.argv[1:].

    Ends with exit status 0, or that of the process that failed more often than --max_restart allows; the end
    of its log is then shown. Rank 0's output is shown while it runs, as by PaddlePaddle's launcher; all logs
    are in --log_dir.
    """
    settings = read(command)
    if settings.servers:
        from .servers import run_with_servers

        sys.exit(run_with_servers(settings))
    sys.exit(_run(settings))


def _run(settings: Settings) -> int:
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    forked = not os.path.exists("/dev/nvidiactl")
    if forked:
        import sampan.distributed as loaded
        import sampan.nn
        import sampan.optimizer  # noqa: F401 - these imports are what a forked process need not do again

        assert loaded
    else:
        os.environ[worker.COMMAND] = f"{settings.logs}|{os.getpid()}"
        if settings.devices:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(settings.devices)
    from torch.distributed import DistNetworkError
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous.api import RendezvousError
    from torch.distributed.launcher.api import LaunchConfig, launch_agent

    for name in list(logging.root.manager.loggerDict):
        if name.startswith(("torch.distributed", "torch.multiprocessing")):  # it repeats what is in the logs
            logging.getLogger(name).setLevel(logging.CRITICAL)
    begins = ready(settings.logs, [f"workerlog.{n}" for n in range(settings.processes)], settings.append)
    shown = Shown(os.path.join(settings.logs, "workerlog.0"))
    folder = tempfile.mkdtemp(prefix="sampan-launch-")
    config = LaunchConfig(
        settings.least,
        settings.most,
        settings.processes,
        logs_specs=DefaultLogsSpecs(log_dir=folder),
        run_id=settings.job if settings.most > 1 else f"{settings.job}-{uuid.uuid4().hex[:8]}",
        max_restarts=settings.restarts,
        start_method="fork",
        shutdown_timeout=ENDING_S,
        **_meeting(settings),
    )
    try:
        if forked:
            told = (settings.script, settings.arguments, settings.logs, settings.devices, os.getpid())
            launch_agent(config, worker.run, list(told))
        else:
            launch_agent(config, sys.executable, worker.command(settings.script, settings.arguments))
    except ChildFailedError as error:
        shown.end()
        return _tell(error, settings.logs, begins)
    except (RendezvousError, DistNetworkError) as error:
        text = str(error.__cause__ or error).splitlines()[0]
        print(f"launch: the machines cannot meet at --master {settings.master}: {text}", file=sys.stderr)
        return 1
    except SignalException as error:
        return 128 + int(error.sigval)
    finally:
        shown.end()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def ready(folder: str, names: Sequence[str], append: bool) -> dict[str, int]:
    """Make the folder of logs, without those of an earlier start unless they are added to: where each
    begins."""
    os.makedirs(folder, exist_ok=True)
    begins = {}
    for name in names:
        path = os.path.join(folder, name)
        if not append and os.path.exists(path):
            os.remove(path)
        begins[name] = os.path.getsize(path) if os.path.exists(path) else 0
    return begins


def _meeting(settings: Settings) -> dict[str, Any]:
    """How the launchers of all machines find one another."""
    if settings.most == 1:
        return {"rdzv_backend": "c10d", "rdzv_endpoint": "127.0.0.1:0", "local_addr": "127.0.0.1"}
    endpoint = {"rdzv_endpoint": settings.master}
    limit: dict[str, object] = {"timeout": 900, "last_call_timeout": 1 if settings.elastic else 30}
    if settings.node >= 0 and not settings.elastic:
        return {"rdzv_backend": "static", **endpoint, "rdzv_configs": {"rank": settings.node, **limit}}
    if settings.node >= 0:
        limit["is_host"] = settings.node == 0
    # A machine that went away is noticed after four seconds; torch gives a sign of life in every second
    # period only.
    limit |= {"keep_alive_interval": 1, "keep_alive_max_attempt": 4}
    return {"rdzv_backend": "c10d", **endpoint, "rdzv_configs": limit}


def _tell(error: Any, logs: str, begins: dict[str, int]) -> int:
    """Which processes failed, and the end of the first one's log; returns its exit status. error: torch's
    ChildFailedError."""
    failures = sorted(error.failures.items(), key=lambda entry: entry[1].timestamp)
    for rank, failure in failures:
        print(f"launch: rank {rank} (process {failure.pid}) {ended(failure.exitcode)}", file=sys.stderr)
    first = failures[0][1]
    show_end(logs, f"workerlog.{first.local_rank}", begins)
    return int(first.exitcode if first.exitcode > 0 else 128 - first.exitcode)


def ended(code: int) -> str:
    """How a process ended, in words."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"


def show_end(logs: str, name: str, begins: dict[str, int]) -> None:
    """Print the end of a log to the errors."""
    path = os.path.join(logs, name)
    try:
        with open(path, "rb") as file:
            file.seek(max(begins[name], os.path.getsize(path) - SHOWN))
            text = file.read().decode("utf-8", "replace")
    except OSError as missing:
        text = str(missing)
    print(f"launch: the end of {path}:\n{text}", file=sys.stderr)


class Shown:
    """Copies what is added to a file to the output, in a thread, until `end`."""

    def __init__(self, path: str) -> None:
        self.path, self.stop = path, threading.Event()
        self.place = os.path.getsize(path) if os.path.exists(path) else 0
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        while not self.stop.is_set():
            self._copy()
            time.sleep(0.05)

    def _copy(self) -> None:
        try:
            with open(self.path, "rb") as file:
                file.seek(self.place)
                content = file.read()
        except FileNotFoundError:
            return
        self.place += len(content)
        # Not through sys.stdout: this thread may hold its lock when a process is forked.
        while content:
            content = content[os.write(1, content) :]

    def end(self) -> None:
        """Copy the rest."""
        if not self.stop.is_set():
            self.stop.set()
            self.thread.join()
            self._copy()
