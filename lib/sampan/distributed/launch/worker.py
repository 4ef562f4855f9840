"""What a started process does before the program: logs to its file, ends with its launcher, has Paddle's
variables."""

import atexit
import importlib.util
import io
import os
import runpy
import signal
import sys
import time
import traceback
from typing import Any

from ..agreement import CommunicationError
from ..server_roles import SERVERS
from ..spawn import end_with_parent, share_cores

# The launcher tells of the process that it finds failed first: not of one that only lost the others.
NOTICED_S = 2.0
COMMAND = "SAMPAN_LAUNCHED"  # log and launcher, for a process that is not forked


def command(script: str, arguments: list[str]) -> list[str]:
    """The arguments of Python for `main`."""
    return ["-c", f"from {__name__} import main; main()", script, *arguments]


def run(script: str, arguments: list[str], logs: str, devices: list[str], parent: int) -> None:
    """The whole life of a worker that was forked."""
    for_paddle(os.environ, devices)
    begin(os.path.join(logs, f"workerlog.{os.environ['LOCAL_RANK']}"), parent)
    program(script, arguments)


def begin(log: str, parent: int) -> None:
    """Tie this process to its launcher, and write to a log from now on."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):  # not as in the launcher
        signal.signal(number, signal.SIG_DFL)
    log_to(log)
    share_cores(int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def program(script: str, arguments: list[str]) -> None:
    """Run the program as `__main__`: a Python file, `-m` and the name of a module, or another executable.

    `import paddle` is Sampan in it where PaddlePaddle is not installed. Ends with exit status 1 after an
    exception, which is in the log.
    """
    sys.argv = [script, *arguments]
    if script != "-m" and not script.endswith(".py"):
        os.execvp(script, sys.argv)
    if importlib.util.find_spec("paddle") is None:
        from ...names import compat

        compat.install()
    # Workers beside parameter servers are not connected.
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not os.environ.get(SERVERS):
        importlib.import_module("sampan.distributed.shared_model").install()
    try:
        if script == "-m":
            sys.argv, sys.path[0] = arguments, os.getcwd()
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(script))
            runpy.run_path(script, run_name="__main__")
    except Exception as error:
        traceback.print_exc()  # torch would send it to the launcher
        if isinstance(error, CommunicationError):
            time.sleep(NOTICED_S)
        sys.exit(1)
    finally:
        atexit._run_exitfuncs()  # a forked process of multiprocessing ends without them


def log_to(path: str) -> None:
    """Output and errors of this process are added to a file."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    for stream in (sys.stdout, sys.stderr):  # a reader of the log sees each line at once
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def for_paddle(variables: Any, devices: list[str]) -> None:
    """Paddle's environment variables beside torchrun's."""
    rank, world, local = variables["RANK"], variables["WORLD_SIZE"], variables["LOCAL_RANK"]
    host = variables["MASTER_ADDR"]
    # Addresses that programs print and count; the processes meet through the master.
    endpoints = [f"{host}:{int(variables['MASTER_PORT']) + number}" for number in range(int(world))]
    variables |= {
        "PADDLE_TRAINER_ID": rank,
        "PADDLE_GLOBAL_RANK": rank,
        "PADDLE_TRAINERS_NUM": world,
        "PADDLE_GLOBAL_SIZE": world,
        "PADDLE_LOCAL_RANK": local,
        "PADDLE_RANK_IN_NODE": local,
        "PADDLE_LOCAL_SIZE": variables["LOCAL_WORLD_SIZE"],
        "PADDLE_NNODES": variables["GROUP_WORLD_SIZE"],
        "PADDLE_NODE_RANK": variables["GROUP_RANK"],
        "PADDLE_MASTER": endpoints[0],
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_CURRENT_ENDPOINT": endpoints[int(rank)],
    }
    if devices:
        variables["FLAGS_selected_gpus"] = devices[int(local) % len(devices)]


def main() -> None:
    """The life of a process that is not forked: its command is that of `command`."""
    log, parent = os.environ.pop(COMMAND).split("|")
    if "RANK" in os.environ:
        shown = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        for_paddle(os.environ, [str(number) for number, _ in enumerate(shown.split(","))] if shown else [])
        log = os.path.join(log, f"workerlog.{os.environ['LOCAL_RANK']}")
    begin(log, int(parent))
    program(sys.argv[1], sys.argv[2:])
