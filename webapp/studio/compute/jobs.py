"""Jobs: scripts that run in the background under a lease, with a log, progress, and a folder for output files.

A job is a folder, `<state>/jobs/<id>`: `job.json` is its state, `log.txt` its output, `progress.jsonl` what it
reported through `sampan.session.progress`, `artefacts/` its output files. A supervisor process runs it
(`supervisor.py`), so a job outlives the terminal and the server; only the supervisor writes `job.json`. The
functions here only read and send requests: `start`, `all`, `find`, `cancel`, `remove`. From the server call them
through `asyncio.to_thread`.
"""

from __future__ import annotations

import builtins
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from studio.environment import clean_environment
from studio.runtime import write_atomically

from . import curves, here, machine, workers
from .binding import full
from .curves import Progress
from .lease import Ask, Holder, Place

State = Literal["waiting", "running", "done", "failed", "cancelled", "lost"]
# Why a job ended as it did, where its exit status does not say: each is a sentence, `compute.why.<why>`.
Why = Literal["", "time", "memory", "crashed", "killed", "lease", "start"]
OVER: frozenset[State] = frozenset(["done", "failed", "cancelled", "lost"])
LOG_SHOWN = 64 << 10  # bytes of the log's end
_STARTING_S = 30.0  # a job whose supervisor has not written its process number by then has failed to start


@dataclass(frozen=True)
class Job:
    """The state of a job. Times in seconds since 1970, 0.0 for what has not happened; `status` is the exit status
    as a shell shows it.

    While it waits, `ahead` others come before it and `wait` is the estimate in seconds (None: unknown).
    """

    id: str
    ask: Ask
    command: list[str]  # the script and its arguments
    cwd: str
    asked: float
    ticket: str
    state: State = "waiting"
    started: float = 0.0
    ended: float = 0.0
    status: int | None = None
    why: Why = ""
    lease: str = ""
    device: str = ""
    ahead: int = 0
    wait: float | None = None
    supervisor: Holder | None = None
    folder: Path = field(default=Path(), compare=False)

    @property
    def log_file(self) -> Path:
        return self.folder / "log.txt"

    @property
    def artefacts(self) -> Path:
        """The folder for its output files, `sampan.session.artefacts()` for the job."""
        return self.folder / "artefacts"

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return 0.0 if not self.started else (self.ended or time.time()) - self.started

    def log(self, most: int = LOG_SHOWN) -> str:
        """The end of its output, at most so many bytes; of redrawn progress bars only the last version."""
        return curves.readable(_tail(self.log_file, most))

    def progress(self) -> Progress | None:
        """The last progress that it reported, or that a bar in its log shows; None: nothing yet."""
        return curves.last(self.folder / "progress.jsonl") or curves.bar(_tail(self.log_file, 4096))

    def curve(self) -> dict[str, builtins.list[tuple[float, float]]]:
        """For each reported value: (step, value) in order; from the log if it reported none."""
        told = curves.told(self.folder / "progress.jsonl")
        return told or curves.logged(_tail(self.log_file, 1 << 20))

    def files(self) -> builtins.list[Path]:
        """Its output files, by name."""
        return sorted(path for path in self.artefacts.rglob("*") if path.is_file() and not path.is_symlink())


def start(
    script: str | os.PathLike[str],
    arguments: Sequence[str] = (),
    *,
    ask: Ask,
    cwd: str | os.PathLike[str] | None = None,
    queue: bool = True,
    workers_of_its_own: bool = False,
) -> Job:
    """Start a job. Without `queue`, only if a place is free now. A request for several places starts the script in as many
    workers, which are connected by `init_parallel_env()` in it, unless the script starts `workers_of_its_own`.

    Raises FileNotFoundError if the script does not exist, and `lease.Refused` if there is no place: full (without
    `queue`), over quota, or more than this machine can give.
    """
    folder = Path(cwd or Path.cwd()).absolute()
    file = folder / script
    if not file.is_file():
        raise FileNotFoundError(f"script {str(script)!r} was not found in {folder}")
    store = here.store()
    answer = store.take(ask)
    ticket = answer.ticket if isinstance(answer, Place) else answer.id
    if isinstance(answer, Place) and not queue:
        store.leave(ticket)
        raise full(answer)
    id = f"{time.strftime('%m%d-%H%M')}-{uuid.uuid4().hex[:6]}"
    job = Job(id, ask, [str(file), *arguments], str(folder), time.time(), ticket, folder=_folder(id))
    if ask.places > 1 and not workers_of_its_own:
        job = replace(job, command=workers.command(job.command, ask.places, job.artefacts))
    if not isinstance(answer, Place):
        job = replace(job, lease=answer.id, device=answer.device)
    job.artefacts.mkdir(parents=True)
    write(job)
    try:
        pid = _start_supervisor(job.folder)
        if not isinstance(answer, Place):
            with suppress(LookupError, ValueError):  # the supervisor holds it already, or the job has ended
                store.bind(ticket, machine.holder(pid))
    except BaseException:
        store.leave(ticket)
        shutil.rmtree(job.folder)
        raise
    return job


def all(owner: str | None = None) -> builtins.list[Job]:
    """The jobs of one owner, or of all; newest first."""
    found = [_read(path.parent) for path in (here.state() / "jobs").glob("*/job.json")]
    return sorted(
        (job for job in found if job is not None and owner in (None, job.ask.owner)),
        key=lambda job: job.asked,
        reverse=True,
    )


def find(beginning: str, owner: str | None = None) -> Job:
    """The job whose id begins or ends with this text. LookupError unless it is exactly one."""
    found = [
        job
        for job in all(owner)
        if beginning and (job.id.startswith(beginning) or job.id.endswith(beginning))
    ]
    if len(found) != 1:
        raise LookupError(f"{len(found)} jobs have an id that begins or ends with {beginning!r}")
    return found[0]


def cancel(id: str) -> Job:
    """Ask a job to end: it is interrupted, then killed. No-op if it has ended. LookupError: no such job."""
    job = find(id)
    if not job.over:
        (job.folder / "cancel").touch()
    return job


def remove(id: str) -> None:
    """Delete a job that has ended, with its output files. ValueError while it runs; LookupError: no such job."""
    job = find(id)
    if not job.over:
        raise ValueError(f"the job {job.id} is {job.state}: cancel it first")
    shutil.rmtree(job.folder)


def write(job: Job) -> None:
    """Atomically."""
    values = {name: value for name, value in asdict(job).items() if name != "folder"}
    write_atomically(job.folder / "job.json", json.dumps(values).encode())


def read(folder: Path) -> Job:
    """The job as last written. FileNotFoundError if there is none."""
    values: dict[str, Any] = json.loads((folder / "job.json").read_text("utf-8"))
    values["ask"] = Ask(**values["ask"])
    values["supervisor"] = Holder(**values["supervisor"]) if values["supervisor"] else None
    return Job(**values, folder=folder)


def _read(folder: Path) -> Job | None:
    """The present state: "lost" if its supervisor is gone."""
    try:
        job = read(folder)
    except FileNotFoundError:  # removed meanwhile
        return None
    if job.over:
        return job
    if job.supervisor is None:
        gone = time.time() - job.asked > _STARTING_S
    else:
        gone = not machine.alive(job.supervisor)
    if not gone:
        return job
    again = read(folder)  # it may have written its final state just before it exited
    return again if again.over else replace(again, state="lost")


def _folder(id: str) -> Path:
    return here.state() / "jobs" / id


def _start_supervisor(folder: Path) -> int:
    """Start the supervisor, detached from this process; returns its process number."""
    environment = clean_environment(os.environ)
    if "SAMPAN_STORE" in os.environ:  # for the supervisor only: the script does not inherit it
        environment["SAMPAN_STORE"] = os.environ["SAMPAN_STORE"]
    begun = subprocess.run(
        [sys.executable, "-m", "studio.compute.detach", str(folder)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return int(begun.stdout)


def _tail(path: Path, most: int) -> str:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
