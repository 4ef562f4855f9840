"""The supervisor of one job: waits for its place, runs the script, writes its state (`jobs.py`)."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from studio import processes
from studio.environment import clean_environment
from studio.i18n import t

from . import here, jobs, machine, record
from .binding import environment_of, limits_of
from .jobs import State, Why
from .lease import Lease, Refused
from .limits import Limits
from .needed import of_library
from .zygote.client import Child, NotReady, Spawn

LOG_MOST = 256 << 20  # bytes: a job that prints without end must not fill the disk
_LOOK_S = 0.2  # between two checks of the script and of requests
_QUEUE_S = 2.0  # between two checks of the queue
_SMALL = 2 << 30  # bytes; with less, importing the library may be what fails
_CRASHES = (
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGABRT,
)  # libraries that do not look whether they got memory
_OUT_OF_MEMORY = (
    "MemoryError",
    "annot allocate memory",  # the system's words
    "Memory allocation still failed",  # OpenBLAS
    "torch.OutOfMemoryError",
    "torch.cuda.OutOfMemoryError",
    "DefaultCPUAllocator",
)


def supervise(folder: Path) -> None:
    """Runs the job to its end. Errors of its own go to the job's log."""
    asyncio.run(Supervisor(folder).run())


class Supervisor:
    """Supervises one job, from its place in the queue to its final state."""

    def __init__(self, folder: Path) -> None:
        self.job = jobs.read(folder)
        self._say(supervisor=machine.holder(os.getpid()))
        self.store, self.state = here.store(), here.state()

    async def run(self) -> None:
        try:
            lease = await self._wait()
            if lease is None:
                self._over("cancelled")
                return
            try:
                outcome = await self._run(lease)
            finally:
                self.store.release(lease.id)
            self._over(*outcome)  # a reader of the final state finds no process left
        except Refused as refusal:
            self._print(f"{refusal.sentence}\n{refusal.sentence_zh}")
            self._over("failed", "lease")
        except Exception as error:
            self._print(f"The job could not be run: {error}\n任务无法运行：{error}")
            self._over("failed", "start")
            raise

    async def _wait(self) -> Lease | None:
        """Its lease; None if it was cancelled before its turn."""
        ticket = self.job.ticket
        while not self._cancelled:
            answer = self.store.take(self.job.ask, ticket)
            if isinstance(answer, Lease):  # already granted, if a place was free when the job was started
                self.store.bind(answer.id, machine.holder(os.getpid()))
                return answer
            ticket = answer.ticket
            self._say(ticket=ticket, ahead=answer.ahead, wait=answer.wait)
            await self._unless_cancelled(_QUEUE_S)
        self.store.leave(ticket)
        return None

    async def _run(self, lease: Lease) -> tuple[State, Why, int | None]:
        """How it ended: its state, why, and its exit status."""
        limits = limits_of(lease)
        group = limits.cgroup(lease.id)
        record.write(self.state, record.of(lease, job=self.job.id))
        process = None
        try:
            process = await self._start(lease, limits)
            with suppress(
                LookupError, ProcessLookupError
            ):  # it has ended already; until then the lease was ours
                if group is not None:
                    group.add(process.pid)
                self.store.bind(lease.id, machine.holder(process.pid))
            self._say(state="running", started=time.time(), lease=lease.id, device=lease.device, ahead=0)
            why = await self._watch(process, lease)
            memory = group is not None and group.out_of_memory()
        finally:
            if process is not None:
                await _end(process)
            if group is not None:
                group.kill()
                group.remove()
            record.remove(self.state, lease.id)
        status = process.returncode
        if self._cancelled and why != "time":
            return "cancelled", "", status
        if status == 0 and not why:
            return "done", "", 0
        memory = memory or any(sign in self.job.log(2048) for sign in _OUT_OF_MEMORY)
        crashed = status is not None and -status in _CRASHES
        if not why and (memory or crashed):
            memory |= await self._say_what_is_needed(limits.memory)
        killed: Why = "killed" if status is not None and status < 0 else ""
        return "failed", why or ("memory" if memory else "crashed" if crashed else killed), status

    async def _say_what_is_needed(self, asked: int) -> bool:
        """Whether the job may have less memory than importing the library takes; if so, its log says it."""
        needed = await asyncio.to_thread(of_library) if asked < _SMALL else None
        if needed is None or asked >= needed:
            return False
        sizes = {"asked": asked >> 20, "needed": needed >> 20, "enough": -(-2 * needed >> 30)}
        self._print(f"{t('compute.needed', 'en', **sizes)}\n{t('compute.needed', 'zh', **sizes)}")
        return True

    async def _start(self, lease: Lease, limits: Limits) -> Child | subprocess.Popen[bytes]:
        """Fork from the warm process if there is one, which saves the first seconds."""
        environment = {
            **clean_environment(os.environ),
            **environment_of(lease, self.state),
            "PYTHONUNBUFFERED": "1",  # unbuffered: its output is in the log at once
            "SAMPAN_JOB": str(self.job.folder),
        }
        log = self.job.log_file
        try:
            spawn = Spawn("script", self.job.command, environment, self.job.cwd, limits, log)
            return await here.zygote().spawn(spawn)
        except NotReady:
            pass
        with open(log, "ab") as output:
            return subprocess.Popen(
                [sys.executable, *self.job.command],
                cwd=self.job.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_tied(limits),
            )

    async def _watch(self, process: Child | subprocess.Popen[bytes], lease: Lease) -> Why:
        """Wait until it has ended or must end; returns why it must."""
        ends = lease.ends
        while not _has_ended(process) and not self._cancelled:
            if time.time() > ends:
                ends = next((now.ends for now in self.store.leases() if now.id == lease.id), 0.0)
                if time.time() > ends:  # it was not extended
                    return "time"
            with suppress(FileNotFoundError):
                if self.job.log_file.stat().st_size > LOG_MOST:
                    os.truncate(self.job.log_file, 0)
                    self._print(f"[over {LOG_MOST >> 20} MiB: the log was cut here | 日志过长，已在此截断]")
            await asyncio.sleep(_LOOK_S)
        return ""

    async def _unless_cancelled(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._cancelled:
            await asyncio.sleep(_LOOK_S)

    @property
    def _cancelled(self) -> bool:
        return (self.job.folder / "cancel").exists()

    def _over(self, state: State, why: Why = "", status: int | None = None) -> None:
        self._say(state=state, why=why, status=status, ended=time.time())

    def _say(self, **values: Any) -> None:
        self.job = replace(self.job, **values)
        jobs.write(self.job)

    def _print(self, text: str) -> None:
        with open(self.job.log_file, "a", encoding="utf-8") as log:
            log.write(f"{text}\n")


def _has_ended(process: Child | subprocess.Popen[bytes]) -> bool:
    """This does not reap our child, so its process number stays valid until its group is gone."""
    if isinstance(process, Child):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


async def _end(process: Child | subprocess.Popen[bytes]) -> None:
    """Interrupt, terminate, then kill its whole process group."""
    if not _has_ended(process):
        await processes.end(process.pid)
    if isinstance(process, subprocess.Popen):  # for a fork its zygote does this
        with suppress(ProcessLookupError):  # nothing is left of its group
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tied(limits: Limits) -> Callable[[], None]:
    """Runs in the child before its program: sets limits, and makes it end when the supervisor is killed."""
    libc = ctypes.CDLL(None)  # loaded before the fork
    supervisor = os.getpid()

    def bind() -> None:
        die_with_parent = 1  # PR_SET_PDEATHSIG
        libc.prctl(die_with_parent, signal.SIGKILL)
        if os.getppid() != supervisor:  # it was killed just before
            os._exit(1)
        signal.signal(
            signal.SIGINT, signal.SIG_DFL
        )  # a shell starts what it runs in the background without it
        limits.apply()

    return bind
