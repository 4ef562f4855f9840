"""The command line of the launcher: PaddlePaddle's options."""

import argparse
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

PORT = 6170  # where the first machine listens, if the command does not say: PaddlePaddle's
IGNORED = "taken from commands that are written for PaddlePaddle, and without effect"


@dataclass
class Settings:
    """What to start. least, most: machines. elastic: whether they may come and go. node: this machine's
    number among them, -1 where they find it out.

    master: host:port of the first machine, "" for one machine. devices: numbers of GPUs, one for each
    process. restarts: how often all processes are started again after one failed. servers, trainers:
    processes of a program with parameter servers; 0 of both for another program.
    """

    script: str
    arguments: list[str]
    processes: int = 1
    least: int = 1
    most: int = 1
    elastic: bool = False
    node: int = -1
    master: str = ""
    devices: list[str] = field(default_factory=list)
    logs: str = "log"
    append: bool = False
    job: str = "default"
    restarts: int = 0
    servers: int = 0
    trainers: int = 0
    server_addresses: list[str] = field(default_factory=list)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m sampan.distributed.launch",
        usage="%(prog)s [options] program.py [arguments]",
        description="Start a program in several processes, on this machine or on several.",
        allow_abbrev=False,
    )
    made.add_argument(
        "--nproc_per_node", type=_count, help="processes on this machine (one for each device, or 1)"
    )
    made.add_argument(
        "--nnodes", default="", metavar="N or MIN:MAX", help="machines (1); 1:4 lets them come and go"
    )
    made.add_argument(
        "--master", default=None, metavar="HOST:PORT", help="of the first machine; each gets the same"
    )
    made.add_argument(
        "--rank", type=int, default=-1, help="this machine's number; they find it out if not given"
    )
    made.add_argument("--ips", default=None, help="addresses of all machines, such as 10.0.0.1,10.0.0.2")
    made.add_argument("--devices", "--gpus", dest="devices", default=None, help="GPUs, such as 0,1")
    made.add_argument("--log_dir", default="log", help="folder for workerlog.0, workerlog.1, ... (log)")
    made.add_argument("--log_overwrite", default="False", help="True: start the logs anew (False)")
    made.add_argument("--job_id", default="default", help="name of the job; its processes have the same")
    made.add_argument("--run_mode", default="collective", help="collective, or ps for parameter servers")
    made.add_argument(
        "--max_restart",
        type=int,
        default=None,
        help="start all again so often after a failure (0; 3 with MIN:MAX)",
    )
    made.add_argument("--server_num", type=_count, default=0, help="parameter servers on this machine")
    made.add_argument("--trainer_num", type=_count, default=0, help="trainers beside them")
    made.add_argument(
        "--servers", default=None, help="addresses of the servers, such as 127.0.0.1:6170,127.0.0.1:6171"
    )
    made.add_argument("--trainers", default=None, help="addresses of the trainers")
    made.add_argument("--start_port", type=int, default=PORT, help=f"first port of --ips ({PORT})")
    for name in (
        "elastic_level",
        "elastic_timeout",
        "log_level",
        "host",
        "legacy",
        "sort_ip",
        "with_gloo",
        "gloo_port",
    ):
        made.add_argument(f"--{name}", help=IGNORED)
    made.add_argument("-m", "--module", action="store_true", help="the program is the name of a module")
    made.add_argument("script", help="the program, a Python file or another executable")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="go to the program")
    return made


def read(command: Sequence[str] | None = None) -> Settings:
    """The settings of a command line. Ends the process with a message for a wrong one, as argparse does."""
    its_parser = parser()
    given = its_parser.parse_args(command)
    program = [*["-m"][: given.module], given.script, *given.arguments]
    if program[0].endswith(".py") and not os.path.isfile(program[0]):
        its_parser.error(f"script: there is no {given.script!r} in {os.getcwd()}")
    devices = [one.strip() for one in given.devices.split(",") if one.strip()] if given.devices else []
    least, most = _machines(given.nnodes, its_parser)
    node, master = given.rank, (given.master or "").removeprefix("tcp://").removeprefix("etcd://")
    if given.ips:
        addresses = [one.strip() for one in given.ips.split(",")]
        least = most = len(addresses)
        if len(addresses) > 1:
            node, master = _own(addresses, its_parser), f"{addresses[0]}:{given.start_port}"
    if most > 1 and not _is_address(master):
        its_parser.error(f"--master: expected host:port, the same on all {most} machines, got {master!r}")
    if node >= most:
        its_parser.error(f"--rank: expected a number below the {most} machines, got {node}")
    if given.nproc_per_node and devices and len(devices) < given.nproc_per_node:
        its_parser.error(
            f"--devices: expected {given.nproc_per_node}, one for each process, got {given.devices!r}"
        )
    addresses = [one.strip() for one in given.servers.split(",")] if given.servers else []
    servers = len(addresses) or given.server_num
    trainers = len(given.trainers.split(",")) if given.trainers else given.trainer_num
    if (given.run_mode == "ps" or servers or trainers) and not (servers and trainers):
        its_parser.error("--server_num, --trainer_num: expected at least 1 of each for parameter servers")
    elastic = ":" in given.nnodes and not given.ips
    restarts = given.max_restart if given.max_restart is not None else 3 * elastic
    return Settings(
        program[0],
        program[1:],
        processes=given.nproc_per_node or len(devices) or 1,
        least=least,
        most=most,
        elastic=elastic,
        node=node,
        master=master,
        devices=devices,
        logs=given.log_dir,
        append=given.log_overwrite.lower() not in ("true", "1"),
        job=given.job_id,
        restarts=restarts,
        servers=servers,
        trainers=trainers,
        server_addresses=addresses,
    )


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return number


def _machines(text: str, its_parser: argparse.ArgumentParser) -> tuple[int, int]:
    """(least, most) of "2" or "1:4"."""
    parts = (text or os.environ.get("PADDLE_NNODES", "") or "1").split(":")
    if (
        len(parts) > 2
        or not all(part.isdecimal() for part in parts)
        or not 1 <= int(parts[0]) <= int(parts[-1])
    ):
        its_parser.error(f"--nnodes: expected a number such as 2, or a range such as 1:4, got {text!r}")
    return int(parts[0]), int(parts[-1])


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and int(port) < 2**16


def _own(addresses: list[str], its_parser: argparse.ArgumentParser) -> int:
    """This machine's number among the addresses."""
    found = [number for number, one in enumerate(addresses) if _is_here(one)]
    if len(found) != 1:
        given = ",".join(addresses)
        its_parser.error(f"--ips: expected this machine once, got {given}; give --rank and --master instead")
    return found[0]


def _is_here(host: str) -> bool:
    """Whether an address is one of this machine's: only then a socket can have it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
            tried.bind((host, 0))
    except OSError:
        return False
    return True
