"""The learner's process, seen from outside: started, asked, and ended by the grader."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from sampan.learn.cases import Text

from . import wire

START_SECONDS = 120.0  # imports of the learner's process, on a busy machine
GRACE_SECONDS = 3.0  # after its own alarm, before it is killed
OUTPUT_TAIL = 4096
ENVIRONMENT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "SAMPAN_DATA",
)


def command(python: str, channel: int, folder: Path) -> list[str]:
    """The command line of the learner's process: the one place where a sandbox is put around it.

    `channel` is the number of an inherited socket, `folder` an empty scratch folder, the process's working folder.
    """
    return [python, "-m", "studio.grading.sandboxed", str(channel)]


class Gone(Exception):
    """The learner's process is no more; `fault` says why."""

    def __init__(self, fault: Text) -> None:
        super().__init__(fault[0])
        self.fault = fault


class Sandbox:
    """The learner's process: a process group of its own that dies at the limit, and with the grader."""

    def __init__(self, folder: Path) -> None:
        self._ours, theirs = socket.socketpair()
        self._log = (folder / "output").open("w+b")
        work = folder / "work"
        work.mkdir()
        kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        # One thread: exercises are small, and several learners are graded on one machine.
        kept.update(
            {name: os.environ.get(name, "1") for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")},
            IPYTHONDIR=str(work / ".ipython"),
            PLOTLY_RENDERER="json",  # a figure shown by a cell opens no browser here
            PYTHONSAFEPATH="1",
        )
        with theirs:
            self.process = subprocess.Popen(
                command(sys.executable, theirs.fileno(), work),
                cwd=work,
                env=kept,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._killed = False
        self._gone: Gone | None = None

    def start(self) -> None:
        """Waits for it to be ready. Raises `RuntimeError` with its last words when it does not come up."""
        try:
            ready = wire.receive(self._ours, time.monotonic() + START_SECONDS)
        except (EOFError, OSError, wire.WireError) as error:
            raise RuntimeError(f"the learner's process did not start: {self.output() or error}") from error
        if ready != {"ready": True}:
            raise RuntimeError(f"the learner's process did not start: it sent {ready!r:.200}")

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The reply. Raises `Gone`, now and ever after, when there is none: the process is ended then."""
        if self._gone is not None:
            raise self._gone
        try:
            wire.send(self._ours, message)
            reply = wire.receive(self._ours, time.monotonic() + seconds + GRACE_SECONDS)
        except TimeoutError:
            self.end(
                f"the code did not end within {seconds:g} s and was stopped",
                f"代码在 {seconds:g} 秒内没有结束,已被停止",
            )
        except wire.WireError:
            self.end("the process sent something that is no reply", "进程发回的不是应答")
        except (EOFError, OSError):
            self.end("the process ended while the code ran", "代码运行时进程意外结束")
        if not isinstance(reply, dict):
            self.end("the process sent something that is no reply", "进程发回的不是应答")
        return reply

    def end(self, why: str, why_zh: str) -> NoReturn:
        """Ends the process for a reason, which every later question gets to hear."""
        self.kill()
        self._gone = Gone((why, why_zh))
        raise self._gone

    def output(self) -> str:
        self._log.flush()
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - OUTPUT_TAIL))
        return self._log.read().decode(errors="replace").strip()

    def kill(self) -> None:
        """Ends the whole process group, children of the learner's code included."""
        if not self._killed:  # once: afterwards the number may belong to somebody else
            self._killed = True
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        self.kill()
        self._ours.close()
        self._log.close()
